-- 0013: research. Episodes and clips, who looks for which clips in which episode, and what was found.
-- docs/research.md tells how they move. Times are microseconds since 1970.

-- Kind: 1 episode, 2 clip. Media: 1 to be fetched, 2 here, 3 could not be had.
CREATE TABLE curated (
  id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind         BIGINT NOT NULL CHECK (kind IN (1, 2)),
  collection   BIGINT NOT NULL,
  key          TEXT COLLATE "C",               -- how its curator names it for ever
  url          TEXT COLLATE "C",               -- where its media is
  source       TEXT COLLATE "C" NOT NULL,      -- the feed, or who curates
  title        TEXT COLLATE "C" NOT NULL,
  description  TEXT COLLATE "C" NOT NULL,
  aired        TEXT COLLATE "C" NOT NULL,
  priority     BIGINT NOT NULL,
  initial_us   BIGINT NOT NULL,
  latest_us    BIGINT NOT NULL,
  metadata     TEXT COLLATE "C" NOT NULL,      -- JSON
  media        BIGINT NOT NULL CHECK (media IN (1, 2, 3)),
  problem      TEXT COLLATE "C" NOT NULL,
  job          BIGINT NOT NULL,
  file         BIGINT,
  sha256       TEXT COLLATE "C",
  bytes        BIGINT NOT NULL,
  content_type TEXT COLLATE "C" NOT NULL,
  number       BIGINT,            -- of a clip that is ready: its place in the sets of clips
  duration_ns  BIGINT NOT NULL,
  settled      BIGINT NOT NULL, -- of an episode: the generation at which nothing was left of it; 0: never
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
  id          BIGINT PRIMARY KEY CHECK (id = 1),
  generation  BIGINT NOT NULL,
  algorithm   BIGINT NOT NULL,
  next_number BIGINT NOT NULL
);
INSERT INTO research_pool (id, generation, algorithm, next_number) VALUES (1, 1, 1, 1);

-- What was researched of an episode. One without a row is all open. The counts are of its rows in research_result.
CREATE TABLE research_episode (
  episode    BIGINT PRIMARY KEY,
  algorithm  BIGINT NOT NULL,   -- of the set; an older one counts as empty
  researched BYTEA NOT NULL,      -- a set of clip numbers
  results    BIGINT NOT NULL,
  found      BIGINT NOT NULL,
  failed     BIGINT NOT NULL
);

-- A lease over an episode and some clips. Nobody has taken it yet: it is a waiting item.
CREATE TABLE research_lease (
  id            TEXT COLLATE "C" PRIMARY KEY,
  episode       BIGINT NOT NULL,
  clips         BYTEA NOT NULL,     -- a set of clip numbers, those that are not done
  chosen        TEXT COLLATE "C" NOT NULL,     -- JSON: ids of clips in the order in which they were chosen
  researcher    TEXT COLLATE "C",
  created_us    BIGINT NOT NULL,
  offered_us    BIGINT NOT NULL,  -- it waits until then
  taken_us      BIGINT,
  expires_us    BIGINT NOT NULL,
  CHECK (offered_us < expires_us OR taken_us IS NOT NULL),
  CHECK ((researcher IS NULL) = (taken_us IS NULL))
);
CREATE INDEX research_lease_episode ON research_lease (episode);
CREATE INDEX research_lease_expires ON research_lease (expires_us);

-- What a researcher reported of a pair. Without offsets: it is not in there.
CREATE TABLE research_result (
  episode             BIGINT NOT NULL,
  clip                BIGINT NOT NULL,
  number              BIGINT NOT NULL,  -- of the clip, when it was looked for
  algorithm           BIGINT NOT NULL,
  date_us             BIGINT NOT NULL,
  lease               TEXT COLLATE "C" NOT NULL,
  episode_duration_ns BIGINT NOT NULL,
  clip_duration_ns    BIGINT NOT NULL,
  episode_hash        TEXT COLLATE "C" NOT NULL,
  clip_hash           TEXT COLLATE "C" NOT NULL,
  error               TEXT COLLATE "C" NOT NULL,
  n_found             BIGINT NOT NULL,
  PRIMARY KEY (episode, clip)
);
CREATE INDEX research_result_clip ON research_result (clip, episode);
CREATE INDEX research_result_error ON research_result (episode, clip) WHERE error <> '';

