-- 0006: uploads that may pause and go on. The file is a root, `created` while its bytes come; they lie in
-- uploads/NAME.part of one server's data folder until all are there. Times are microseconds since 1970.

CREATE TABLE upload (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL UNIQUE,     -- 128 random bits: its address, and its part file's name
  file       INTEGER NOT NULL UNIQUE,  -- the root that its bytes become
  job        INTEGER NOT NULL,
  partition  INTEGER NOT NULL,         -- the root's: behind its lock this row is written
  own_job    INTEGER NOT NULL,         -- the job was made for this upload, and takes no other file
  node       TEXT NOT NULL,            -- whose data folder has the part file
  length     INTEGER NOT NULL CHECK (length >= 0),
  bytes      INTEGER NOT NULL,         -- that are synced and count; what lies behind them counts for nothing
  done       INTEGER NOT NULL,         -- the root is written
  metadata   TEXT NOT NULL,            -- as the client sent it
  expires_us INTEGER NOT NULL,
  CHECK (bytes BETWEEN 0 AND length),
  CHECK (NOT done OR bytes = length)
);
-- Serves the sweep of what nobody goes on with.
CREATE INDEX upload_expiry ON upload (expires_us);
-- Serves a start: what a server was in the middle of.
CREATE INDEX upload_open ON upload (node, id) WHERE NOT done;
