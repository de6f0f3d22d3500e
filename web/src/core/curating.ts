// Recordings that a person sends become episodes or clips: once their files have arrived, the server is told so.
import { api, get, post, Problem } from './api';
import type { Picked } from './dropped';
import { baseName } from './format';
import type { CuratedKind, Source } from './research_types';
import type { FileLine, Page } from './types';

const atOnce = 500;
const suffixes = /\.(mp3|m4a|m4b|mp4|aac|ogg|oga|opus|flac|wav|wave|aif|aiff|wma|mka|webm|mov|ac3|amr|mp2)$/i;

export interface Enrolment {
  as?: CuratedKind; // what the files of an upload are to be, beside files
  priority?: number;
}

export const isSound = ({ path, file }: Picked): boolean => /^(audio|video)\//.test(file.type) || suffixes.test(path);

const titleOf = (filename: string): string => baseName(filename).replace(suffixes, '');

// One that is refused harms no other: each is then told by itself. What the server says of those that it refuses.
async function tell(path: string, order: Record<string, unknown>, sources: Source[]): Promise<string[]> {
  try {
    await post(path, { ...order, sources });
    return [];
  } catch (failure) {
    if (!(failure instanceof Problem) || failure.status !== 400) throw failure;
    if (sources.length === 1) return [failure.detail];
  }
  const said: string[] = [];
  for (const source of sources) said.push(...(await tell(path, order, [source])));
  return said;
}

// May be done again: a file is known by its bytes. Sentences about files that are no recordings.
export async function enrol(job: number, collection: string, { as, priority }: Enrolment): Promise<string[]> {
  const refused: string[] = [];
  if (!as) return refused;
  let after: string | number | undefined;
  do {
    const page: Page<FileLine> = await get(api(['jobs', job, 'roots'], { after, limit: atOnce }));
    const sources: Source[] = page.items.map(({ file, filename }) => ({ file, title: titleOf(filename) }));
    if (sources.length > 0) refused.push(...(await tell(api([as]), { collection, priority }, sources)));
    after = page.next;
  } while (after !== undefined);
  return refused;
}
