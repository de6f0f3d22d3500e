-- 0004: blobs: bytes of any size, stored once. docs/blobs.md tells how they come and go.

-- A process that writes large blobs. The names of its files begin with ID-NAME. Once it is dead it can
-- name nothing any more, and what no row names may go.
CREATE TABLE blob_session (
  id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name     TEXT COLLATE "C" NOT NULL,
  until_us BIGINT NOT NULL,
  dead     BOOLEAN NOT NULL DEFAULT FALSE,
  swept    BOOLEAN NOT NULL DEFAULT FALSE,  -- all that it left was looked at
  swept_to TEXT COLLATE "C" NOT NULL DEFAULT '',
  CHECK (dead OR NOT swept)
);
CREATE INDEX blob_session_unswept ON blob_session (id) WHERE NOT swept;

-- One row for equal bytes. They lie in the row, or under the name `place`.
CREATE TABLE blob (
  id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  bytes  BIGINT NOT NULL CHECK (bytes >= 0),
  sha256 BYTEA NOT NULL UNIQUE CHECK (length(sha256) = 32),
  sha1   BYTEA NOT NULL CHECK (length(sha1) = 20),
  place  TEXT COLLATE "C" CHECK (place <> ''),
  data   BYTEA CHECK (length(data) = bytes),
  CHECK ((place IS NULL) <> (data IS NULL)),
  CHECK ((data IS NOT NULL) = (bytes <= 16384))
);
CREATE UNIQUE INDEX blob_place ON blob (place) WHERE place IS NOT NULL;

-- Blobs that may have lost their last reference. Never updated, and a blob may stand here twice: a sweep
-- removes exactly what it has read.
CREATE TABLE blob_doubt (
  id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  blob BIGINT NOT NULL
);

-- Places whose row was deleted and whose bytes are still there.
CREATE TABLE blob_dead (
  place TEXT COLLATE "C" PRIMARY KEY
);
