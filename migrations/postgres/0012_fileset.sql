-- 0012: datasets. Requests (jobs of kind dataset) and their files; the tables of ingest that others read; what
-- is published to topics. docs/datasets.md tells how they move. Times are microseconds since 1970.

-- State: 1 it is being found out what there is, 2 its files are being kept, 3 ended.
CREATE TABLE fileset_request (
  job         BIGINT PRIMARY KEY,
  collection  BIGINT NOT NULL,
  request     TEXT COLLATE "C" NOT NULL,     -- JSON, as it came
  base_url    TEXT COLLATE "C" NOT NULL,     -- of it, as it came
  options     TEXT COLLATE "C" NOT NULL,     -- JSON
  state       BIGINT NOT NULL CHECK (state BETWEEN 1 AND 3),
  status      TEXT COLLATE "C",              -- once it is known
  landing     TEXT COLLATE "C",              -- JSON: where the request has led
  item        TEXT COLLATE "C",              -- JSON: what the platform says
  strategy    TEXT COLLATE "C",
  result      TEXT COLLATE "C",              -- JSON, of those that ended
  retry_of    BIGINT,           -- a job whose good files are not fetched again
  created_us  BIGINT NOT NULL,
  ended_us    BIGINT,
  CHECK ((state = 3) = (result IS NOT NULL)),
  CHECK ((state = 3) = (ended_us IS NOT NULL))
);
CREATE INDEX fileset_request_of_url ON fileset_request (base_url, job);
CREATE INDEX fileset_request_of_collection ON fileset_request (collection, job);

-- A file of the manifest; where the bundle is kept instead, that is number -1.
CREATE TABLE fileset_file (
  job      BIGINT NOT NULL,
  number   BIGINT NOT NULL CHECK (number >= -1),
  manifest TEXT COLLATE "C" NOT NULL,              -- JSON, with what was found out since
  ended    BOOLEAN NOT NULL,
  status   TEXT COLLATE "C",
  message  TEXT COLLATE "C",                       -- for people
  sha256   BYTEA CHECK (octet_length(sha256) = 32),
  blob     BIGINT REFERENCES blob (id),
  capture  TEXT COLLATE "C",                       -- JSON
  tries    BIGINT NOT NULL,
  bytes    BIGINT NOT NULL,           -- that came over the network
  PRIMARY KEY (job, number)
);
CREATE INDEX fileset_file_blob ON fileset_file (blob) WHERE blob IS NOT NULL;

-- What was asked for, by its source.
CREATE TABLE ingest_request (
  link_source           TEXT COLLATE "C" NOT NULL CHECK (octet_length(link_source) >= 1),
  link_source_id        TEXT COLLATE "C" NOT NULL CHECK (octet_length(link_source_id) >= 1),
  ingest_type           TEXT COLLATE "C" NOT NULL CHECK (octet_length(ingest_type) >= 1),
  base_url              TEXT COLLATE "C" NOT NULL CHECK (octet_length(base_url) >= 1),
  created               TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
  release_stage         TEXT COLLATE "C" CHECK (octet_length(release_stage) >= 1),
  request               JSONB,
  ingest_request_source TEXT COLLATE "C" CHECK (octet_length(ingest_request_source) >= 1),
  PRIMARY KEY (link_source, link_source_id, ingest_type, base_url)
);
CREATE INDEX ingest_request_base_url_idx ON ingest_request (base_url, ingest_type);

-- What became of it last.
CREATE TABLE ingest_file_result (
  ingest_type          TEXT COLLATE "C" NOT NULL CHECK (octet_length(ingest_type) >= 1),
  base_url             TEXT COLLATE "C" NOT NULL CHECK (octet_length(base_url) >= 1),
  updated              TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
  hit                  BOOLEAN NOT NULL,
  status               TEXT COLLATE "C" CHECK (octet_length(status) >= 1),
  terminal_url         TEXT COLLATE "C" CHECK (octet_length(terminal_url) >= 1),
  terminal_dt          TEXT COLLATE "C" CHECK (octet_length(terminal_dt) = 14),
  terminal_status_code BIGINT,
  terminal_sha1hex     TEXT COLLATE "C" CHECK (octet_length(terminal_sha1hex) = 40),
  PRIMARY KEY (ingest_type, base_url)
);

