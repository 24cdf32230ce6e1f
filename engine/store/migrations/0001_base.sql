-- A commit is one appended row of `version`; everything else that a search needs is derived from
-- these rows, kept in memory at once and folded into `term` and `posting_…` at quiet moments
-- (docs/adr: "A commit is one row"). Measured on the same machine: a row of 32 columns costs 3.5 to
-- 4.5 one-row commits, one of 7 columns 1.6, every further statement 0.6 to 1.2 ms. So a state is one
-- JSON column, with the view `state` for readers; and there are no foreign keys, indexes or
-- constraints to trip over inside a transaction: `engine.check` proves what they would have promised.

-- What the store knows about itself. Keys: schema (number of the last migration), inode (first number
-- not yet handed out), seq_floor, engram_floor, doc_floor (first numbers that no erased row ever had),
-- posting_table (which of posting_a and posting_b is in use), folded_doc (documents below it are in
-- that table), folded_seal (sums over that table, proved at open), model_fingerprint, model_dimension
-- (of every vector).
CREATE TABLE meta (
    key   VARCHAR NOT NULL,      -- one of the names above
    value VARCHAR NOT NULL       -- text; numbers in decimal
);

-- The catalogue, one row a kind. In open mode `mkdir` makes a row with the spec '{}'. The row named ''
-- holds groups and recipes.
CREATE TABLE kind (
    name    VARCHAR NOT NULL,    -- the kind as the host spells it
    ordinal INTEGER NOT NULL,    -- place in kinds.yaml, from 0
    spec    VARCHAR NOT NULL     -- the kind's part of kinds.yaml, as JSON
);

-- A kind's directory in one namespace (its mtime moves with its entries only).
CREATE TABLE directory (
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …]
    kind      VARCHAR NOT NULL,  -- the catalogue's spelling
    inode     BIGINT  NOT NULL,  -- fixed when the directory was first seen
    mode      INTEGER NOT NULL,  -- permission bits
    mtime_ns  BIGINT  NOT NULL   -- when an entry last came or went
);

