"""What DuckDB needs around it: its extensions, and no search for pandas.

Extensions lie in the packages that pip installed and are never fetched.

`LOAD` by path needs neither network nor home directory. It is done only when something needs the
extension (a bulk build of the full-text index, an approximate vector index).
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import cast

import duckdb

from engine.errors import Unsupported

Cursor = duckdb.DuckDBPyConnection


def say_no_pandas() -> None:
    """Where pandas is not installed, let `import pandas` fail at once.

    DuckDB tries to import it at every value that is bound to a statement, and a search of the whole
    path that finds nothing costs 0.1 ms each time (measured: 32 values 4.3 ms, so 0.7).
    """
    if "pandas" not in sys.modules and importlib.util.find_spec("pandas") is None:
        sys.modules["pandas"] = cast(ModuleType, None)


def extension_path(name: str) -> Path:
    """The file of extension `fts` or `vss`; Unsupported when its package is not installed."""
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).glob(f"extensions/*/{name}.duckdb_extension")):
            if path.parent.name == f"v{duckdb.__version__}":
                return path
    raise Unsupported(
        f"the DuckDB extension {name} for version {duckdb.__version__} is not installed",
        f"pip install duckdb-extension-{name}=={duckdb.__version__}",
    )


def load(cursor: Cursor, name: str) -> None:
    """Load an extension into the database; does nothing when it is there already."""
    loaded = cursor.execute(
        "SELECT loaded FROM duckdb_extensions() WHERE extension_name = ?", [name]
    ).fetchone()
    if loaded is None or not loaded[0]:
        path = str(extension_path(name)).replace("'", "''")
        cursor.execute(f"LOAD '{path}'")
