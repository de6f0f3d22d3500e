-- 0002: counters, the feature that demonstrates the others' pattern.

-- Names sort by their bytes, as on SQLite.
CREATE TABLE counter (
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name           TEXT COLLATE "C" NOT NULL UNIQUE,
  value          BIGINT NOT NULL,
  entries        BIGINT NOT NULL CHECK (entries >= 0),
  -- A snapshot: how many entries and what value it holds, and the file. It only moves forward.
  snapshot_entries BIGINT,
  snapshot_value   BIGINT,
  snapshot_file    TEXT,
  CHECK ((snapshot_entries IS NULL) = (snapshot_file IS NULL)),
  CHECK ((snapshot_value IS NULL) = (snapshot_file IS NULL))
);

-- The primary key is what makes a repeated addition the same addition.
CREATE TABLE counter_entry (
  counter     BIGINT NOT NULL REFERENCES counter (id),
  key         TEXT COLLATE "C" NOT NULL,
  amount      BIGINT NOT NULL,
  value_after BIGINT NOT NULL,
  created_us  BIGINT NOT NULL,
  PRIMARY KEY (counter, key)
);