CREATE TABLE ingest_fileset_platform (
  ingest_type                 TEXT COLLATE "C" NOT NULL CHECK (octet_length(ingest_type) >= 1),
  base_url                    TEXT COLLATE "C" NOT NULL CHECK (octet_length(base_url) >= 1),
  updated                     TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
  hit                         BOOLEAN NOT NULL,
  status                      TEXT COLLATE "C" CHECK (octet_length(status) >= 1),
  platform_name               TEXT COLLATE "C" NOT NULL CHECK (octet_length(platform_name) >= 1),
  platform_domain             TEXT COLLATE "C" NOT NULL CHECK (octet_length(platform_domain) >= 1),
  platform_id                 TEXT COLLATE "C" NOT NULL CHECK (octet_length(platform_id) >= 1),
  ingest_strategy             TEXT COLLATE "C" CHECK (octet_length(ingest_strategy) >= 1),
  total_size                  BIGINT,
  file_count                  BIGINT,
  archiveorg_item_name        TEXT COLLATE "C" CHECK (octet_length(archiveorg_item_name) >= 1),
  archiveorg_item_bundle_path TEXT COLLATE "C" CHECK (octet_length(archiveorg_item_bundle_path) >= 1),
  web_bundle_url              TEXT COLLATE "C" CHECK (octet_length(web_bundle_url) >= 1),
  web_bundle_dt               TEXT COLLATE "C" CHECK (octet_length(web_bundle_dt) = 14),
  manifest                    JSONB,  -- a JSON list
  PRIMARY KEY (ingest_type, base_url)
);
CREATE INDEX ingest_fileset_platform_name_domain_id_idx
  ON ingest_fileset_platform (platform_name, platform_domain, platform_id);

CREATE TABLE file_meta (
  sha1hex    TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (octet_length(sha1hex) = 40),
  created    TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
  sha256hex  TEXT COLLATE "C" CHECK (octet_length(sha256hex) = 64),
  md5hex     TEXT COLLATE "C" CHECK (octet_length(md5hex) = 32),
  size_bytes BIGINT,
  mimetype   TEXT COLLATE "C" CHECK (octet_length(mimetype) >= 1)
);

CREATE TABLE cdx (
  url         TEXT COLLATE "C" NOT NULL CHECK (octet_length(url) >= 1),
  datetime    TEXT COLLATE "C" NOT NULL CHECK (octet_length(datetime) = 14),
  sha1hex     TEXT COLLATE "C" NOT NULL CHECK (octet_length(sha1hex) = 40),
  mimetype    TEXT COLLATE "C" CHECK (octet_length(mimetype) >= 1),
  warc_path   TEXT COLLATE "C" CHECK (octet_length(warc_path) >= 1),
  warc_csize  BIGINT,
  warc_offset BIGINT,
  row_created TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
  PRIMARY KEY (url, datetime)
);
CREATE INDEX cdx_sha1hex_idx ON cdx (sha1hex);

-- Messages of topics, kept for ever; whoever reads one remembers the last offset of each partition.
CREATE TABLE topic_message (
  id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic     TEXT COLLATE "C" NOT NULL,
  partition BIGINT NOT NULL CHECK (partition >= 0),
  key       TEXT COLLATE "C" NOT NULL UNIQUE,  -- the same message is published once
  body      TEXT COLLATE "C" NOT NULL,         -- JSON
  at_us     BIGINT NOT NULL
);
CREATE INDEX topic_message_of_topic ON topic_message (topic, id);
