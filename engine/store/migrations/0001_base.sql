-- A commit is one appended row of `version`; everything else that a search needs is derived from
-- these rows, kept in memory at once and folded into `part_text`, `term` and `posting` at quiet moments
-- (docs/adr: "A commit is one row"). There are no foreign keys, no indexes and no constraints to trip
-- over inside a transaction (measured: each statement more costs 0.6 to 1.2 ms); `engine.check` proves
-- what constraints would have promised.

-- What the store knows about itself: schema facts, counters, the model's fingerprint and dimension.
CREATE TABLE meta (
    key   VARCHAR NOT NULL,
    value VARCHAR NOT NULL
);

-- The catalogue, one row a kind; `spec` is the kind's part of kinds.yaml as JSON.
-- In open mode `mkdir` makes a row with the spec '{}'. The row named '' holds groups and recipes.
CREATE TABLE kind (
    name    VARCHAR NOT NULL,
    ordinal INTEGER NOT NULL,
    spec    VARCHAR NOT NULL
);

-- Inode, times and mode of a kind's directory in one namespace (its mtime moves with its entries only).
CREATE TABLE directory (
    namespace VARCHAR NOT NULL,  -- JSON [[name, value], …]
    kind      VARCHAR NOT NULL,
    inode     BIGINT  NOT NULL,
    mode      INTEGER NOT NULL,
    mtime_ns  BIGINT  NOT NULL
);

-- The state of one engram after one commit. The row with the highest seq of an engram is its state
-- now; the rows before it are its history.
CREATE TABLE version (
    seq         BIGINT  NOT NULL,  -- number of the commit, grows over the whole store
    engram      INTEGER NOT NULL,  -- dense number of the engram, never reused
    id          VARCHAR NOT NULL,  -- UUID, lower case
    event       VARCHAR NOT NULL,  -- create | update | rename | delete | revive | attributes
    at_ns       BIGINT  NOT NULL,  -- when it was committed
    written_by  VARCHAR NOT NULL,  -- session or process; saves of one within a minute collapse
    namespace   VARCHAR NOT NULL,  -- JSON [[name, value], …]
    kind        VARCHAR NOT NULL,
    slug        VARCHAR NOT NULL,  -- NFC
    name        VARCHAR NOT NULL,  -- the file-name stem as created
    title       VARCHAR NOT NULL,
    summary     VARCHAR NOT NULL,
    properties  VARCHAR NOT NULL,  -- JSON object, values as validated
    created_ns  BIGINT  NOT NULL,
    updated_ns  BIGINT  NOT NULL,
    deleted_ns  BIGINT,            -- NULL: live
    inode       BIGINT  NOT NULL,
    mode        INTEGER NOT NULL,
    mtime_ns    BIGINT  NOT NULL,
    ctime_ns    BIGINT  NOT NULL,
    size        BIGINT  NOT NULL,  -- of the bytes as written
    shown_size  BIGINT  NOT NULL,  -- … with the id line
    source_seq  BIGINT  NOT NULL,  -- the row that holds source, parts and terms of this state
    source      BLOB,              -- exactly what was written; NULL when source_seq is another row
    sha256      BLOB    NOT NULL,  -- of the source
    first_doc   BIGINT  NOT NULL,  -- the parts are documents first_doc … first_doc + n - 1
    lengths     BLOB    NOT NULL,  -- int32[n]: terms in each part
    hashes      BLOB    NOT NULL,  -- 16 bytes a part: BLAKE2b of the text to embed; zeroes = never embedded
    parts       VARCHAR NOT NULL,  -- JSON [[id, position, heading_path, start_line, end_line, byte_start, byte_end, origin, text of host parts], …]
    terms       VARCHAR            -- terms of the parts: blanks between terms, line feeds between parts; NULL like source
);

-- The terms of folded documents, in the shape that the FTS extension indexes.
CREATE TABLE part_text (
    doc   BIGINT  NOT NULL,
    terms VARCHAR NOT NULL
);

