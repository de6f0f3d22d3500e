// What the server says, as docs/http-api.md has it. Only the fields that the pages use.

export interface Page<T> {
  items: T[];
  next?: string | number;
}

export interface Session {
  role: 'admin' | 'editor' | 'reader' | 'worker';
  collection: string | null;
  by: 'socket' | 'place' | 'token';
  version: string;
}

export interface Job {
  job: number;
  kind: string;
  collection: string;
  key: string;
  source: string;
  state: 'running' | 'done' | 'canceled';
  sealed: boolean;
  canceling: boolean;
  progress: number;
  roots: number;
  roots_done: number;
  files: number;
  files_done: number;
  documents: number;
  containers: number;
  converted: number;
  empty: number;
  errors: number;
  skipped: number;
  bytes: number;
  created_us: number;
  finished_us?: number;
  seconds?: number;
}

export interface JobProgress {
  job: number;
  collection: string;
  state: Job['state'];
  progress: number;
  files: number;
  files_done: number;
  documents: number;
  errors: number;
  files_per_second: number | null;
  seconds_left: number | null;
}

export interface Ledger {
  collection: string;
  roots: number;
  files: number;
  documents: number;
  containers: number;
  converted: number;
  empty: number;
  errors: number;
  in_progress: number;
  skipped: number;
  bytes_in: number;
  balanced: boolean;
}

export type FileClass = 'document' | 'container' | 'converted' | 'empty' | 'error' | 'in_progress';

// A line of /files, and of children and roots, which have the second half too.
export interface FileLine {
  file: number;
  parent: number | null;
  filename: string;
  depth: number;
  content_type: string;
  detected_type: string | null;
  step: string | null;
  state: 'created' | 'written' | 'processed' | 'ingested';
  class: FileClass;
  n_children: number;
  error_kind: string | null;
  index: number;
  bytes: number;
  message: string | null;
  has_thumbnail: boolean;
  has_text: boolean;
}

export interface Ancestor {
  file: number;
  filename: string;
  class: FileClass;
  detected_type: string | null;
  content_type: string;
  index: number;
  n_children: number;
}

export interface FileDetails extends FileLine {
  job: number;
  collection: string;
  root: number | null;
  parents: Ancestor[];
  original: number;
  metadata: Record<string, unknown> | null;
  options: Record<string, unknown> | null;
  has_blob: boolean;
  thumbnail_type: string | null;
  page: number | null;
  pages: number | null;
  n_ingested_children: number;
  tree_files: number;
  tree_bytes: number;
  created: string;
  written: string | null;
  processed: string | null;
  ingested: string | null;
  superseded: boolean;
  attempts: number;
  interruptions: number;
  conflicts: number;
  step_version: string | null;
  worker: string | null;
  note: string | null;
  wall_ms: number | null;
  cpu_ms: number | null;
  peak_kib: number | null;
}

export interface Explanation extends FileDetails {
  outcome: string;
  waits_for: string | null;
}

export interface DocumentLine {
  document: number;
  filename: string;
  page: number | null;
  pages: number | null;
  metadata: Record<string, unknown> | null;
}

export interface ErrorLine {
  file: number;
  filename: string;
  kind: string;
  message: string;
  superseded?: boolean;
}

export interface ErrorGroup {
  kind: string;
  message: string;
  count: number;
  superseded: number;
  examples: { file: number; filename: string }[];
}

export interface ErrorGroups {
  items: ErrorGroup[];
  others?: number; // errors of groups that are not among the items
  counted: number;
  counted_is: 'exact' | 'at_least';
}

export interface Hit {
  document: number;
  collection: string;
  title: string | null;
  filename: string;
  url: string | null;
  page: number | null;
  score: number;
  snippet: string; // HTML: escaped text with <mark>
  type: string | null;
  date: string | null;
}

export interface FacetValue {
  value: string;
  count: number;
}

export interface SearchAnswer {
  total: number;
  total_is: 'exact' | 'at_least';
  hits: Hit[];
  next?: string;
  cut: boolean;
  any_word: boolean;
  notes: string[];
  facets?: Record<string, FacetValue[]>;
}

