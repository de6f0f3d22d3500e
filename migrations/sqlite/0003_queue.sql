-- 0003: the work engine: owners, partitions, items, limits, timers, events. docs/queue.md tells how
-- they move. Times are microseconds since 1970; ready_us and due_us of "never" are the largest integer.

-- A process that works. What it owns ends with until_us; one statement renews all of it.
CREATE TABLE owner (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL UNIQUE,
  kinds      TEXT NOT NULL,
  held       INTEGER NOT NULL,
  until_us   INTEGER NOT NULL,
  started_us INTEGER NOT NULL
);

CREATE TABLE partition (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  name              TEXT NOT NULL UNIQUE,
  version           INTEGER NOT NULL,
  -- Who can process it, and with what: kind http has the address of a handler.
  kind              TEXT NOT NULL,
  handler           TEXT NOT NULL,
  declared          INTEGER NOT NULL,  -- false: only items were put so far
  auto_close        INTEGER NOT NULL,
  manual_checkpoint INTEGER NOT NULL,
  sealed            INTEGER NOT NULL,
  deleting          INTEGER NOT NULL DEFAULT 0,  -- goes in steps; whoever scans goes on with it
  refuse_when_closed INTEGER NOT NULL,
  max_retries       INTEGER NOT NULL CHECK (max_retries >= -1),
  priority          INTEGER NOT NULL,
  concurrency       INTEGER NOT NULL CHECK (concurrency > 0),
  backoff_ms        INTEGER NOT NULL CHECK (backoff_ms >= 0),
  backoff_ms_max    INTEGER NOT NULL CHECK (backoff_ms_max >= 0),
  retain_ms         INTEGER NOT NULL CHECK (retain_ms >= -1),  -- of completed items; -1: for ever

  gate              INTEGER NOT NULL CHECK (gate >= 0),
  status            INTEGER NOT NULL CHECK (status IN (1, 3, 4)),  -- available, failed, complete
  -- A row that is claimed needs its owner: one that was forgotten meanwhile cannot claim.
  owner             INTEGER REFERENCES owner (id),
  token             INTEGER NOT NULL,  -- grows with each claim; whoever has the last one may write
  ready_us          INTEGER,           -- when an owner has something to do; null: nothing is to be done
  delayed_us        INTEGER NOT NULL,  -- no delayed item is due before
  item_bytes_max    INTEGER NOT NULL,  -- the largest item so far
  items             INTEGER NOT NULL CHECK (items >= 0),
  complete_items    INTEGER NOT NULL CHECK (complete_items >= 0),
  failed_items      INTEGER NOT NULL CHECK (failed_items >= 0),
  event_number      INTEGER NOT NULL,
  created_us        INTEGER NOT NULL,
  updated_us        INTEGER NOT NULL,
  CHECK (complete_items + failed_items <= items),
  CHECK (status <> 4 OR ready_us IS NULL)
);
CREATE INDEX partition_free ON partition (kind, ready_us) WHERE owner IS NULL AND ready_us IS NOT NULL;
CREATE INDEX partition_owned ON partition (owner, ready_us) WHERE owner IS NOT NULL;
CREATE INDEX partition_deleting ON partition (id) WHERE deleting;
CREATE INDEX partition_by_status ON partition (status, id);

-- Status: 1 available, 2 running, 3 failed, 4 complete, 5 delayed (available when due).
CREATE TABLE item (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,  -- an id is never given twice: handlers know items by it
  partition     INTEGER NOT NULL,
  name          TEXT NOT NULL,
  version       INTEGER NOT NULL,
  gate          INTEGER NOT NULL CHECK (gate >= 0),
  status        INTEGER NOT NULL CHECK (status BETWEEN 1 AND 5),
  priority      INTEGER NOT NULL,
  due_us        INTEGER NOT NULL,  -- not before; of a complete item: not kept after
  retry_count   INTEGER NOT NULL,
  calls         INTEGER NOT NULL,  -- how often it was given to a processor
  interruptions INTEGER NOT NULL,  -- calls whose owner died
  steps         INTEGER NOT NULL,  -- calls that moved it on
  errors        TEXT NOT NULL,    -- a JSON list, capped
  data          BLOB NOT NULL,
  put_digest    BLOB NOT NULL,  -- of what was put, so that a repeated put is known
  unique_key    TEXT,
  limit_key     TEXT,
  created_us    INTEGER NOT NULL,
  updated_us    INTEGER NOT NULL,
  UNIQUE (partition, name)
);
-- The plus keeps the planner from answering `status = 1` by the range `status < 4`.
-- Complete items are in none of these, so looking for work costs the same however many there are.
CREATE INDEX item_open ON item (partition, status, gate, priority DESC, due_us, id) WHERE +status < 4;
CREATE INDEX item_delayed ON item (partition, due_us) WHERE status = 5;
CREATE INDEX item_delayed_gate ON item (partition, gate) WHERE status = 5;
CREATE UNIQUE INDEX item_unique_key ON item (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX item_expiring ON item (partition, due_us) WHERE status = 4 AND due_us < 9223372036854775807;

-- How fast and how many at once, for all items with that key, whoever runs them.
CREATE TABLE limit_key (
  key         TEXT NOT NULL PRIMARY KEY,
  version     INTEGER NOT NULL,
  concurrency INTEGER NOT NULL CHECK (concurrency >= 0),  -- 0: any number
  gap_us      INTEGER NOT NULL CHECK (gap_us >= 0),       -- between two starts
  next_us     INTEGER NOT NULL,                           -- no start before
  reserved_us INTEGER NOT NULL                            -- the last time that a waiting item was given
);
-- A running item that counts. It counts only while its partition's token is that one.
CREATE TABLE limit_hold (
  key       TEXT NOT NULL,
  item      INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  token     INTEGER NOT NULL,
  PRIMARY KEY (key, item)
) WITHOUT ROWID;

CREATE TABLE timer (
  key            TEXT NOT NULL PRIMARY KEY,
  due_us         INTEGER NOT NULL,
  timeout_us     INTEGER NOT NULL CHECK (timeout_us >= 0),
  callback_queue TEXT NOT NULL,
  callback_msg   TEXT NOT NULL,
  starts         INTEGER NOT NULL  -- how often it was started or reset
);
CREATE INDEX timer_due ON timer (due_us);

-- What happened, numbered per partition by its owner, in the transaction of the change.
CREATE TABLE event (
  partition INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  item      INTEGER,
  gate      INTEGER NOT NULL,
  token     INTEGER NOT NULL,
  at_us     INTEGER NOT NULL,
  PRIMARY KEY (partition, number)
) WITHOUT ROWID;
