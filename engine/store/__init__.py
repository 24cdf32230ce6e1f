"""DuckDB, and nothing else in the project touches DuckDB."""
