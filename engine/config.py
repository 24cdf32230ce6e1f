"""Every tunable number of the engine, named, with the reason for its default."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import Invalid, Problem, shown
from engine.instants import is_zone
from engine.model import SOURCE_ROLES

SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS


@dataclass(frozen=True, slots=True)
class Config:
    """Numbers that a host may change; times in the unit that the name ends with.

    Invalid for a time zone that is none and for roles that are none: they would fail every recall,
    or let in whom they were to leave out.
    """

    # Full text (DuckDB's own defaults, so that scores equal a fresh index)
    bm25_k1: float = 1.2
    bm25_b: float = 0.75
    head_weight: float = 0.7  # of part 0's lexical score: BM25 likes it for being short (adr/0013)

    # Fusion (docs/adr/0008)
    lexical_weight: float = 0.45
    vector_weight: float = 0.55
    # Of find_exact, beside lexical_weight: how many of the words stand in a part, and how exactly,
    # comes before how often (docs/search.md)
    trigram_weight: float = 1.05
    rrf_k: int = 60
    neighbour_share: float = 0.0  # of its score that a part lends those beside it: off (adr/0013)
    graph_weight: float = 0.2  # of what a hit's edges lead to; more buries good hits (adr/0018)
    temporal_weight: float = 0.2  # of standing in the time that the question names (adr/0021)
    exact_title_bonus: float = 0.15  # a title of two or more words that the question contains

    # Recency: floor + (1 - floor) * exp(-decay * days since `updated`)
    recency_decay: float = 0.02
    recency_floor: float = 0.85
    favourite_factor: float = 1.0  # first among equals only; 1.15 buries answers (adr/0021)
    utility_share: float = 0.10  # what an engram gains by being used (engine.demand)

    # Paging and evidence
    evidence_parts: int = 3
    default_limit: int = 10
    max_limit: int = 50  # at the surfaces
    max_limit_api: int = 100  # of a host's call; recall@100 is what benchmarks ask for
    result_set_hits: int = 1_000  # who reads so far searches again: 160 KB a set …
    result_sets: int = 256  # … and 40 MB all of them
    result_set_seconds: float = 900.0  # a reader comes back within a quarter of an hour
    rerank_candidates: int = 100  # all that one page can show; about a second's work
    snippet_characters: int = 240

    # Recall
    recall_budget: int = 4096
    recall_budget_max: int = 32_768
    recall_budget_min: int = 64
    recall_budget_min_json: int = 512
    recall_max_characters: int = 200_000
    recall_limit: int = 200
    recall_k: int = 24
    recall_seeds: int = 8  # hits that the graph channel starts from
    recall_source_tokens: int = 4096  # of what items are derived from, on top of the budget
    recall_chunk_tokens: int = 500  # of raw passages, on top of the budget
    # Whose words a recall gives where it names nobody; ("user",) leaves out what models said.
    recall_source_roles: tuple[str, ...] = SOURCE_ROLES
    whole_engram_tokens: int = 400  # detail=auto: an engram up to this is given whole
    passages_tokens: int = 600  # else its best passages up to this
    passages: int = 3
    question_bytes: int = 8192
    written_question_bytes: int = 65_536  # … in the write-then-read form, which has no name to fit
    # A graph that cannot be walked: an error, instead of an answer without it that says so
    fail_on_graph_error: bool = False
    time_zone: str = "UTC"  # whose days "yesterday" means; `now` of a request can say another
    recall_seconds: float = 1.0  # a lookup answers degraded rather than hold its directory up
    # Cosine that a hit needs which shares no word with the question (docs/adr/0008). With MiniLM
    # gibberish reaches 0.11 to 0.27 by chance, paraphrases begin at 0.28. 0: no floor.
    vector_floor: float = 0.25
    fresh_wait_seconds: float = 5.0

    # Briefing and match (engine.briefing, engine.match)
    briefing_budget: int = 1_500
    briefing_cap: float = 2.0  # budgets that constraints may take
    briefing_constraints: int = 4  # in full; the others by title
    briefing_conventions: int = 4
    briefing_findings: int = 3
    briefing_tasks: int = 3
    briefing_newest: int = 8  # of a store none of whose kinds is marked
    briefing_index: int = 200  # titles at most
    briefing_half_life_days: float = 14.0  # of the share that recency has in the order …
    briefing_recency: float = 0.6
    briefing_utility: float = 0.4  # … beside use, once so many events are counted:
    briefing_counted: int = 50
    match_limit: int = 3
    match_words: int = 2  # that the prompt and an engram's head share, at least
    match_score: float = 1.5  # below it they share too little
    match_utility: float = 0.15  # what an engram gains in order by being used
    match_candidates: int = 24  # engrams by the index whose heads are read at a time …
    match_read: int = 192  # … and in all, where too few of those before match

    # Parts and vectors
    part_tokens: int = 256  # what MiniLM reads
    embed_batch: int = 16  # texts of one commit and between two looks at other work (0.3 s)
    embed_retry_seconds: float = 5.0  # after a failure; doubled each time …
    embed_retry_max_seconds: float = 300.0  # … up to this
    reader_patience_seconds: float = 1.0  # how long background work lets readers go first
    model_idle_seconds: float = 60.0

    # Vectors above a number, where HNSW's candidates may stand for all (docs/adr/0014)
    hnsw_vectors: int = 150_000  # up to here exact search
    vector_memory: int = 0  # bytes that HNSW may take beside the vectors; 0: a quarter of the RAM
    hnsw_candidates: int = 256  # vectors it is asked for
    hnsw_effort: int = 512  # nodes it keeps in view (ef_search); 256 gave 0.968 at 200,000
    # Best documents of the lexical channel whose engrams count as well. With 512 the first ten
    # shared 0.86 with exact search at 200,000, with 1,024 0.99, with 2,048 all (docs/adr/0014).
    hnsw_lexical: int = 2_048
    hnsw_newer: int = 5_000  # vectors it does not hold that are compared beside it before it grows

    # Digests (docs/recall.md, "Digests")
    digests: bool = True  # False: made only when they are asked for
    digest_debounce_seconds: float = 1.0  # without a commit before they are made …
    digest_wait_seconds: float = 10.0  # … and the longest wait for that
    digest_tokens: int = 500  # of a digest
    digest_group_tokens: int = 250  # of a group, where a scope is too large for one summary
    digest_characters: int = 2_000  # of an engram that the summariser is given: the most central
    digest_community: int = 3  # members of a community that has a digest
    # igraph keeps every other thread waiting while it looks for communities: 0.2 s with 20,000
    # edges, 0.4 s with 100,000 between 10,000 engrams, 2.7 s with 200,000 between 100,000
    digest_edges: int = 50_000  # up to here a namespace has communities …
    digest_communities_seconds: float = 60.0  # … looked for again at most so often
    digest_text_ns: int = 7 * DAY_NS  # a text that its digest has left is kept, in case it returns
    digest_silence_seconds: float = 120.0  # of guard and summariser; then they are said to hang

    # Store
    store_threads: int = 2  # DuckDB's own; one query rarely gains from more at these sizes
    store_memory_small: int = 256 * 1024 * 1024  # DuckDB's limit up to `store_parts_small` parts
    store_memory_medium: int = 512 * 1024 * 1024  # … up to `store_parts_medium`
    store_memory_large: int = 1536 * 1024 * 1024  # … above
    store_parts_small: int = 20_000
    store_parts_medium: int = 500_000
    # A checkpoint keeps writers waiting, 4 ms a megabyte of log (100 ms would be too long)
    checkpoint_bytes: int = 4 * 1024 * 1024  # of log before a checkpoint at a quiet moment
    checkpoint_bytes_max: int = 12 * 1024 * 1024  # … before one right after a commit
    load_batch: int = 5_000  # vectors read at a time: 20,000 took 100 MB more and no less time
    fold_tail_parts: int = 2_000  # unfolded parts before a fold at a quiet moment
    fold_tail_share: float = 0.1  # … or this share of the base, whichever is more
    # Bytes of folded postings, 8 each, that are held in memory when all fit: about 600,000 parts. A
    # query for those of a question costs 3 ms at 100,000 parts and 8 of a recall's 98 at 300,000.
    postings_memory: int = 256 * 1024 * 1024
    fold_edges: int = 1_000  # engrams whose edges changed before igraph's graph is made anew
    analyse_parts: int = 20_000  # a store up to this is indexed anew when the analysis changed
    quiet_seconds: float = 2.0  # no commit for so long is a quiet moment
    cache_bytes: int = 64 * 1024 * 1024

    # Identity and history
    grace_ns: int = 300 * SECOND_NS  # a path remembers the engram that it lost
    collapse_ns: int = 60 * SECOND_NS  # saves of one session within it are one version
    history_versions: int = 50
    history_ns: int = 90 * DAY_NS
    history_bytes: int = 256 * 1024 * 1024

    # Demand (engine.demand; the rule and most numbers are Seamless's)
    demand: bool = True  # False: nothing is recorded of readers, their questions included
    read_weight: float = 3.0  # somebody went and opened it
    recall_weight: float = 1.5  # it was packed for a question
    prompt_weight: float = 1.0  # it came with a prompt, unasked; to be listed weighs nothing
    demand_half: float = 4.0  # weight at which utility is a half: a read and a bit
    demand_half_life_days: float = 14.0  # what a team works on changes in weeks
    demand_ns: int = 180 * DAY_NS  # events are kept: after 13 half-lives they say nothing
    # A process that opens more engrams within so long goes through all there is (grep, git, rsync).
    bulk_engrams: int = 20
    bulk_seconds: float = 60.0
    demand_flush_seconds: float = 30.0  # what a kill may lose
    demand_held: int = 100_000  # events in memory while they wait, or cannot be stored: 20 MB

    # Refusals
    notices: int = 1_000
    notice_ns: int = 7 * DAY_NS
    rejected_versions: int = 10

    # Limits
    document_bytes: int = 32 * 1024 * 1024
    # A host's parts of one engram, all together. Each save of its file stores them again with its
    # version: one megabyte makes it 28 times as long (docs/adr/0011).
    host_parts: int = 10_000
    host_parts_bytes: int = 8 * 1024 * 1024
    host_heading_bytes: int = 1024  # of a heading path: it is part of every piece's terms
    front_matter_bytes: int = 1024 * 1024
    front_matter_depth: int = 64
    front_matter_aliases: int = 100  # values that aliases stand for, all together
    front_matter_nodes: int = 50_000  # a third of a second of parsing

    def __post_init__(self) -> None:
        problems = []
        if not is_zone(self.time_zone):
            said = f"`{shown(self.time_zone)}` is no time zone"
            hint = "it is a name of the IANA database, such as Europe/Berlin"
            problems.append(Problem(said, key="time_zone", hint=hint))
        unknown = [role for role in self.recall_source_roles if role not in SOURCE_ROLES]
        if unknown:
            said = f"`{shown(', '.join(unknown))}` is no source role"
            hint = f"it is some of {', '.join(SOURCE_ROLES)}"
            problems.append(Problem(said, key="recall_source_roles", hint=hint))
        if problems:
            raise Invalid(*problems)