-- The vocabulary of folded documents; append-only.
CREATE TABLE term (
    id   INTEGER NOT NULL,
    text VARCHAR NOT NULL
);

-- The folded index, sorted by term. Documents above meta 'folded_doc' are the tail: they are read from
-- `version.terms` into memory when the store is opened.
CREATE TABLE posting (
    term INTEGER NOT NULL,
    doc  BIGINT  NOT NULL,
    tf   INTEGER NOT NULL
);

-- One vector for one embedded text, shared by every part with that text; all are of the model named
-- in meta ('model_fingerprint', 'model_dimension').
CREATE TABLE vector (
    hash      BLOB NOT NULL,     -- 16 bytes: BLAKE2b of the embedded text
    embedding BLOB NOT NULL      -- float32[dimension]
);

-- Edges of engrams. `target` is -1 while a link dangles; it follows the engram when that moves.
CREATE TABLE edge (
    source      INTEGER NOT NULL,  -- engram numbers
    relation    VARCHAR NOT NULL,
    target      INTEGER NOT NULL,
    written     VARCHAR NOT NULL,  -- the target as written
    heading     VARCHAR NOT NULL,
    origin      VARCHAR NOT NULL,  -- body | field | link
    note        VARCHAR NOT NULL,
    status      VARCHAR NOT NULL,
    role        VARCHAR NOT NULL,
    confidence  DOUBLE,
    evidence_id VARCHAR NOT NULL,
    created_ns  BIGINT  NOT NULL,
    updated_ns  BIGINT  NOT NULL
);

-- Places that an engram had: aliases for links (all), and what a path lost (unlink, overlay) for the
-- grace time. A row goes when a new engram takes the place.
CREATE TABLE former_path (
    namespace VARCHAR NOT NULL,
    kind      VARCHAR NOT NULL,
    slug      VARCHAR NOT NULL,
    engram    INTEGER NOT NULL,
    at_ns     BIGINT  NOT NULL,
    why       VARCHAR NOT NULL     -- rename | unlink | overlay
);

-- Copies made of an engram by bytes that carried its id, while a succession is still possible.
CREATE TABLE copy (
    original   INTEGER NOT NULL,
    copy       INTEGER NOT NULL,
    written_by VARCHAR NOT NULL,
    at_ns      BIGINT  NOT NULL
);

-- Durable empty entries: files that `touch` made in a kind that refuses the empty document.
CREATE TABLE blank (
    namespace VARCHAR NOT NULL,
    kind      VARCHAR NOT NULL,
    slug      VARCHAR NOT NULL,
    name      VARCHAR NOT NULL,
    inode     BIGINT  NOT NULL,
    mode      INTEGER NOT NULL,
    mtime_ns  BIGINT  NOT NULL,
    ctime_ns  BIGINT  NOT NULL
);

-- Lines of `.errors`.
CREATE TABLE notice (
    no        BIGINT  NOT NULL,
    at_ns     BIGINT  NOT NULL,
    namespace VARCHAR NOT NULL,
    kind      VARCHAR NOT NULL,
    slug      VARCHAR NOT NULL,
    path      VARCHAR NOT NULL,
    event     VARCHAR NOT NULL,
    problems  VARCHAR NOT NULL     -- JSON [[message, line, key, hint], …]
);

-- Refused bytes, newest `at_ns` first.
CREATE TABLE rejected (
    namespace VARCHAR NOT NULL,
    kind      VARCHAR NOT NULL,
    slug      VARCHAR NOT NULL,
    name      VARCHAR NOT NULL,
    at_ns     BIGINT  NOT NULL,
    sha256    BLOB    NOT NULL,
    source    BLOB    NOT NULL
);

-- What readers did: questions without a hit now, demand later.
CREATE TABLE event (
    at_ns     BIGINT  NOT NULL,
    namespace VARCHAR NOT NULL,
    event     VARCHAR NOT NULL,    -- miss
    detail    VARCHAR NOT NULL
);
