-- Digests: what the engrams of a scope say together. Written by the digest worker only, outside every
-- commit. A digest is fresh while `engrams` and `seq` are those of its scope's live engrams, so the
-- commit that changes, deletes, moves or erases one makes all digests above it stale by itself, and
-- no later than it is seen (docs/adr: "A digest is fresh or it is not").
CREATE TABLE digest (
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …]: the one that all its engrams have
    name      VARCHAR NOT NULL,  -- kind-…, community-… or tenant; once a namespace
    title     VARCHAR NOT NULL,  -- as shown
    hash      VARCHAR NOT NULL,  -- Merkle hash of all that the text was made of; its row of digest_text
    maker     VARCHAR NOT NULL,  -- fingerprint of the summariser that made the text
    members   BLOB    NOT NULL,  -- int64 little-endian, ascending: numbers of the engrams it covers
    engrams   BIGINT  NOT NULL,  -- live engrams of the scope when it was made, superseded ones too
    seq       BIGINT  NOT NULL,  -- the latest commit among those engrams (version.seq)
    edges     VARCHAR NOT NULL,  -- of tenant: SHA-256 of the edges that the communities were found by
    built_ns  BIGINT  NOT NULL   -- when the text was last made or found to stand
);

-- Texts by what they were made of: of digests, of groups of engrams where a scope is too large for one,
-- and for some days of both as they were before: what comes back is not summarised again.
CREATE TABLE digest_text (
    namespace VARCHAR NOT NULL,  -- as in digest
    name      VARCHAR NOT NULL,  -- of the digest that it is or belongs to
    hash      VARCHAR NOT NULL,  -- Merkle hash, hexadecimal SHA-256
    text      VARCHAR NOT NULL,  -- as the summariser gave it
    sha256    VARCHAR NOT NULL,  -- of the text, hexadecimal
    left_ns   BIGINT             -- since when its digest does not use it; NULL: it does
);
