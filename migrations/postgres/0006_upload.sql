-- 0006: uploads that may pause and go on. The file is a root, `created` while its bytes come; they lie in
-- uploads/NAME.part of one server's data folder until all are there. Times are microseconds since 1970.

CREATE TABLE upload (
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL UNIQUE,  -- 128 random bits: its address, and its part file's name
  file       BIGINT NOT NULL UNIQUE,            -- the root that its bytes become
  job        BIGINT NOT NULL,
  partition  BIGINT NOT NULL,                   -- the root's: behind its lock this row is written
  own_job    BOOLEAN NOT NULL,                  -- the job was made for this upload, and takes no other file
  node       TEXT COLLATE "C" NOT NULL,         -- whose data folder has the part file
  length     BIGINT NOT NULL CHECK (length >= 0),
  bytes      BIGINT NOT NULL,                   -- that are synced and count; what lies behind them counts for nothing
  done       BOOLEAN NOT NULL,                  -- the root is written
  metadata   TEXT COLLATE "C" NOT NULL,         -- as the client sent it
  expires_us BIGINT NOT NULL,
  CHECK (bytes BETWEEN 0 AND length),
  CHECK (NOT done OR bytes = length)
);
-- Serves the sweep of what nobody goes on with.
CREATE INDEX upload_expiry ON upload (expires_us);
-- Serves a start: what a server was in the middle of.
CREATE INDEX upload_open ON upload (node, id) WHERE NOT done;
