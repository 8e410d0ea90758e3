"""Results as one small file: to commit, to send, to join those of several machines.

A Parquet table with a row a cell. The parts of its name are columns; every other part of the
record is JSON text, which compresses well and comes back as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from calibrant.errors import DataError, MissingFileError, ParameterError
from calibrant.experiments.flat import whole
from calibrant.experiments.store import FORMAT_VERSION, Cell, Record, Store

SUFFIX = ".parquet"
_NAME = ("protocol", "dataset", "method", "trial")
_EXACT = ("settings",)  # compared with what would be run now
_DIGITS = 6  # of measured values: more of them are noise, and most of the bytes


def pack(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write records to one file, whole or not at all, measured values with six digits.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/results.parquet"
    >>> cell = {"protocol": "honest", "dataset": "wine", "method": "hnn", "trial": 0}
    >>> pack([{"format_version": 1, "cell": cell, "scores": {"ecpe": 0.0123456789}}], file)
    >>> unpack(file)[0]["scores"]
    {'ecpe': 0.0123457}
    """
    import pyarrow as pa
    from pyarrow import parquet

    target = Path(path)
    if target.suffix != SUFFIX:
        raise ParameterError(f"{target} must end in {SUFFIX}: results are packed as Parquet.")
    rows = [_row(record) for record in records]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    table = table.replace_schema_metadata({"calibrant_format": str(FORMAT_VERSION)})
    with whole(target) as work:
        parquet.write_table(table, work, compression="zstd", compression_level=19)


def unpack(path: str | os.PathLike[str]) -> list[Record]:
    """Read what `pack` wrote."""
    import pyarrow as pa
    from pyarrow import parquet

    if not Path(path).is_file():
        raise MissingFileError(f"There is no file {path} of packed results.")
    try:
        table = parquet.read_table(path)
        version = (table.schema.metadata or {}).get(b"calibrant_format", b"none").decode()
        records = [_record(row) for row in table.to_pylist()]
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} has no packed results: {error!r}.") from error
    if version != str(FORMAT_VERSION):
        raise DataError(
            f"{path} has format {version}; this version of calibrant reads {FORMAT_VERSION}."
        )
    return records


def read_results(path: str | os.PathLike[str]) -> list[Record]:
    """Records of a store, or of a file that `pack` wrote, in the order of their names."""
    return unpack(path) if Path(path).suffix == SUFFIX else Store(path).records()


def joined(parts: Iterable[Iterable[Record]]) -> list[Record]:
    """Join records of several runs; of two results of one cell the newer counts."""
    newest: dict[Cell, Record] = {}
    for record in (record for part in parts for record in part):
        cell = Cell(**record["cell"])
        known = newest.get(cell)
        if known is None or record.get("finished", "") >= known.get("finished", ""):
            newest[cell] = record
    return [newest[cell] for cell in sorted(newest)]


def add_to_store(records: Iterable[Record], store: Store) -> int:
    """Write records into a store, but none over a newer one; return how many were written."""
    added = 0
    for record in records:
        cell = Cell(**record["cell"])
        known = store.read(cell)
        if known is None or known.get("finished", "") < record.get("finished", ""):
            store.write(cell, record)
            added += 1
    return added


def _row(record: Record) -> dict[str, Any]:
    parts = {name: record[name] for name in record if name not in ("cell", "format_version")}
    return {name: record["cell"][name] for name in _NAME} | {
        name: json.dumps(
            value if name in _EXACT else _short(value), separators=(",", ":"), allow_nan=False
        )
        for name, value in sorted(parts.items())
    }


def _record(row: dict[str, Any]) -> Record:
    cell = {name: row.pop(name) for name in _NAME}
    parts = {name: json.loads(text) for name, text in row.items() if text is not None}
    return {"format_version": FORMAT_VERSION, "cell": cell, **parts}


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    return [_short(part) for part in value] if isinstance(value, list) else value
