-- 0005: files that form trees, the jobs that brought them, and the shards that own them. docs/states.md
-- draws how a file moves. Times are microseconds since 1970.

CREATE TABLE collection (
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL UNIQUE,
  created_us BIGINT NOT NULL
);

-- What a user asked for. State: 1 running, 2 done, 3 canceled.
CREATE TABLE job (
  id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind        TEXT COLLATE "C" NOT NULL,
  collection  BIGINT NOT NULL REFERENCES collection (id),
  key         TEXT COLLATE "C" NOT NULL UNIQUE,  -- a repeated request is the same job
  source      TEXT COLLATE "C" NOT NULL,         -- what was added, for people
  state       BIGINT NOT NULL CHECK (state BETWEEN 1 AND 3),
  sealed      BOOLEAN NOT NULL,  -- no root comes any more
  canceled    BOOLEAN NOT NULL,  -- asked for; the job ends with state 3
  deleting    BOOLEAN NOT NULL DEFAULT FALSE,
  shards      BIGINT NOT NULL CHECK (shards BETWEEN 1 AND 64),
  skipped     BIGINT NOT NULL,  -- links, devices and known files that were left out
  retry_of    BIGINT,           -- the file whose error this is to mend
  created_us  BIGINT NOT NULL,
  finished_us BIGINT,
  CHECK ((state = 1) = (finished_us IS NULL))
);
CREATE INDEX job_by_collection ON job (collection, id);
CREATE INDEX job_open ON job (id) WHERE state = 1 OR deleting;

-- The part of a job that one owner works on: a partition. Its sums are written by whoever holds that.
CREATE TABLE shard (
  partition      BIGINT PRIMARY KEY,
  job            BIGINT NOT NULL REFERENCES job (id),
  number         BIGINT NOT NULL,
  done           BOOLEAN NOT NULL,
  roots          BIGINT NOT NULL,
  roots_ingested BIGINT NOT NULL,
  files          BIGINT NOT NULL,
  documents      BIGINT NOT NULL,
  containers     BIGINT NOT NULL,
  converted      BIGINT NOT NULL,
  empty          BIGINT NOT NULL,
  errors         BIGINT NOT NULL,
  bytes_in       BIGINT NOT NULL,
  weight         DOUBLE PRECISION NOT NULL,  -- of all its roots
  progress       DOUBLE PRECISION NOT NULL,  -- of that, done
  UNIQUE (job, number)
);

-- State: 1 created, 2 written, 3 processed, 4 ingested. Class: 1 document, 2 container, 3 converted,
-- 4 empty, 5 error; none while it is in progress.
CREATE TABLE file (
  id                  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  collection          BIGINT NOT NULL,
  job                 BIGINT NOT NULL,
  partition           BIGINT NOT NULL,
  root                BIGINT,           -- null: it is one
  parent              BIGINT,
  index_in_parent     BIGINT NOT NULL,  -- of a root: in its job
  depth               BIGINT NOT NULL CHECK (depth >= 0),
  position            TEXT COLLATE "C" NOT NULL,     -- sorts like the tree
  filename            TEXT COLLATE "C" NOT NULL,
  content_type        TEXT COLLATE "C" NOT NULL,
  detected_type       TEXT COLLATE "C",
  metadata            TEXT COLLATE "C" NOT NULL,
  options             TEXT COLLATE "C" NOT NULL,
  blob                BIGINT REFERENCES blob (id),
  bytes               BIGINT NOT NULL,
  thumbnail           BIGINT REFERENCES blob (id),
  thumbnail_type      TEXT COLLATE "C",
  has_text            BOOLEAN NOT NULL,
  page                BIGINT NOT NULL,  -- 0: none
  pages               BIGINT,
  state               BIGINT NOT NULL CHECK (state BETWEEN 1 AND 4),
  class               BIGINT CHECK (class BETWEEN 1 AND 5),
  created_us          BIGINT NOT NULL,
  written_us          BIGINT,
  processed_us        BIGINT,
  ingested_us         BIGINT,
  n_children          BIGINT NOT NULL,
  n_ingested_children BIGINT NOT NULL,
  step                TEXT COLLATE "C",              -- that it waits for, or that processed it
  step_version        TEXT COLLATE "C",
  progress_begin      DOUBLE PRECISION NOT NULL,     -- its slice of the root's weight
  progress_end        DOUBLE PRECISION NOT NULL,
  progress_given      DOUBLE PRECISION NOT NULL,     -- of that, to its children
  processing_error    TEXT COLLATE "C",
  error_kind          TEXT COLLATE "C",
  attempts            BIGINT NOT NULL,  -- ends that a box saw
  interruptions       BIGINT NOT NULL,  -- ends that tell nothing of the file
  lent                BOOLEAN NOT NULL,  -- to a worker, for a while already
  conflicts           BIGINT NOT NULL,  -- replayed children that differed from the stored ones
  superseded          BOOLEAN NOT NULL,  -- its error was mended by a retry
  tree_files          BIGINT NOT NULL,  -- of a root: everything below it
  tree_bytes          BIGINT NOT NULL,
  worker              TEXT COLLATE "C",
  note                TEXT COLLATE "C",              -- what the worker said
  wall_ms             BIGINT,
  cpu_ms              BIGINT,
  peak_kib            BIGINT,
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
CREATE INDEX file_open ON file (partition, state, step, depth DESC, id) WHERE state < 4;
CREATE INDEX file_ready ON file (partition, depth DESC) WHERE state = 3 AND n_ingested_children = n_children;
CREATE INDEX file_lent ON file (partition) WHERE lent;
CREATE INDEX file_listed ON file (collection, filename, position);
CREATE INDEX file_documents ON file (collection, filename, page, position) WHERE class = 1;
CREATE INDEX file_errors ON file (collection, filename, position) WHERE class = 5;
CREATE INDEX file_of_job ON file (job, id);
CREATE INDEX file_blob ON file (blob) WHERE blob IS NOT NULL;
CREATE INDEX file_thumbnail ON file (thumbnail) WHERE thumbnail IS NOT NULL;

-- Beside the file, so that moving a file does not copy its text.
CREATE TABLE file_text (
  file   BIGINT PRIMARY KEY,
  text   TEXT COLLATE "C",
  blob   BIGINT REFERENCES blob (id),  -- instead, where it is long
  sha256 BYTEA NOT NULL,
  cut    BOOLEAN NOT NULL,
  CHECK ((text IS NULL) <> (blob IS NULL))
);
CREATE INDEX file_text_blob ON file_text (blob) WHERE blob IS NOT NULL;
