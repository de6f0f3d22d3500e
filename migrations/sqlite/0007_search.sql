-- 0007: search. What has changed since the last pack, the segments of each collection, and who holds
-- them. docs/search.md tells how they move. Times are microseconds since 1970.

-- Written in the transaction that makes the change, removed in the one that publishes it.
-- Kind: 1 a new document, 2 a document goes, 3 all documents of a job go.
CREATE TABLE document_change (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  collection INTEGER NOT NULL,
  kind       INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 3),
  subject    INTEGER NOT NULL,  -- a file, or a job
  at_us      INTEGER NOT NULL
);
CREATE INDEX document_change_of_collection ON document_change (collection, id);
-- Serves every search: what must not be shown any more.
CREATE INDEX document_change_of_jobs ON document_change (subject) WHERE kind = 3;

-- What is published of a collection: its live segments, as of this version.
CREATE TABLE pack (
  collection   INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  version      INTEGER NOT NULL,
  published_us INTEGER NOT NULL
);

CREATE TABLE segment (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  collection   INTEGER NOT NULL,
  digest       TEXT NOT NULL CHECK (length(digest) = 64),  -- SHA-256 of the file, in hex
  blob         INTEGER NOT NULL REFERENCES blob (id),      -- the file, compressed
  bytes        INTEGER NOT NULL,                           -- of the file
  documents    INTEGER NOT NULL,
  text_bytes   INTEGER NOT NULL,
  file_min     INTEGER NOT NULL,  -- of its documents
  file_max     INTEGER NOT NULL,
  mask         BLOB,              -- a bit for each document that is gone; null: none
  mask_version INTEGER NOT NULL DEFAULT 0,
  masked       INTEGER NOT NULL DEFAULT 0 CHECK (masked BETWEEN 0 AND documents),
  retired_us   INTEGER,           -- replaced; its bytes stay a while for those who read them
  CHECK ((mask IS NULL) = (masked = 0))
);
CREATE INDEX segment_live ON segment (collection, id) WHERE retired_us IS NULL;
CREATE INDEX segment_retired ON segment (retired_us) WHERE retired_us IS NOT NULL;
CREATE INDEX segment_blob ON segment (blob);

-- Who holds which segments, as they last said. Nothing is lost with it: all say it again.
CREATE TABLE searcher (
  id      TEXT NOT NULL PRIMARY KEY,
  address TEXT NOT NULL,     -- empty: it cannot be asked
  free_mb INTEGER NOT NULL,
  held    TEXT NOT NULL,     -- a JSON list of digests
  message TEXT NOT NULL,     -- the last registration, in its queue
  seen_us INTEGER NOT NULL
) WITHOUT ROWID;

-- What was ingested before there was a search.
INSERT INTO document_change (collection, kind, subject, at_us)
  SELECT collection, 1, id, ingested_us FROM file WHERE class = 1 ORDER BY id;
