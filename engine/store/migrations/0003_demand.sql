-- What readers did with engrams, one row for each engram, session, class and day (UTC) of one reader's
-- namespace. Rows are appended some at a time, never updated, and go after `demand_ns`, or with their
-- engram. Questions without a hit stay in `event`.
CREATE TABLE demand (
    at_ns     BIGINT  NOT NULL,  -- when it was done first that day, nanoseconds since the epoch
    engram    INTEGER NOT NULL,  -- engram number
    event     VARCHAR NOT NULL,  -- the class: read | recall | prompt | shown
    session   VARCHAR NOT NULL,  -- whose it was, as the surface names it; '': nobody's in particular
    namespace VARCHAR NOT NULL   -- JSON [[name, value], …] of the reader
);
