-- 0014: renderings: how a document without a PDF of its own, a web page, looks on paper. Made when somebody
-- asks. A new, empty table. Servers of the version before end first: their sweep of blobs does not know it.

CREATE TABLE rendering (
  file           BIGINT PRIMARY KEY,           -- the document
  pdf            BIGINT REFERENCES blob (id),  -- null: it could not be made
  thumbnail      BIGINT REFERENCES blob (id),
  thumbnail_type TEXT COLLATE "C",
  error          TEXT COLLATE "C",
  error_kind     TEXT COLLATE "C",
  made_us        BIGINT NOT NULL,
  CHECK ((pdf IS NULL) = (error IS NOT NULL)),
  CHECK ((error IS NULL) = (error_kind IS NULL)),
  CHECK ((thumbnail IS NULL) = (thumbnail_type IS NULL)),
  CHECK (thumbnail IS NULL OR pdf IS NOT NULL)
);
-- For the sweep of blobs: whether one is still used.
CREATE INDEX rendering_pdf ON rendering (pdf) WHERE pdf IS NOT NULL;
CREATE INDEX rendering_thumbnail ON rendering (thumbnail) WHERE thumbnail IS NOT NULL;