export interface Matches {
  words: string[];
  total: number;
  cut: boolean;
  pages: { page: number; count: number }[];
}

export interface StepWork {
  step: string;
  entered: number;
  ended: number;
  failed: number;
  waiting: number;
  running: number;
  wall_ms: number;
  cpu_ms: number;
}

export interface TaskLine {
  file: number;
  filename: string;
  step: string;
  worker: string;
  seconds: number;
  progress: number;
}

export interface JobWork {
  job: number;
  steps: StepWork[];
  tasks: TaskLine[];
}

export interface StepLine {
  step: string;
  waiting: number;
  running: number;
  workers: number;
  busy: number;
  finished: number;
  failed: number;
  longest_wait_ms: number;
  busy_ms: number;
}

export interface WorkerLine {
  worker: string;
  step: string;
  version: string;
  box: string;
  polling: number;
  running: number;
  finished: number;
  failed: number;
  busy_ms: number;
  seconds_since_seen: number;
  tasks: Omit<TaskLine, 'step' | 'worker'>[];
}

export interface Partition {
  partition: string;
  version: number;
  handler: string | null;
  auto_close: boolean;
  manual_checkpoint: boolean;
  max_retries: number;
  priority: number;
  concurrency: number;
  declared: boolean;
  gate: number;
  status: 'available' | 'running' | 'failed' | 'complete';
  owner: string | null;
  until: string | null;
  sealed: boolean;
  items: number;
  complete: number;
  failed: number;
  available: number;
  created: string;
  updated: string;
}

export interface GateLine {
  gate: number;
  items: number;
  available: number;
  running: number;
  failed: number;
  complete: number;
  at_least?: boolean;
}

export interface Item {
  partition: string;
  item: string;
  version: number;
  gate: number;
  status: 'available' | 'running' | 'failed' | 'complete';
  owner: string | null;
  until: string | null;
  retry_count: number;
  error_messages: { message: string; at: string; times: number }[];
  calls: number;
  priority: number;
  due: string | null;
  bytes: number;
  created: string;
  updated: string;
}

export interface PartitionEvent {
  id: string;
  number: number;
  kind: string;
  item: string | null;
  gate: number;
  at: string;
}

export interface Timer {
  timer: string;
  due: string;
  timeout: number;
  callback_queue: string;
  callback_msg: Record<string, unknown>;
}

export interface Pack {
  collection: string;
  version: number;
  documents: number;
  bytes: number;
  segments: { digest: string; documents: number; masked: number; mask_version: number; bytes: number }[];
}

export interface Searcher {
  searcher: string;
  address: string | null;
  free_space: number;
  held: string[];
  seen: string;
  silent: boolean;
}

export interface PageSums {
  admitted: number;
  open: number;
  in: number;
  out: number; // those that failed, too
  unchanged: number;
  failed: number;
}

export interface Crawl extends Job {
  urls: string[];
  scope: string;
  delay: number; // seconds
  period: number; // seconds; 0: once
  max_pages: number;
  max_depth: number;
  pages: PageSums;
  sites: number;
  fetched_bytes: number;
  ended: boolean;
}

export interface CrawlSite {
  site: string;
  pages: PageSums;
  fetched_bytes: number;
  not_before_us?: number;
  robots?: { status: number; bytes: number; at_us: number };
}

export interface CrawlPage {
  page: number;
  url: string;
  state: 'waiting' | 'fetched' | 'in' | 'out';
  depth: number;
  source: string;
  status: number;
  type: string;
  why?: string;
  why_kind?: string;
  file?: number;
  fetched_us?: number;
  next_us?: number;
}

export interface UrlStory {
  url: string;
  collection: string;
  in: boolean;
  verdict: string;
  facts: string[];
  page?: CrawlPage;
}

export interface Capture {
  url: string;
  timestamp: string;
  at_us: number;
  status: number;
  type: string;
  digest: string;
  revisit: boolean;
  warc: string;
  address: string; // where it can be seen, on this server
}
