-- 0003: the work engine: owners, partitions, items, limits, timers, events. docs/queue.md tells how
-- they move. Times are microseconds since 1970; ready_us and due_us of "never" are the largest bigint.

-- A process that works. What it owns ends with until_us; one statement renews all of it.
CREATE TABLE owner (
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL UNIQUE,
  kinds      TEXT COLLATE "C" NOT NULL,
  held       BIGINT NOT NULL,
  until_us   BIGINT NOT NULL,
  started_us BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE partition (
  id                BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name              TEXT COLLATE "C" NOT NULL UNIQUE,
  version           BIGINT NOT NULL,
  -- Who can process it, and with what: kind http has the address of a handler.
  kind              TEXT COLLATE "C" NOT NULL,
  handler           TEXT NOT NULL,
  declared          BOOLEAN NOT NULL,  -- false: only items were put so far
  auto_close        BOOLEAN NOT NULL,
  manual_checkpoint BOOLEAN NOT NULL,
  sealed            BOOLEAN NOT NULL,
  deleting          BOOLEAN NOT NULL DEFAULT FALSE,  -- goes in steps; whoever scans goes on with it
  refuse_when_closed BOOLEAN NOT NULL,
  max_retries       BIGINT NOT NULL CHECK (max_retries >= -1),
  priority          BIGINT NOT NULL,
  concurrency       BIGINT NOT NULL CHECK (concurrency > 0),
  backoff_ms        BIGINT NOT NULL CHECK (backoff_ms >= 0),
  backoff_ms_max    BIGINT NOT NULL CHECK (backoff_ms_max >= 0),
  retain_ms         BIGINT NOT NULL CHECK (retain_ms >= -1),  -- of completed items; -1: for ever

  gate              BIGINT NOT NULL CHECK (gate >= 0),
  status            BIGINT NOT NULL CHECK (status IN (1, 3, 4)),  -- available, failed, complete
  -- A row that is claimed needs its owner: one that was forgotten meanwhile cannot claim.
  owner             BIGINT REFERENCES owner (id),
  token             BIGINT NOT NULL,  -- grows with each claim; whoever has the last one may write
  ready_us          BIGINT,           -- when an owner has something to do; null: nothing is to be done
  delayed_us        BIGINT NOT NULL,  -- no delayed item is due before
  item_bytes_max    BIGINT NOT NULL,  -- the largest item so far
  items             BIGINT NOT NULL CHECK (items >= 0),
  complete_items    BIGINT NOT NULL CHECK (complete_items >= 0),
  failed_items      BIGINT NOT NULL CHECK (failed_items >= 0),
  event_number      BIGINT NOT NULL,
  created_us        BIGINT NOT NULL,
  updated_us        BIGINT NOT NULL,
  CHECK (complete_items + failed_items <= items),
  CHECK (status <> 4 OR ready_us IS NULL)
) WITH (fillfactor = 50);
CREATE INDEX partition_free ON partition (kind, ready_us) WHERE owner IS NULL AND ready_us IS NOT NULL;
CREATE INDEX partition_owned ON partition (owner, ready_us) WHERE owner IS NOT NULL;
CREATE INDEX partition_deleting ON partition (id) WHERE deleting;
CREATE INDEX partition_by_status ON partition (status, id);

-- Status: 1 available, 2 running, 3 failed, 4 complete, 5 delayed (available when due).
CREATE TABLE item (
  id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  partition     BIGINT NOT NULL,
  name          TEXT COLLATE "C" NOT NULL,
  version       BIGINT NOT NULL,
  gate          BIGINT NOT NULL CHECK (gate >= 0),
  status        BIGINT NOT NULL CHECK (status BETWEEN 1 AND 5),
  priority      BIGINT NOT NULL,
  due_us        BIGINT NOT NULL,  -- not before; of a complete item: not kept after
  retry_count   BIGINT NOT NULL,
  calls         BIGINT NOT NULL,  -- how often it was given to a processor
  interruptions BIGINT NOT NULL,  -- calls whose owner died
  steps         BIGINT NOT NULL,  -- calls that moved it on
  errors        TEXT NOT NULL,    -- a JSON list, capped
  data          BYTEA NOT NULL,
  put_digest    BYTEA NOT NULL,  -- of what was put, so that a repeated put is known
  unique_key    TEXT COLLATE "C",
  limit_key     TEXT COLLATE "C",
  created_us    BIGINT NOT NULL,
  updated_us    BIGINT NOT NULL,
  UNIQUE (partition, name)
) WITH (fillfactor = 70);
-- Complete items are in none of these, so looking for work costs the same however many there are.
CREATE INDEX item_open ON item (partition, status, gate, priority DESC, due_us, id) WHERE status < 4;
CREATE INDEX item_delayed ON item (partition, due_us) WHERE status = 5;
CREATE INDEX item_delayed_gate ON item (partition, gate) WHERE status = 5;
CREATE UNIQUE INDEX item_unique_key ON item (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX item_expiring ON item (partition, due_us) WHERE status = 4 AND due_us < 9223372036854775807;

-- How fast and how many at once, for all items with that key, whoever runs them.
CREATE TABLE limit_key (
  key         TEXT COLLATE "C" PRIMARY KEY,
  version     BIGINT NOT NULL,
  concurrency BIGINT NOT NULL CHECK (concurrency >= 0),  -- 0: any number
  gap_us      BIGINT NOT NULL CHECK (gap_us >= 0),       -- between two starts
  next_us     BIGINT NOT NULL,                           -- no start before
  reserved_us BIGINT NOT NULL                            -- the last time that a waiting item was given
);
-- A running item that counts. It counts only while its partition's token is that one.
CREATE TABLE limit_hold (
  key       TEXT COLLATE "C" NOT NULL,
  item      BIGINT NOT NULL,
  partition BIGINT NOT NULL,
  token     BIGINT NOT NULL,
  PRIMARY KEY (key, item)
);

CREATE TABLE timer (
  key            TEXT COLLATE "C" PRIMARY KEY,
  due_us         BIGINT NOT NULL,
  timeout_us     BIGINT NOT NULL CHECK (timeout_us >= 0),
  callback_queue TEXT COLLATE "C" NOT NULL,
  callback_msg   TEXT NOT NULL,
  starts         BIGINT NOT NULL  -- how often it was started or reset
) WITH (fillfactor = 70);
CREATE INDEX timer_due ON timer (due_us);

-- What happened, numbered per partition by its owner, in the transaction of the change.
CREATE TABLE event (
  partition BIGINT NOT NULL,
  number    BIGINT NOT NULL,
  kind      TEXT COLLATE "C" NOT NULL,
  item      BIGINT,
  gate      BIGINT NOT NULL,
  token     BIGINT NOT NULL,
  at_us     BIGINT NOT NULL,
  PRIMARY KEY (partition, number)
);
