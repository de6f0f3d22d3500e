-- 0012: datasets. Requests (jobs of kind dataset) and their files; the tables of ingest that others read; what
-- is published to topics. docs/datasets.md tells how they move. Times are microseconds since 1970.

-- State: 1 it is being found out what there is, 2 its files are being kept, 3 ended.
CREATE TABLE fileset_request (
  job         INTEGER PRIMARY KEY,
  collection  INTEGER NOT NULL,
  request     TEXT NOT NULL,     -- JSON, as it came
  base_url    TEXT NOT NULL,     -- of it, as it came
  options     TEXT NOT NULL,     -- JSON
  state       INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
  status      TEXT,              -- once it is known
  landing     TEXT,              -- JSON: where the request has led
  item        TEXT,              -- JSON: what the platform says
  strategy    TEXT,
  result      TEXT,              -- JSON, of those that ended
  retry_of    INTEGER,           -- a job whose good files are not fetched again
  created_us  INTEGER NOT NULL,
  ended_us    INTEGER,
  CHECK ((state = 3) = (result IS NOT NULL)),
  CHECK ((state = 3) = (ended_us IS NOT NULL))
);
CREATE INDEX fileset_request_of_url ON fileset_request (base_url, job);
CREATE INDEX fileset_request_of_collection ON fileset_request (collection, job);

-- A file of the manifest; where the bundle is kept instead, that is number -1.
CREATE TABLE fileset_file (
  job      INTEGER NOT NULL,
  number   INTEGER NOT NULL CHECK (number >= -1),
  manifest TEXT NOT NULL,              -- JSON, with what was found out since
  ended    INTEGER NOT NULL,
  status   TEXT,
  message  TEXT,                       -- for people
  sha256   BLOB CHECK (length(sha256) = 32),
  blob     INTEGER REFERENCES blob (id),
  capture  TEXT,                       -- JSON
  tries    INTEGER NOT NULL,
  bytes    INTEGER NOT NULL,           -- that came over the network
  PRIMARY KEY (job, number)
) WITHOUT ROWID;
CREATE INDEX fileset_file_blob ON fileset_file (blob) WHERE blob IS NOT NULL;

-- What was asked for, by its source.
CREATE TABLE ingest_request (
  link_source           TEXT NOT NULL CHECK (length(CAST(link_source AS BLOB)) >= 1),
  link_source_id        TEXT NOT NULL CHECK (length(CAST(link_source_id AS BLOB)) >= 1),
  ingest_type           TEXT NOT NULL CHECK (length(CAST(ingest_type AS BLOB)) >= 1),
  base_url              TEXT NOT NULL CHECK (length(CAST(base_url AS BLOB)) >= 1),
  created               TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  release_stage         TEXT CHECK (length(CAST(release_stage AS BLOB)) >= 1),
  request               TEXT,
  ingest_request_source TEXT CHECK (length(CAST(ingest_request_source AS BLOB)) >= 1),
  PRIMARY KEY (link_source, link_source_id, ingest_type, base_url)
) WITHOUT ROWID;
CREATE INDEX ingest_request_base_url_idx ON ingest_request (base_url, ingest_type);

-- What became of it last.
CREATE TABLE ingest_file_result (
  ingest_type          TEXT NOT NULL CHECK (length(CAST(ingest_type AS BLOB)) >= 1),
  base_url             TEXT NOT NULL CHECK (length(CAST(base_url AS BLOB)) >= 1),
  updated              TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  hit                  INTEGER NOT NULL,
  status               TEXT CHECK (length(CAST(status AS BLOB)) >= 1),
  terminal_url         TEXT CHECK (length(CAST(terminal_url AS BLOB)) >= 1),
  terminal_dt          TEXT CHECK (length(CAST(terminal_dt AS BLOB)) = 14),
  terminal_status_code INTEGER,
  terminal_sha1hex     TEXT CHECK (length(CAST(terminal_sha1hex AS BLOB)) = 40),
  PRIMARY KEY (ingest_type, base_url)
) WITHOUT ROWID;

CREATE TABLE ingest_fileset_platform (
  ingest_type                 TEXT NOT NULL CHECK (length(CAST(ingest_type AS BLOB)) >= 1),
  base_url                    TEXT NOT NULL CHECK (length(CAST(base_url AS BLOB)) >= 1),
  updated                     TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  hit                         INTEGER NOT NULL,
  status                      TEXT CHECK (length(CAST(status AS BLOB)) >= 1),
  platform_name               TEXT NOT NULL CHECK (length(CAST(platform_name AS BLOB)) >= 1),
  platform_domain             TEXT NOT NULL CHECK (length(CAST(platform_domain AS BLOB)) >= 1),
  platform_id                 TEXT NOT NULL CHECK (length(CAST(platform_id AS BLOB)) >= 1),
  ingest_strategy             TEXT CHECK (length(CAST(ingest_strategy AS BLOB)) >= 1),
  total_size                  INTEGER,
  file_count                  INTEGER,
  archiveorg_item_name        TEXT CHECK (length(CAST(archiveorg_item_name AS BLOB)) >= 1),
  archiveorg_item_bundle_path TEXT CHECK (length(CAST(archiveorg_item_bundle_path AS BLOB)) >= 1),
  web_bundle_url              TEXT CHECK (length(CAST(web_bundle_url AS BLOB)) >= 1),
  web_bundle_dt               TEXT CHECK (length(CAST(web_bundle_dt AS BLOB)) = 14),
  manifest                    TEXT,  -- a JSON list
  PRIMARY KEY (ingest_type, base_url)
) WITHOUT ROWID;
CREATE INDEX ingest_fileset_platform_name_domain_id_idx
  ON ingest_fileset_platform (platform_name, platform_domain, platform_id);

CREATE TABLE file_meta (
  sha1hex    TEXT NOT NULL PRIMARY KEY CHECK (length(CAST(sha1hex AS BLOB)) = 40),
  created    TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  sha256hex  TEXT CHECK (length(CAST(sha256hex AS BLOB)) = 64),
  md5hex     TEXT CHECK (length(CAST(md5hex AS BLOB)) = 32),
  size_bytes INTEGER,
  mimetype   TEXT CHECK (length(CAST(mimetype AS BLOB)) >= 1)
) WITHOUT ROWID;

CREATE TABLE cdx (
  url         TEXT NOT NULL CHECK (length(CAST(url AS BLOB)) >= 1),
  datetime    TEXT NOT NULL CHECK (length(CAST(datetime AS BLOB)) = 14),
  sha1hex     TEXT NOT NULL CHECK (length(CAST(sha1hex AS BLOB)) = 40),
  mimetype    TEXT CHECK (length(CAST(mimetype AS BLOB)) >= 1),
  warc_path   TEXT CHECK (length(CAST(warc_path AS BLOB)) >= 1),
  warc_csize  INTEGER,
  warc_offset INTEGER,
  row_created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (url, datetime)
) WITHOUT ROWID;
CREATE INDEX cdx_sha1hex_idx ON cdx (sha1hex);

-- Messages of topics, kept for ever; whoever reads one remembers the last offset of each partition.
CREATE TABLE topic_message (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  topic     TEXT NOT NULL,
  partition INTEGER NOT NULL CHECK (partition >= 0),
  key       TEXT NOT NULL UNIQUE,  -- the same message is published once
  body      TEXT NOT NULL,         -- JSON
  at_us     INTEGER NOT NULL
);
CREATE INDEX topic_message_of_topic ON topic_message (topic, id);