CREATE TABLE research_offset (
  episode   BIGINT NOT NULL,
  clip      BIGINT NOT NULL,
  offset_ns BIGINT NOT NULL CHECK (offset_ns >= 0),
  score     DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (episode, clip, offset_ns)
);

CREATE TABLE research_researcher (
  name     TEXT COLLATE "C" PRIMARY KEY,
  asked_us BIGINT NOT NULL
);

-- Reports that could not be taken.
CREATE TABLE research_refused (
  id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sha256   TEXT COLLATE "C" NOT NULL UNIQUE,
  body     TEXT COLLATE "C" NOT NULL,      -- its beginning
  reason   TEXT COLLATE "C" NOT NULL,
  tries    BIGINT NOT NULL,
  first_us BIGINT NOT NULL,
  last_us  BIGINT NOT NULL
);

CREATE TABLE research_fingerprint (
  curated  BIGINT NOT NULL,
  version  BIGINT NOT NULL,
  sha256   TEXT COLLATE "C" NOT NULL,      -- of the media
  blob     BIGINT NOT NULL REFERENCES blob (id),
  waveform BYTEA NOT NULL,
  PRIMARY KEY (curated, version)
);
CREATE INDEX research_fingerprint_blob ON research_fingerprint (blob);

-- Feeds that are looked at again.
CREATE TABLE research_feed (
  id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          BIGINT NOT NULL CHECK (kind IN (1, 2)),
  collection    BIGINT NOT NULL,
  url           TEXT COLLATE "C" NOT NULL,
  priority      BIGINT NOT NULL,
  metadata      TEXT COLLATE "C" NOT NULL,
  etag          TEXT COLLATE "C" NOT NULL,
  last_modified TEXT COLLATE "C" NOT NULL,
  digest        TEXT COLLATE "C" NOT NULL,  -- of what its entries say
  title         TEXT COLLATE "C" NOT NULL,
  checked_us    BIGINT,
  next_us       BIGINT NOT NULL,
  failures      BIGINT NOT NULL,
  problem       TEXT COLLATE "C" NOT NULL,
  UNIQUE (kind, collection, url)
);
CREATE INDEX research_feed_next ON research_feed (next_us);

-- What curators asked for: a job of kind episodes or clips. A recheck of a feed goes no further than what is new.
CREATE TABLE curation (
  job        BIGINT PRIMARY KEY,
  kind       BIGINT NOT NULL CHECK (kind IN (1, 2)),
  collection BIGINT NOT NULL,
  priority   BIGINT,
  metadata   TEXT COLLATE "C" NOT NULL,   -- JSON
  recheck    BOOLEAN NOT NULL,
  created_us BIGINT NOT NULL,
  ended_us   BIGINT
);

-- What it names, each with what became of it: an address, a feed, a further page of a feed.
CREATE TABLE curation_source (
  job      BIGINT NOT NULL,
  number   BIGINT NOT NULL,
  what     BIGINT NOT NULL CHECK (what IN (1, 2)),  -- 1 an address of sound or of a feed, 2 a feed
  url      TEXT COLLATE "C" NOT NULL,
  said     TEXT COLLATE "C" NOT NULL,   -- JSON: title, description and date_aired as the curator gave them
  feed     BIGINT,            -- whose page it is
  page     BIGINT NOT NULL,   -- from 1
  ended    BOOLEAN NOT NULL,
  found    BIGINT NOT NULL,   -- episodes or clips
  changed  BIGINT NOT NULL,   -- of them, those that are new or otherwise than before
  left_out BIGINT NOT NULL,   -- entries without sound
  problem  TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (job, number)
);
