-- 0013: research. Episodes and clips, who looks for which clips in which episode, and what was found.
-- docs/research.md tells how they move. Times are microseconds since 1970.

-- Kind: 1 episode, 2 clip. Media: 1 to be fetched, 2 here, 3 could not be had.
CREATE TABLE curated (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  kind         INTEGER NOT NULL CHECK (kind IN (1, 2)),
  collection   INTEGER NOT NULL,
  key          TEXT,               -- how its curator names it for ever
  url          TEXT,               -- where its media is
  source       TEXT NOT NULL,      -- the feed, or who curates
  title        TEXT NOT NULL,
  description  TEXT NOT NULL,
  aired        TEXT NOT NULL,
  priority     INTEGER NOT NULL,
  initial_us   INTEGER NOT NULL,
  latest_us    INTEGER NOT NULL,
  metadata     TEXT NOT NULL,      -- JSON
  media        INTEGER NOT NULL CHECK (media IN (1, 2, 3)),
  problem      TEXT NOT NULL,
  job          INTEGER NOT NULL,
  file         INTEGER,
  sha256       TEXT,
  bytes        INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  number       INTEGER,            -- of a clip that is ready: its place in the sets of clips
  duration_ns  INTEGER NOT NULL,
  settled      INTEGER NOT NULL, -- of an episode: the generation at which nothing was left of it; 0: never
  CHECK (latest_us >= initial_us),
  CHECK ((media = 2) = (file IS NOT NULL AND sha256 IS NOT NULL))
);
CREATE UNIQUE INDEX curated_key ON curated (kind, collection, key) WHERE key IS NOT NULL;
CREATE INDEX curated_url ON curated (kind, collection, url) WHERE url IS NOT NULL;
CREATE INDEX curated_title ON curated (kind, collection, source, title);
CREATE INDEX curated_job ON curated (job);
CREATE UNIQUE INDEX curated_number ON curated (number) WHERE number IS NOT NULL;
CREATE INDEX curated_file ON curated (file) WHERE file IS NOT NULL;
CREATE INDEX curated_pending ON curated (job) WHERE media = 1;
-- The order in which work is chosen. Episodes that are settled are passed over within the index.
CREATE INDEX curated_choice ON curated (kind, priority DESC, initial_us DESC, id DESC, settled) WHERE media = 2;

-- One row, which every assigner locks. Generation: raised by each new or changed clip and by each new algorithm.
CREATE TABLE research_pool (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  generation  INTEGER NOT NULL,
  algorithm   INTEGER NOT NULL,
  next_number INTEGER NOT NULL
);
INSERT INTO research_pool (id, generation, algorithm, next_number) VALUES (1, 1, 1, 1);

-- What was researched of an episode. One without a row is all open. The counts are of its rows in research_result.
CREATE TABLE research_episode (
  episode    INTEGER PRIMARY KEY,
  algorithm  INTEGER NOT NULL,   -- of the set; an older one counts as empty
  researched BLOB NOT NULL,      -- a set of clip numbers
  results    INTEGER NOT NULL,
  found      INTEGER NOT NULL,
  failed     INTEGER NOT NULL
);

-- A lease over an episode and some clips. Nobody has taken it yet: it is a waiting item.
CREATE TABLE research_lease (
  id            TEXT PRIMARY KEY,
  episode       INTEGER NOT NULL,
  clips         BLOB NOT NULL,     -- a set of clip numbers, those that are not done
  chosen        TEXT NOT NULL,     -- JSON: ids of clips in the order in which they were chosen
  researcher    TEXT,
  created_us    INTEGER NOT NULL,
  offered_us    INTEGER NOT NULL,  -- it waits until then
  taken_us      INTEGER,
  expires_us    INTEGER NOT NULL,
  CHECK (offered_us < expires_us OR taken_us IS NOT NULL),
  CHECK ((researcher IS NULL) = (taken_us IS NULL))
) WITHOUT ROWID;
CREATE INDEX research_lease_episode ON research_lease (episode);
CREATE INDEX research_lease_expires ON research_lease (expires_us);

