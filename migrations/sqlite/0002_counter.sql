-- 0002: counters, the feature that demonstrates the others' pattern.

CREATE TABLE counter (
  id             INTEGER PRIMARY KEY,
  name           TEXT NOT NULL UNIQUE,
  value          INTEGER NOT NULL,
  entries        INTEGER NOT NULL CHECK (entries >= 0),
  -- A snapshot: how many entries and what value it holds, and the file. It only moves forward.
  snapshot_entries INTEGER,
  snapshot_value   INTEGER,
  snapshot_file    TEXT,
  CHECK ((snapshot_entries IS NULL) = (snapshot_file IS NULL)),
  CHECK ((snapshot_value IS NULL) = (snapshot_file IS NULL))
);

-- The primary key is what makes a repeated addition the same addition.
CREATE TABLE counter_entry (
  counter     INTEGER NOT NULL REFERENCES counter (id),
  key         TEXT NOT NULL,
  amount      INTEGER NOT NULL,
  value_after INTEGER NOT NULL,
  created_us  INTEGER NOT NULL,
  PRIMARY KEY (counter, key)
) WITHOUT ROWID;
