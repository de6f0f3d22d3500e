-- 0010: what each step has to do and has done of a shard's files, kept with the files themselves. A file
-- enters a step when it is written for it, and ends it when it is processed; Detect it ends when it gets
-- its type. One that its maker gave whole, or as an error, never waited; of files from before nobody
-- knows, and they count as if they had. Cost: one pass over the files.

ALTER TABLE file ADD COLUMN waited INTEGER NOT NULL DEFAULT 1;

CREATE TABLE shard_step (
  partition INTEGER NOT NULL,
  step      TEXT NOT NULL,
  entered   INTEGER NOT NULL,
  ended     INTEGER NOT NULL,
  failed    INTEGER NOT NULL,  -- of those that ended
  wall_ms   INTEGER NOT NULL,
  cpu_ms    INTEGER NOT NULL,
  PRIMARY KEY (partition, step)
) WITHOUT ROWID;

INSERT INTO shard_step (partition, step, entered, ended, failed, wall_ms, cpu_ms)
SELECT partition, step, count(*), sum(state >= 3), sum(error_kind IS NOT NULL),
       sum(CASE WHEN state >= 3 THEN coalesce(wall_ms, 0) ELSE 0 END),
       sum(CASE WHEN state >= 3 THEN coalesce(cpu_ms, 0) ELSE 0 END)
FROM file WHERE step IS NOT NULL AND state >= 2 GROUP BY partition, step;

INSERT INTO shard_step (partition, step, entered, ended, failed, wall_ms, cpu_ms)
SELECT partition, 'Detect', count(*), count(*), sum(step IS NULL AND error_kind IS NOT NULL), 0, 0
FROM file WHERE detected_type IS NOT NULL GROUP BY partition
ON CONFLICT (partition, step) DO UPDATE SET entered = shard_step.entered + excluded.entered,
  ended = shard_step.ended + excluded.ended, failed = shard_step.failed + excluded.failed;

-- Serves the list of a partition's gates: the other states have indexes that begin like this one.
CREATE INDEX item_complete_gate ON item (partition, gate) WHERE status = 4;
