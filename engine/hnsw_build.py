"""Who builds the approximate index of the vectors: a thread that is there only while it has work.

The background starts it at a quiet moment, when there are more vectors than exact search is best
for, or many that the index does not hold yet. It runs at a low priority, so that readers, writers
and embedding hardly notice it, and takes no lock of the store. Until it is done, and where it
fails, vectors are compared exactly.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.config import Config
from engine.errors import EngineError
from engine.index import Index
from engine.matrix import Numbers, Vectors
from engine.model import VectorIndex
from engine.store.hnsw import Hnsw, bytes_a_vector

log = logging.getLogger(__name__)

NICE = 5  # of the thread: where readers and embedding (0) want all cores, it gets a quarter of one
_BOUND = 1_000  # vectors handed to DuckDB at a time: 1.5 MB, 0.1 s
_STEP = 50  # … and added to the index at a time: what a reader or `stop` may wait for, 0.1 s
_LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")  # what a container may take; "max": all there is


class Ready:
    """The index as one moment's readers have it: what it has grown since then is none of theirs."""

    def __init__(self, hnsw: Hnsw, failed: Callable[[EngineError], None]) -> None:
        self.hnsw = hnsw
        self.rows = hnsw.rows
        self._failed = failed

    def nearest(self, query: Vectors, most: int) -> Numbers | None:
        """The rows of candidates; None when it failed, which is reported."""
        try:
            rows = self.hnsw.nearest(query, most)
            return rows[rows < self.rows]
        except EngineError as error:
            self._failed(error)
            return None


class HnswBuild:
    """The build of one engine's index: `due` and `begin` for the background, `stop` once."""

    def __init__(self, index: Index, config: Config) -> None:
        self._index = index
        self._config = config
        self._thread: threading.Thread | None = None
        self._growing = False  # until what the thread leaves behind is published
        self._stopping = False
        self._held = 0  # vectors in the index that is being built
        self._not_before = 0.0  # after a failure
        self.problem = ""  # why the last build failed, while that stands

    # -- what the engine asks -----------------------------------------------------------
    def due(self) -> bool:
        """There is something to build that fits, and nobody builds it yet."""
        if self._alive() or self._stopping or time.monotonic() < self._not_before:
            return False
        seen = self._index.snapshot()
        count, near = len(seen.vectors), seen.near
        if count <= self._config.hnsw_vectors or not self.fits(count, self._index.dimension):
            return False
        return near is None or count - near.rows > self._config.hnsw_newer

    def fits(self, count: int, dimension: int) -> bool:
        """So many vectors fit the memory that they may take."""
        return count * bytes_a_vector(dimension) <= self._memory()

    def begin(self) -> None:
        """Start the thread."""
        self._growing, self._held = True, 0
        self._thread = threading.Thread(target=self._run, name="engine-hnsw", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the step at hand, wait for that, and let go of the index."""
        self._stopping = True
        thread = self._thread
        if thread is not None:
            thread.join()
        self._index.set_near(self._index.matrix, None)

    def progress(self) -> VectorIndex:
        """For `.status`: what a search that begins now reads."""
        building = self._growing  # asked first: the index is published before this ends
        seen = self._index.snapshot()
        count = len(seen.vectors)
        if seen.near is not None:
            return VectorIndex("hnsw", count, seen.near.rows)
        if building:
            return VectorIndex("building", count, self._held)
        return VectorIndex("exact", count, 0)

    # -- inside -----------------------------------------------------------------------------
    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _memory(self) -> int:
        return self._config.vector_memory or _memory_of_machine() // 4

    def _run(self) -> None:
        failed: EngineError | None = None
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)  # of this thread alone
            self._grow()
        except EngineError as error:
            failed = error
        except Exception as error:
            log.exception("the approximate vector index failed")
            failed = EngineError(f"the approximate vector index failed: {error!r}")
        self._growing = False
        if failed is not None:
            self._failed(failed)

    def _grow(self) -> None:
        """Index what is not indexed yet, what comes meanwhile too."""
        matrix = self._index.matrix
        near, self._held = matrix.near, 0
        if isinstance(near, Ready):
            hnsw, self._held = near.hnsw, near.rows
            self._index.set_near(matrix, None)  # its readers would wait for each step
        else:
            hnsw = Hnsw(matrix.dimension, self._memory(), self._config.hnsw_effort)
        began = time.monotonic()
        while (start := hnsw.rows) < (end := len(view := matrix.view())):
            if not self.fits(end, matrix.dimension):
                return  # outgrown: exact search it is
            for held in hnsw.add(view[np.arange(start, min(start + _BOUND, end))], _STEP):
                self._held = held
                if self._stopping or matrix is not self._index.matrix:
                    return
        self.problem = ""
        self._index.set_near(matrix, Ready(hnsw, self._failed))
        log.info("%d vectors are in the approximate index: %.1f s", end, time.monotonic() - began)

    def _failed(self, error: EngineError) -> None:
        """Searches are exact from now on; who is told of the failure finds them so."""
        log.warning("%s", error)
        self._not_before = time.monotonic() + self._config.embed_retry_max_seconds
        self._index.set_near(self._index.matrix, None)
        self.problem = str(error)


def _memory_of_machine() -> int:
    """Bytes, of the container if it has a limit of its own."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = _LIMIT_FILE.read_text().strip()
    except OSError:
        return pages
    return min(pages, int(limit)) if limit.isdigit() else pages
