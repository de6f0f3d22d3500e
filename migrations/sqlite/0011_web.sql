-- 0011: the web. Sites and their pages, crawls (jobs of kind crawl), and captures: what was fetched, and
-- where it lies in which WARC file. docs/crawl.md tells how they move. Times are microseconds since 1970.

-- Of a web page's text: how many bytes of it are the page's own, and its headings (a JSON list).
ALTER TABLE file_text ADD COLUMN main_bytes INTEGER;
ALTER TABLE file_text ADD COLUMN headings TEXT;

-- What a page links to, as its step found it: JSON, not yet resolved.
CREATE TABLE file_links (
  file  INTEGER PRIMARY KEY,
  links TEXT NOT NULL
);

-- A host, with its port where that is not the scheme's. Its partition owns its pages.
CREATE TABLE site (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT NOT NULL UNIQUE,
  partition     INTEGER NOT NULL UNIQUE,
  not_before_us INTEGER NOT NULL DEFAULT 0,  -- it asked to be left alone so long
  robots        TEXT,                        -- robots.txt as it was last had
  robots_status INTEGER,                     -- 0: it could not be had
  robots_us     INTEGER
);

-- What a crawl was asked to do.
CREATE TABLE crawl (
  job        INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL,
  orders     TEXT NOT NULL,     -- JSON
  whole      INTEGER NOT NULL,  -- pages of its sites that it does not meet have gone
  seeded     INTEGER NOT NULL,  -- all its first pages were admitted
  ended      INTEGER NOT NULL
);
CREATE INDEX crawl_open ON crawl (job) WHERE ended = 0;

-- The part of a crawl that lies on one site.
CREATE TABLE crawl_site (
  job       INTEGER NOT NULL,
  site      INTEGER NOT NULL REFERENCES site (id),
  admitted  INTEGER NOT NULL,
  open      INTEGER NOT NULL CHECK (open >= 0),  -- waiting, or processed with links to follow
  inside    INTEGER NOT NULL,                    -- of those that ended: in the collection
  unchanged INTEGER NOT NULL,                    -- of those: the same as before
  failed    INTEGER NOT NULL,                    -- of those outside: could not be had
  bytes     INTEGER NOT NULL,
  PRIMARY KEY (job, site)
) WITHOUT ROWID;

-- How often a site is crawled, and when again. Set only after a crawl has had its first page.
CREATE TABLE site_plan (
  collection INTEGER NOT NULL,
  site       INTEGER NOT NULL REFERENCES site (id),
  period_us  INTEGER NOT NULL,  -- 0: whenever somebody asks
  next_us    INTEGER NOT NULL,
  orders     TEXT NOT NULL,     -- of the crawl, JSON
  PRIMARY KEY (collection, site)
) WITHOUT ROWID;
CREATE INDEX site_plan_due ON site_plan (next_us) WHERE period_us > 0;

-- State: 1 waiting for its fetch, 2 fetched, its file or links are not seen to, 3 in, 4 out (and why).
CREATE TABLE page (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  collection    INTEGER NOT NULL,
  site          INTEGER NOT NULL REFERENCES site (id),
  key           BLOB NOT NULL CHECK (length(key) = 16),  -- of its canonical address
  url           TEXT NOT NULL,
  job           INTEGER NOT NULL,  -- the crawl that wanted it last
  state         INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),
  why           TEXT,
  why_kind      TEXT,
  want          INTEGER NOT NULL CHECK (want BETWEEN 1 AND 3),  -- 1 index, 2 crawl
  source        TEXT NOT NULL,     -- seed, link, sitemap, feed, redirect, canonical
  depth         INTEGER NOT NULL,
  hops          INTEGER NOT NULL,  -- redirects on the way here
  referrer      INTEGER,
  fetches       INTEGER NOT NULL,  -- counts its fetches; an item knows which one it is for
  status        INTEGER,
  etag          TEXT,
  last_modified TEXT,
  digest        BLOB,              -- SHA-256 of what was last fetched
  type          TEXT,
  file          INTEGER,           -- the root that it became
  old_file      INTEGER,           -- the one before, which goes when that is there
  capture       INTEGER,           -- that has its bytes
  links         TEXT,              -- that need no step to find, JSON: a redirect's target
  fetched_us    INTEGER,
  next_us       INTEGER NOT NULL,  -- not due before
  found_us      INTEGER NOT NULL,
  CHECK (state <> 4 OR why IS NOT NULL),
  CHECK ((why IS NULL) = (why_kind IS NULL)),
  UNIQUE (collection, key)
);
CREATE INDEX page_fetched ON page (id) WHERE state = 2;
CREATE INDEX page_of_job ON page (job, state, id);
CREATE INDEX page_of_site ON page (collection, site, state, id);
CREATE INDEX page_file ON page (file) WHERE file IS NOT NULL;

-- A stored answer of the web.
CREATE TABLE capture (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  collection INTEGER NOT NULL,
  url        TEXT NOT NULL,
  surt       TEXT NOT NULL,     -- sorts like an index of captures
  at_us      INTEGER NOT NULL,
  status     INTEGER NOT NULL,
  type       TEXT NOT NULL,
  digest     TEXT NOT NULL,     -- "sha1:…" of the payload
  revisit    INTEGER NOT NULL,  -- the payload stands in an earlier capture
  warc       TEXT NOT NULL,     -- file, and the record in it
  warc_at    INTEGER NOT NULL,
  warc_bytes INTEGER NOT NULL,
  warc_end   INTEGER NOT NULL,  -- behind its request record
  page       INTEGER
);
CREATE INDEX capture_of_url ON capture (collection, surt, at_us);
CREATE UNIQUE INDEX capture_warc ON capture (warc, warc_at);
