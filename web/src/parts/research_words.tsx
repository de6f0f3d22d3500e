// What the pages of episodes, clips and findings say.
import { clock } from '../core/format';
import type { Curated, CuratedKind, Finding } from '../core/research_types';
import { Badge } from './state';

export const seconds = (ns: number): number => ns / 1e9;
export const lengthOf = ({ duration_ns }: { duration_ns: number }): string => (duration_ns > 0 ? clock(seconds(duration_ns), duration_ns < 60e9 ? 1 : 0) : '');

interface Words {
  one: string;
  many: string;
  One: string;
  All: string;
}
export const wordsOf: Record<CuratedKind, Words> = {
  episodes: { one: 'episode', many: 'episodes', One: 'Episode', All: 'Episodes' },
  clips: { one: 'clip', many: 'clips', One: 'Clip', All: 'Clips' },
};

export const titleOf = (curated: Pick<Curated, 'title' | 'url' | 'id'>): string => curated.title || curated.url || `number ${curated.id}`;

export function MediaBadge({ of }: { of: Curated }) {
  if (of.media === 'ready') return <Badge tone="done">Ready</Badge>;
  if (of.media === 'failed') return <Badge tone="failed">Not fetched</Badge>;
  return <Badge tone="running">Being fetched</Badge>;
}

// A name of one or two letters, as columns of a sheet have them: what a mark and its line in the list share.
export function letterOf(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : letterOf(Math.floor(index / 26) - 1) + letter;
}

export const toneOf = (index: number): string => `place-tone-${index % 5}`;

export interface Place {
  key: string;
  clip: number; // of the list of findings, from 0
  title: string;
  at: number; // in seconds
  score: number;
}

// All places of all findings, in the order in which one hears them.
export function placesOf(findings: Finding[], titleOfOne: (finding: Finding) => string): Place[] {
  const all = findings.flatMap((finding, clip) => finding.offsets.map(({ offset_ns, score }, index) => ({
    key: `${clip}.${index}`, clip, title: titleOfOne(finding), at: seconds(offset_ns), score,
  })));
  return all.sort((a, b) => a.at - b.at);
}

export const likeness = (score: number): string => (score > 0 ? `${Math.floor(score * 100)} % alike` : '');
