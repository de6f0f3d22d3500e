-- 0011: the web. Sites and their pages, crawls (jobs of kind crawl), and captures: what was fetched, and
-- where it lies in which WARC file. docs/crawl.md tells how they move. Times are microseconds since 1970.

-- Of a web page's text: how many bytes of it are the page's own, and its headings (a JSON list).
ALTER TABLE file_text ADD COLUMN main_bytes BIGINT;
ALTER TABLE file_text ADD COLUMN headings TEXT COLLATE "C";

-- What a page links to, as its step found it: JSON, not yet resolved.
CREATE TABLE file_links (
  file  BIGINT PRIMARY KEY,
  links TEXT COLLATE "C" NOT NULL
);

-- A host, with its port where that is not the scheme's. Its partition owns its pages.
CREATE TABLE site (
  id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name          TEXT COLLATE "C" NOT NULL UNIQUE,
  partition     BIGINT NOT NULL UNIQUE,
  not_before_us BIGINT NOT NULL DEFAULT 0,  -- it asked to be left alone so long
  robots        TEXT COLLATE "C",                        -- robots.txt as it was last had
  robots_status BIGINT,                     -- 0: it could not be had
  robots_us     BIGINT
);

-- What a crawl was asked to do.
CREATE TABLE crawl (
  job        BIGINT PRIMARY KEY,
  collection BIGINT NOT NULL,
  orders     TEXT COLLATE "C" NOT NULL,     -- JSON
  whole      BOOLEAN NOT NULL,  -- pages of its sites that it does not meet have gone
  seeded     BOOLEAN NOT NULL,  -- all its first pages were admitted
  ended      BOOLEAN NOT NULL
);
CREATE INDEX crawl_open ON crawl (job) WHERE NOT ended;

-- The part of a crawl that lies on one site.
CREATE TABLE crawl_site (
  job       BIGINT NOT NULL,
  site      BIGINT NOT NULL REFERENCES site (id),
  admitted  BIGINT NOT NULL,
  open      BIGINT NOT NULL CHECK (open >= 0),  -- waiting, or processed with links to follow
  inside    BIGINT NOT NULL,                    -- of those that ended: in the collection
  unchanged BIGINT NOT NULL,                    -- of those: the same as before
  failed    BIGINT NOT NULL,                    -- of those outside: could not be had
  bytes     BIGINT NOT NULL,
  PRIMARY KEY (job, site)
);

-- How often a site is crawled, and when again. Set only after a crawl has had its first page.
CREATE TABLE site_plan (
  collection BIGINT NOT NULL,
  site       BIGINT NOT NULL REFERENCES site (id),
  period_us  BIGINT NOT NULL,  -- 0: whenever somebody asks
  next_us    BIGINT NOT NULL,
  orders     TEXT COLLATE "C" NOT NULL,     -- of the crawl, JSON
  PRIMARY KEY (collection, site)
);
CREATE INDEX site_plan_due ON site_plan (next_us) WHERE period_us > 0;

-- State: 1 waiting for its fetch, 2 fetched, its file or links are not seen to, 3 in, 4 out (and why).
CREATE TABLE page (
  id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  collection    BIGINT NOT NULL,
  site          BIGINT NOT NULL REFERENCES site (id),
  key           BYTEA NOT NULL CHECK (octet_length(key) = 16),  -- of its canonical address
  url           TEXT COLLATE "C" NOT NULL,
  job           BIGINT NOT NULL,  -- the crawl that wanted it last
  state         BIGINT NOT NULL CHECK (state BETWEEN 1 AND 4),
  why           TEXT COLLATE "C",
  why_kind      TEXT COLLATE "C",
  want          BIGINT NOT NULL CHECK (want BETWEEN 1 AND 3),  -- 1 index, 2 crawl
  source        TEXT COLLATE "C" NOT NULL,     -- seed, link, sitemap, feed, redirect, canonical
  depth         BIGINT NOT NULL,
  hops          BIGINT NOT NULL,  -- redirects on the way here
  referrer      BIGINT,
  fetches       BIGINT NOT NULL,  -- counts its fetches; an item knows which one it is for
  status        BIGINT,
  etag          TEXT COLLATE "C",
  last_modified TEXT COLLATE "C",
  digest        BYTEA,              -- SHA-256 of what was last fetched
  type          TEXT COLLATE "C",
  file          BIGINT,           -- the root that it became
  old_file      BIGINT,           -- the one before, which goes when that is there
  capture       BIGINT,           -- that has its bytes
  links         TEXT COLLATE "C",              -- that need no step to find, JSON: a redirect's target
  fetched_us    BIGINT,
  next_us       BIGINT NOT NULL,  -- not due before
  found_us      BIGINT NOT NULL,
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
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  collection BIGINT NOT NULL,
  url        TEXT COLLATE "C" NOT NULL,
  surt       TEXT COLLATE "C" NOT NULL,     -- sorts like an index of captures
  at_us      BIGINT NOT NULL,
  status     BIGINT NOT NULL,
  type       TEXT COLLATE "C" NOT NULL,
  digest     TEXT COLLATE "C" NOT NULL,     -- "sha1:…" of the payload
  revisit    BOOLEAN NOT NULL,  -- the payload stands in an earlier capture
  warc       TEXT COLLATE "C" NOT NULL,     -- file, and the record in it
  warc_at    BIGINT NOT NULL,
  warc_bytes BIGINT NOT NULL,
  warc_end   BIGINT NOT NULL,  -- behind its request record
  page       BIGINT
);
CREATE INDEX capture_of_url ON capture (collection, surt, at_us);
CREATE UNIQUE INDEX capture_warc ON capture (warc, warc_at);
