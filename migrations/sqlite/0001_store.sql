-- 0001: what the store itself needs.

-- The largest time that a transaction has used. Time never goes below it, whatever the clock says.
CREATE TABLE store_clock (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  now_us INTEGER NOT NULL
);
INSERT INTO store_clock (one, now_us) VALUES (1, 0);
