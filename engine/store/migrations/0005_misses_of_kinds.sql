-- A question without a hit is one among the engrams that its reader saw: who sees fewer kinds is not
-- told of it (docs/adr: "What a mount shows is its scope").
ALTER TABLE event ADD COLUMN kinds VARCHAR DEFAULT '';  -- JSON [kind, …] that the reader saw; '': all
