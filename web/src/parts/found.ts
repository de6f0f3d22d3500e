// Where clips were found: as a list that grows.
import type { Finding } from '../core/research_types';
import { onlyCollection } from '../core/session';
import { useLonger } from './longer';
import type { Growing } from './row_list';

const findingsAtOnce = 500;
const findingsMs = 4000;

export function useFound(of: { episode: number } | { clip: number }): Growing<Finding> {
  return useLonger<Finding>(['findings'], { ...of, found: 'true', collection: onlyCollection() }, findingsAtOnce, { on: ['research.finding'], everyMs: findingsMs });
}
