// What the server says of episodes, clips and findings (docs/http-api.md).

export type CuratedKind = 'episodes' | 'clips'; // as addresses have it

export interface Curated {
  id: number;
  kind: 'episode' | 'clip';
  title: string;
  description: string;
  url: string;
  source: string;
  collection: string;
  priority: number;
  date_aired: string; // may be empty
  initial_date_curated: string;
  last_date_curated: string;
  media: 'pending' | 'ready' | 'failed';
  problem: string;
  file: number | null;
  media_type: string;
  bytes: number;
  duration_ns: number;
  found?: number; // of episodes, in lists: how many clips are in it
  metadata?: Record<string, unknown>;
}

export interface Offset {
  offset_ns: number;
  score: number;
}

export interface Finding {
  episode: number;
  episode_title: string;
  clip: number;
  clip_title: string;
  offsets: Offset[];
  date: string;
  error: string;
  clip_duration_ns?: number;
}

export interface CuratedDetails extends Curated {
  researched: number; // of how many pairs a researcher has told
}

export interface Waveform {
  points: number[]; // 0 to 255
  duration_ns: number;
}

export interface Feed {
  feed: number;
  url: string;
  title: string;
  kind: 'episode' | 'clip';
  collection: string;
  next: string | null; // when it is looked at again
  checked: string | null;
  problem: string;
}

export interface ResearchStatus {
  researchers: number;
  waiting: number;
  taken: number;
  episodes: number;
  clips: number;
  results: number;
  found: number;
  failed: number;
  dead_letters: number;
  fetching?: number; // recordings that are on the way
  media_failed?: number; // and those that could not be had
  idle: boolean;
  nothing_open?: boolean;
}

export interface CurateAnswer {
  job: number;
  episodes?: { id: number; change: string }[];
  clips?: { id: number; change: string }[];
}

export interface Source {
  url?: string;
  file?: number;
  title?: string;
}
