-- 0015: archives that were removed: WARC files whose names begin so are unlinked by each server that has some in its
-- folder. A new, empty table; servers of the version before may run meanwhile. A row is some 50 bytes, for each removed job that had archived.

CREATE TABLE removed_archive (
  prefix TEXT PRIMARY KEY  -- quern-c3-j17-5b2f9c01
) WITHOUT ROWID;
