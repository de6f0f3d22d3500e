// What the server says of datasets (docs/http-api.md).

export interface DatasetFile {
  number: number; // -1: the bundle
  path: string;
  size?: number; // what the platform says
  state: 'waiting' | 'ended';
  status: string;
  message: string;
  bytes: number; // that came over the network
  kept: boolean;
  has_blob: boolean; // its bytes are here
  md5?: string;
  sha1?: string;
  sha256?: string;
  mimetype?: string;
  platform_url?: string;
  terminal_url?: string;
  terminal_dt?: string;
  cdx?: { url?: string; datetime?: string };
}

export interface Dataset {
  job: number;
  collection: string;
  state: 'running' | 'done' | 'canceled';
  phase: string;
  progress: number;
  request: { base_url?: string };
  options: { ingest?: boolean; bundle?: boolean };
  strategy: string;
  status: string; // empty until it has ended
  hit?: boolean;
  retry?: 'hit' | 'passing' | 'later' | 'never';
  retry_of?: number;
  created_us: number;
  ended_us?: number;
  platform_name?: string;
  platform_domain?: string;
  platform_id?: string;
  archiveorg_item_name?: string;
  file_count?: number;
  total_size?: number;
  in_ia?: boolean;
  terminal_url?: string;
  result?: Record<string, unknown>;
  files?: DatasetFile[];
}