-- What a researcher reported of a pair. Without offsets: it is not in there.
CREATE TABLE research_result (
  episode             INTEGER NOT NULL,
  clip                INTEGER NOT NULL,
  number              INTEGER NOT NULL,  -- of the clip, when it was looked for
  algorithm           INTEGER NOT NULL,
  date_us             INTEGER NOT NULL,
  lease               TEXT NOT NULL,
  episode_duration_ns INTEGER NOT NULL,
  clip_duration_ns    INTEGER NOT NULL,
  episode_hash        TEXT NOT NULL,
  clip_hash           TEXT NOT NULL,
  error               TEXT NOT NULL,
  n_found             INTEGER NOT NULL,
  PRIMARY KEY (episode, clip)
) WITHOUT ROWID;
CREATE INDEX research_result_clip ON research_result (clip, episode);
CREATE INDEX research_result_error ON research_result (episode, clip) WHERE error <> '';

CREATE TABLE research_offset (
  episode   INTEGER NOT NULL,
  clip      INTEGER NOT NULL,
  offset_ns INTEGER NOT NULL CHECK (offset_ns >= 0),
  score     REAL NOT NULL,
  PRIMARY KEY (episode, clip, offset_ns)
) WITHOUT ROWID;

CREATE TABLE research_researcher (
  name     TEXT PRIMARY KEY,
  asked_us INTEGER NOT NULL
) WITHOUT ROWID;

-- Reports that could not be taken.
CREATE TABLE research_refused (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  sha256   TEXT NOT NULL UNIQUE,
  body     TEXT NOT NULL,      -- its beginning
  reason   TEXT NOT NULL,
  tries    INTEGER NOT NULL,
  first_us INTEGER NOT NULL,
  last_us  INTEGER NOT NULL
);

CREATE TABLE research_fingerprint (
  curated  INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  sha256   TEXT NOT NULL,      -- of the media
  blob     INTEGER NOT NULL REFERENCES blob (id),
  waveform BLOB NOT NULL,
  PRIMARY KEY (curated, version)
) WITHOUT ROWID;
CREATE INDEX research_fingerprint_blob ON research_fingerprint (blob);

-- Feeds that are looked at again.
CREATE TABLE research_feed (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  kind          INTEGER NOT NULL CHECK (kind IN (1, 2)),
  collection    INTEGER NOT NULL,
  url           TEXT NOT NULL,
  priority      INTEGER NOT NULL,
  metadata      TEXT NOT NULL,
  etag          TEXT NOT NULL,
  last_modified TEXT NOT NULL,
  digest        TEXT NOT NULL,  -- of what its entries say
  title         TEXT NOT NULL,
  checked_us    INTEGER,
  next_us       INTEGER NOT NULL,
  failures      INTEGER NOT NULL,
  problem       TEXT NOT NULL,
  UNIQUE (kind, collection, url)
);
CREATE INDEX research_feed_next ON research_feed (next_us);

-- What curators asked for: a job of kind episodes or clips. A recheck of a feed goes no further than what is new.
CREATE TABLE curation (
  job        INTEGER PRIMARY KEY,
  kind       INTEGER NOT NULL CHECK (kind IN (1, 2)),
  collection INTEGER NOT NULL,
  priority   INTEGER,
  metadata   TEXT NOT NULL,   -- JSON
  recheck    INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  ended_us   INTEGER
);

-- What it names, each with what became of it: an address, a feed, a further page of a feed.
CREATE TABLE curation_source (
  job      INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  what     INTEGER NOT NULL CHECK (what IN (1, 2)),  -- 1 an address of sound or of a feed, 2 a feed
  url      TEXT NOT NULL,
  said     TEXT NOT NULL,   -- JSON: title, description and date_aired as the curator gave them
  feed     INTEGER,            -- whose page it is
  page     INTEGER NOT NULL,   -- from 1
  ended    INTEGER NOT NULL,
  found    INTEGER NOT NULL,   -- episodes or clips
  changed  INTEGER NOT NULL,   -- of them, those that are new or otherwise than before
  left_out INTEGER NOT NULL,   -- entries without sound
  problem  TEXT NOT NULL,
  PRIMARY KEY (job, number)
) WITHOUT ROWID;
