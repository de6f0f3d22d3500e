-- 0008: where the pages of a text end, so that a hit can name its page. A JSON list of bytes of the text
-- up to the end of each page; NULL where nobody said, and for all texts from before.

ALTER TABLE file_text ADD COLUMN page_ends TEXT;
