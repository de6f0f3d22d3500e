-- 0005: files that form trees, the jobs that brought them, and the shards that own them. docs/states.md
-- draws how a file moves. Times are microseconds since 1970.

CREATE TABLE collection (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL UNIQUE,
  created_us INTEGER NOT NULL
);

-- What a user asked for. State: 1 running, 2 done, 3 canceled.
CREATE TABLE job (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  kind        TEXT NOT NULL,
  collection  INTEGER NOT NULL REFERENCES collection (id),
  key         TEXT NOT NULL UNIQUE,  -- a repeated request is the same job
  source      TEXT NOT NULL,         -- what was added, for people
  state       INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
  sealed      INTEGER NOT NULL,  -- no root comes any more
  canceled    INTEGER NOT NULL,  -- asked for; the job ends with state 3
  deleting    INTEGER NOT NULL DEFAULT 0,
  shards      INTEGER NOT NULL CHECK (shards BETWEEN 1 AND 64),
  skipped     INTEGER NOT NULL,  -- links, devices and known files that were left out
  retry_of    INTEGER,           -- the file whose error this is to mend
  created_us  INTEGER NOT NULL,
  finished_us INTEGER,
  CHECK ((state = 1) = (finished_us IS NULL))
);
CREATE INDEX job_by_collection ON job (collection, id);
CREATE INDEX job_open ON job (id) WHERE state = 1 OR deleting = 1;

-- The part of a job that one owner works on: a partition. Its sums are written by whoever holds that.
CREATE TABLE shard (
  partition      INTEGER PRIMARY KEY,
  job            INTEGER NOT NULL REFERENCES job (id),
  number         INTEGER NOT NULL,
  done           INTEGER NOT NULL,
  roots          INTEGER NOT NULL,
  roots_ingested INTEGER NOT NULL,
  files          INTEGER NOT NULL,
  documents      INTEGER NOT NULL,
  containers     INTEGER NOT NULL,
  converted      INTEGER NOT NULL,
  empty          INTEGER NOT NULL,
  errors         INTEGER NOT NULL,
  bytes_in       INTEGER NOT NULL,
  weight         REAL NOT NULL,  -- of all its roots
  progress       REAL NOT NULL,  -- of that, done
  UNIQUE (job, number)
);

-- State: 1 created, 2 written, 3 processed, 4 ingested. Class: 1 document, 2 container, 3 converted,
-- 4 empty, 5 error; none while it is in progress.
CREATE TABLE file (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  collection          INTEGER NOT NULL,
  job                 INTEGER NOT NULL,
  partition           INTEGER NOT NULL,
  root                INTEGER,           -- null: it is one
  parent              INTEGER,
  index_in_parent     INTEGER NOT NULL,  -- of a root: in its job
  depth               INTEGER NOT NULL CHECK (depth >= 0),
  position            TEXT NOT NULL,     -- sorts like the tree
  filename            TEXT NOT NULL,
  content_type        TEXT NOT NULL,
  detected_type       TEXT,
  metadata            TEXT NOT NULL,
  options             TEXT NOT NULL,
  blob                INTEGER REFERENCES blob (id),
  bytes               INTEGER NOT NULL,
  thumbnail           INTEGER REFERENCES blob (id),
  thumbnail_type      TEXT,
  has_text            INTEGER NOT NULL,
  page                INTEGER NOT NULL,  -- 0: none
  pages               INTEGER,
  state               INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
  class               INTEGER CHECK (class BETWEEN 1 AND 5),
  created_us          INTEGER NOT NULL,
  written_us          INTEGER,
  processed_us        INTEGER,
  ingested_us         INTEGER,
  n_children          INTEGER NOT NULL,
  n_ingested_children INTEGER NOT NULL,
  step                TEXT,              -- that it waits for, or that processed it
  step_version        TEXT,
  progress_begin      REAL NOT NULL,     -- its slice of the root's weight
  progress_end        REAL NOT NULL,
  progress_given      REAL NOT NULL,     -- of that, to its children
  processing_error    TEXT,
  error_kind          TEXT,
  attempts            INTEGER NOT NULL,  -- ends that a box saw
  interruptions       INTEGER NOT NULL,  -- ends that tell nothing of the file
  lent                INTEGER NOT NULL,  -- to a worker, for a while already
  conflicts           INTEGER NOT NULL,  -- replayed children that differed from the stored ones
  superseded          INTEGER NOT NULL,  -- its error was mended by a retry
  tree_files          INTEGER NOT NULL,  -- of a root: everything below it
  tree_bytes          INTEGER NOT NULL,
  worker              TEXT,
  note                TEXT,              -- what the worker said
  wall_ms             INTEGER,
  cpu_ms              INTEGER,
  peak_kib            INTEGER,
  CHECK ((root IS NULL) = (parent IS NULL)),
  CHECK ((parent IS NULL) = (depth = 0)),
  CHECK ((state >= 2) = (written_us IS NOT NULL)),
  CHECK ((state >= 3) = (processed_us IS NOT NULL)),
  CHECK ((state = 4) = (ingested_us IS NOT NULL)),
  CHECK ((state = 4) = (class IS NOT NULL)),
  CHECK (state < 2 OR blob IS NOT NULL OR error_kind IS NOT NULL),
  CHECK ((error_kind IS NULL) = (processing_error IS NULL)),
  CHECK (error_kind IS NULL OR state >= 3),
  CHECK ((class = 5) = (error_kind IS NOT NULL AND class IS NOT NULL)),
  CHECK (state < 4 OR n_ingested_children = n_children),
  CHECK (n_ingested_children <= n_children)
);
-- A replayed child, or a root that is sent again, is the same row.
CREATE UNIQUE INDEX file_child ON file (parent, index_in_parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX file_root ON file (job, index_in_parent) WHERE parent IS NULL;
-- What is left to do, deepest first.
CREATE INDEX file_open ON file (partition, state, step, depth DESC, id) WHERE +state < 4;
CREATE INDEX file_ready ON file (partition, depth DESC) WHERE state = 3 AND n_ingested_children = n_children;
CREATE INDEX file_lent ON file (partition) WHERE lent = 1;
CREATE INDEX file_listed ON file (collection, filename, position);
CREATE INDEX file_documents ON file (collection, filename, page, position) WHERE class = 1;
CREATE INDEX file_errors ON file (collection, filename, position) WHERE class = 5;
CREATE INDEX file_of_job ON file (job, id);
CREATE INDEX file_blob ON file (blob) WHERE blob IS NOT NULL;
CREATE INDEX file_thumbnail ON file (thumbnail) WHERE thumbnail IS NOT NULL;

-- Beside the file, so that moving a file does not copy its text.
CREATE TABLE file_text (
  file   INTEGER PRIMARY KEY,
  text   TEXT,
  blob   INTEGER REFERENCES blob (id),  -- instead, where it is long
  sha256 BLOB NOT NULL,
  cut    INTEGER NOT NULL,
  CHECK ((text IS NULL) <> (blob IS NULL))
);
CREATE INDEX file_text_blob ON file_text (blob) WHERE blob IS NOT NULL;
