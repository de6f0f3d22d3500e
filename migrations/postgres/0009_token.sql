-- 0009: tokens, for requests that come from other machines. The secret itself is nowhere: only its
-- SHA-256. Times are microseconds since 1970.

CREATE TABLE token (
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sha256     TEXT COLLATE "C" NOT NULL UNIQUE CHECK (length(sha256) = 64),  -- of the secret, in hex
  role       BIGINT NOT NULL CHECK (role BETWEEN 1 AND 4),  -- 1 reader, 2 editor, 3 worker, 4 admin
  collection TEXT COLLATE "C",                              -- by name; null: all
  note       TEXT COLLATE "C" NOT NULL,
  created_us BIGINT NOT NULL,
  revoked_us BIGINT                                         -- null: it is good
);
