-- 0010: what each step has to do and has done of a shard's files, kept with the files themselves. A file
-- enters a step when it is written for it, and ends it when it is processed; Detect it ends when it gets
-- its type. One that its maker gave whole, or as an error, never waited; of files from before nobody
-- knows, and they count as if they had. Cost: one pass over the files.

ALTER TABLE file ADD COLUMN waited BOOLEAN NOT NULL DEFAULT TRUE;

CREATE TABLE shard_step (
  partition BIGINT NOT NULL,
  step      TEXT NOT NULL,
  entered   BIGINT NOT NULL,
  ended     BIGINT NOT NULL,
  failed    BIGINT NOT NULL,  -- of those that ended
  wall_ms   BIGINT NOT NULL,
  cpu_ms    BIGINT NOT NULL,
  PRIMARY KEY (partition, step)
) WITH (fillfactor = 50);

INSERT INTO shard_step (partition, step, entered, ended, failed, wall_ms, cpu_ms)
SELECT partition, step, count(*), count(*) FILTER (WHERE state >= 3), count(error_kind),
       coalesce(sum(wall_ms) FILTER (WHERE state >= 3), 0),
       coalesce(sum(cpu_ms) FILTER (WHERE state >= 3), 0)
FROM file WHERE step IS NOT NULL AND state >= 2 GROUP BY partition, step;

INSERT INTO shard_step (partition, step, entered, ended, failed, wall_ms, cpu_ms)
SELECT partition, 'Detect', count(*), count(*),
       count(*) FILTER (WHERE step IS NULL AND error_kind IS NOT NULL), 0, 0
FROM file WHERE detected_type IS NOT NULL GROUP BY partition
ON CONFLICT (partition, step) DO UPDATE SET entered = shard_step.entered + excluded.entered,
  ended = shard_step.ended + excluded.ended, failed = shard_step.failed + excluded.failed;

-- Serves the list of a partition's gates: the other states have indexes that begin like this one.
CREATE INDEX item_complete_gate ON item (partition, gate) WHERE status = 4;
