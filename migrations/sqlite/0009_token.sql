-- 0009: tokens, for requests that come from other machines. The secret itself is nowhere: only its
-- SHA-256. Times are microseconds since 1970.

CREATE TABLE token (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  sha256     TEXT NOT NULL UNIQUE CHECK (length(sha256) = 64),  -- of the secret, in hex
  role       INTEGER NOT NULL CHECK (role BETWEEN 1 AND 4),     -- 1 reader, 2 editor, 3 worker, 4 admin
  collection TEXT,                                              -- by name; null: all
  note       TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  revoked_us INTEGER                                            -- null: it is good
);
