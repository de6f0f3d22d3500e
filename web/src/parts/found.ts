// Where clips were found, and where they could not be looked for.
import type { Finding } from '../core/research_types';
import { onlyCollection } from '../core/session';
import { useLonger } from './longer';
import type { Growing } from './row_list';

const findingsAtOnce = 500;
const failedAtOnce = 100;
const findingsMs = 4000;

export type Of = { episode: number } | { clip: number };

export function useFound(of: Of): Growing<Finding> {
  return useLonger<Finding>(['findings'], { ...of, found: 'true', collection: onlyCollection() }, findingsAtOnce, { on: ['research.finding'], everyMs: findingsMs });
}

// The first ones that could not be looked for.
export function useFailed(of: Of): Growing<Finding> {
  return useLonger<Finding>(['findings'], { ...of, failed: 'true', collection: onlyCollection() }, failedAtOnce, { on: ['research.finding'], everyMs: findingsMs });
}