-- The state of one engram after one commit. The row with the highest seq of an engram is its state
-- now; the rows before it are its history. Rows are appended and pruned, never updated.
CREATE TABLE version (
    seq       BIGINT  NOT NULL,  -- number of the commit, grows over the whole store
    engram    INTEGER NOT NULL,  -- dense number of the engram, never reused
    state     VARCHAR NOT NULL,  -- JSON object: every field of the view `state`, properties included
    documents BLOB    NOT NULL,  -- 20 bytes a part: int32 number of terms, 16 bytes BLAKE2b of the
                                 -- text to embed (zeroes: never embedded), little-endian
    parts     VARCHAR,           -- JSON [[id, heading path, start line, end line, first byte, end byte,
                                 -- origin, text of a host's part or null], …]; NULL: see parts_seq
    terms     VARCHAR,           -- analysed terms of the parts: a blank between terms, a line feed
                                 -- between parts; NULL together with parts
    source    BLOB               -- exactly what was written; NULL: see source_seq
);

-- Replaced versions that the history has decided to keep as versions of their own, so that pruning the
-- saves around them does not let them collapse with later ones.
CREATE TABLE settled (
    seq BIGINT NOT NULL          -- version.seq
);

-- The same rows with a column for each field, for people and for maintenance. A row whose state
-- cannot be read is not among them (CASE, because conditions may be tried in any order).
CREATE VIEW state AS SELECT
    seq,
    engram,
    state->>'id'                            AS id,          -- UUID, lower case
    state->>'event'                         AS event,       -- create | update | rename | delete | revive | attributes
    CAST(state->>'at_ns' AS BIGINT)         AS at_ns,       -- when it was committed
    state->>'written_by'                    AS written_by,  -- session or process; its saves within a minute collapse
    CAST(state->>'amends' AS BIGINT)        AS amends,      -- seq of an earlier commit of the same handle, or NULL
    state->>'namespace'                     AS namespace,   -- JSON [[name, value], …]
    state->>'kind'                          AS kind,        -- the catalogue's spelling
    state->>'slug'                          AS slug,        -- NFC
    state->>'name'                          AS name,        -- the file-name stem as created
    state->>'title'                         AS title,       -- as shown
    state->>'summary'                       AS summary,     -- '' when there is none
    state->'properties'                     AS properties,  -- JSON object, values as validated
    CAST(state->>'created_ns' AS BIGINT)    AS created_ns,  -- nanoseconds since the epoch, as all times
    CAST(state->>'updated_ns' AS BIGINT)    AS updated_ns,  -- when the content last changed
    CAST(state->>'deleted_ns' AS BIGINT)    AS deleted_ns,  -- NULL: live
    CAST(state->>'inode' AS BIGINT)         AS inode,       -- stays with the engram
    CAST(state->>'mode' AS INTEGER)         AS mode,        -- permission bits
    CAST(state->>'mtime_ns' AS BIGINT)      AS mtime_ns,    -- settable
    CAST(state->>'ctime_ns' AS BIGINT)      AS ctime_ns,    -- bytes, name, mode or times changed
    CAST(state->>'size' AS BIGINT)          AS size,        -- bytes as written
    CAST(state->>'shown_size' AS BIGINT)    AS shown_size,  -- … with the id line
    CAST(state->>'source_seq' AS BIGINT)    AS source_seq,  -- the row that holds the bytes of this state
    CAST(state->>'parts_seq' AS BIGINT)     AS parts_seq,   -- the row that holds parts and terms of this state
    state->>'sha256'                        AS sha256,      -- of the source, hexadecimal
    CAST(state->>'first_doc' AS BIGINT)     AS first_doc,   -- the parts are documents first_doc … first_doc + n - 1
    octet_length(documents) // 20           AS parts        -- their number n
FROM (
    SELECT seq, engram, documents, CASE WHEN json_valid(state) THEN state END AS state FROM version
) WHERE state IS NOT NULL;

-- The vocabulary of folded documents; append-only.
CREATE TABLE term (
    id   INTEGER NOT NULL,       -- dense, never reused
    text VARCHAR NOT NULL        -- the analysed word
);

-- The folded index, sorted by term; which of the two is in use says meta 'posting_table', so that a fold
-- fills the other one at leisure and one small update switches. Documents from meta 'folded_doc' on
-- are the tail: they are read from `version.terms` into memory when the store is opened.
CREATE TABLE posting_a (
    term INTEGER NOT NULL,       -- term.id
    doc  BIGINT  NOT NULL,       -- number of the part's document
    tf   INTEGER NOT NULL        -- how often the term stands in it
);
CREATE TABLE posting_b (
    term INTEGER NOT NULL,       -- as in posting_a
    doc  BIGINT  NOT NULL,       -- as in posting_a
    tf   INTEGER NOT NULL        -- as in posting_a
);

-- One vector for one embedded text, shared by every part with that text; all are of the model named
-- in meta.
CREATE TABLE vector (
    hash      BLOB NOT NULL,     -- 16 bytes: BLAKE2b of the embedded text
    embedding BLOB NOT NULL      -- float32[dimension], little-endian, of length 1
);

-- Edges of engrams. A target follows its engram when that moves.
CREATE TABLE edge (
    source      INTEGER NOT NULL,  -- engram number
    relation    VARCHAR NOT NULL,  -- the field's relation, mentions, derived_from, … or as linked
    target      INTEGER NOT NULL,  -- engram number; -1 while the link dangles
    written     VARCHAR NOT NULL,  -- the target as written
    heading     VARCHAR NOT NULL,  -- what stood behind '#', or ''
    origin      VARCHAR NOT NULL,  -- body | field | link
    note        VARCHAR NOT NULL,  -- why, in words
    status      VARCHAR NOT NULL,  -- free text of the one who linked
    role        VARCHAR NOT NULL,  -- free text of the one who linked
    confidence  DOUBLE,            -- in (0, 1]; NULL: unset, counts as 1
    evidence_id VARCHAR NOT NULL,  -- id of what shows it, or ''
    created_ns  BIGINT  NOT NULL,  -- kept when the same edge is linked again
    updated_ns  BIGINT  NOT NULL   -- when its metadata last changed
);

-- Places that an engram had: aliases for links (all), and what a path lost (unlink, overlay) for the
-- grace time. A row goes when a new engram takes the place.
CREATE TABLE former_path (
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …]
    kind      VARCHAR NOT NULL,  -- of the place
    slug      VARCHAR NOT NULL,  -- of the place, NFC
    engram    INTEGER NOT NULL,  -- the engram that was there
    at_ns     BIGINT  NOT NULL,  -- when it left
    why       VARCHAR NOT NULL   -- rename | unlink | overlay
);

-- Copies made of an engram by bytes that carried its id, while a succession is still possible.
CREATE TABLE copy (
    original   INTEGER NOT NULL, -- engram number of the one whose id the bytes carried
    copy       INTEGER NOT NULL, -- engram number of the new one
    written_by VARCHAR NOT NULL, -- the session or process that wrote the copy
    at_ns      BIGINT  NOT NULL  -- when
);

-- Ids that answer with another engram since a succession was settled.
CREATE TABLE absorbed (
    id     VARCHAR NOT NULL,     -- UUID that no engram bears any more
    engram INTEGER NOT NULL      -- the engram that answers to it
);

-- Durable empty entries: files that `touch` made in a kind that refuses the empty document.
CREATE TABLE blank (
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …]
    kind      VARCHAR NOT NULL,  -- the catalogue's spelling
    slug      VARCHAR NOT NULL,  -- NFC
    name      VARCHAR NOT NULL,  -- the file-name stem as created
    inode     BIGINT  NOT NULL,  -- passes on to the engram that it becomes
    mode      INTEGER NOT NULL,  -- permission bits
    mtime_ns  BIGINT  NOT NULL,  -- settable
    ctime_ns  BIGINT  NOT NULL   -- when it was made or its attributes changed
);

-- Lines of `.errors`.
CREATE TABLE notice (
    no        BIGINT  NOT NULL,  -- grows
    at_ns     BIGINT  NOT NULL,  -- when
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …]
    kind      VARCHAR NOT NULL,  -- '' when it concerns no engram path
    slug      VARCHAR NOT NULL,  -- NFC, or ''
    path      VARCHAR NOT NULL,  -- as shown to the user
    event     VARCHAR NOT NULL,  -- refused | conflict | late-write | request | embed | kinds
    problems  VARCHAR NOT NULL   -- JSON [[message, line, key, hint], …]
);

-- Refused bytes, newest `at_ns` first.
CREATE TABLE rejected (
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …]
    kind      VARCHAR NOT NULL,  -- of the path that they were written to
    slug      VARCHAR NOT NULL,  -- of that path, NFC
    name      VARCHAR NOT NULL,  -- its file-name stem as written
    at_ns     BIGINT  NOT NULL,  -- when they were refused (last, for the same bytes again)
    sha256    BLOB    NOT NULL,  -- of the bytes: ten distinct ones a path are kept
    source    BLOB    NOT NULL   -- the bytes
);

-- What readers did: questions without a hit now, demand later.
CREATE TABLE event (
    at_ns     BIGINT  NOT NULL,  -- when
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …] of the reader
    event     VARCHAR NOT NULL,  -- miss
    detail    VARCHAR NOT NULL   -- the question
);
