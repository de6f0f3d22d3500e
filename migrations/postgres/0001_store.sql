-- 0001: what the store itself needs.

-- One row for each lane of each writer. A transaction stores its number here first, so that a commit
-- whose answer was lost can be told from one that did not happen. Half-empty pages keep the updates
-- on their page.
CREATE TABLE writer_lane (
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sequence   BIGINT NOT NULL,
  touched_us BIGINT NOT NULL
) WITH (fillfactor = 50);

-- A random name given once. A data folder remembers it, so that files are never judged by the rows of
-- another database.
CREATE TABLE store_identity (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  id  TEXT NOT NULL
);
