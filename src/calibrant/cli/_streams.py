"""Tables of Parquet files that are too large to be read as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calibrant.tables import ParquetSource, as_url


def parquet_source(
    path: Path, target: str | None = None, drop: Sequence[str] = ()
) -> ParquetSource | None:
    """Return the Parquet files of a path: one, a folder, a pattern or a URL; None for others."""
    url = as_url(path)
    is_many = path.is_dir() or any(sign in url for sign in "*?[") or "://" in url
    if not is_many and not path.name.lower().endswith(".parquet"):
        return None
    return ParquetSource(url, target=target, drop=drop)


def large_source(
    path: Path, target: str | None = None, drop: Sequence[str] = ()
) -> ParquetSource | None:
    """As `parquet_source`, and None for tables that are small enough to be read as a whole."""
    source = parquet_source(path, target, drop)
    return None if source is None or source.n_rows <= source.in_memory_rows else source
