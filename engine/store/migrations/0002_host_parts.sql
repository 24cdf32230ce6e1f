-- Parts that a host gives an engram stand in `version.parts` with their text (origin 'host'); a state says
-- with their SHA-256 that there are some, and what they were. States of before have no such field,
-- and no such parts. A program that does not know the field would lose the parts with the next save,
-- so it is one of the schema's.
CREATE OR REPLACE VIEW state AS SELECT
    seq,
    engram,
    state->>'id'                            AS id,          -- UUID, lower case
    state->>'event'                         AS event,       -- create | update | rename | delete | revive | attributes | parts
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
    CAST(state->>'updated_ns' AS BIGINT)    AS updated_ns,  -- when the content, or a host's part, last changed
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
    octet_length(documents) // 20           AS parts,       -- their number n
    coalesce(state->>'host_sha256', '')     AS host_sha256, -- of the host's parts, hexadecimal; '' when there are none
    CAST(state->>'written_ns' AS BIGINT)    AS written_ns   -- when the bytes last changed; 0 or NULL: with updated_ns
FROM (
    SELECT seq, engram, documents, CASE WHEN json_valid(state) THEN state END AS state FROM version
) WHERE state IS NOT NULL;
