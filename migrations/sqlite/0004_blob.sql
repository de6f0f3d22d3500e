-- 0004: blobs: bytes of any size, stored once. docs/blobs.md tells how they come and go.

-- A process that writes large blobs. The names of its files begin with ID-NAME. Once it is dead it can
-- name nothing any more, and what no row names may go.
CREATE TABLE blob_session (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  name     TEXT NOT NULL,
  until_us INTEGER NOT NULL,
  dead     INTEGER NOT NULL DEFAULT FALSE,
  swept    INTEGER NOT NULL DEFAULT FALSE,  -- all that it left was looked at
  swept_to TEXT NOT NULL DEFAULT '',
  CHECK (dead OR NOT swept)
);
CREATE INDEX blob_session_unswept ON blob_session (id) WHERE NOT swept;

-- One row for equal bytes. They lie in the row, or under the name `place`.
CREATE TABLE blob (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  bytes  INTEGER NOT NULL CHECK (bytes >= 0),
  sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
  sha1   BLOB NOT NULL CHECK (length(sha1) = 20),
  place  TEXT CHECK (place <> ''),
  data   BLOB CHECK (length(data) = bytes),
  CHECK ((place IS NULL) <> (data IS NULL)),
  CHECK ((data IS NOT NULL) = (bytes <= 16384))
);
CREATE UNIQUE INDEX blob_place ON blob (place) WHERE place IS NOT NULL;

-- Blobs that may have lost their last reference. Never updated, and a blob may stand here twice: a sweep
-- removes exactly what it has read.
CREATE TABLE blob_doubt (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  blob INTEGER NOT NULL
);

-- Places whose row was deleted and whose bytes are still there.
CREATE TABLE blob_dead (
  place TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;
