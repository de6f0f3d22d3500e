-- 0001: what the store itself needs.

-- The largest time that a transaction has used. Time never goes below it, whatever the clock says.
CREATE TABLE store_clock (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  now_us INTEGER NOT NULL
);
INSERT INTO store_clock (one, now_us) VALUES (1, 0);

-- A random name given once. A data folder remembers it, so that files are never judged by the rows of
-- another database.
CREATE TABLE store_identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id  TEXT NOT NULL
);
