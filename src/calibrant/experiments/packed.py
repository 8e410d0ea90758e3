"""Results as one file, to commit, send, merge or analyse.

The Parquet file is a flat table with one row per cell, for pandas and others to read: nested
values are columns such as "scores.ecpe", lists and settings are JSON text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.errors import DataError, MissingFileError, ParameterError
from calibrant.experiments.store import FORMAT_VERSION, Cell, Record, Store
from calibrant.persistence import replacing

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".parquet"
_CELL = ("protocol", "dataset", "method", "trial")
_SETTINGS = "settings"  # kept exactly, because `missing` compares them; differ between methods
_DIGITS = 6  # of measured values: further digits are noise, but most of the bytes


def pack(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write records to one Parquet file, measured values with six digits.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/results.parquet"
    >>> cell = {"protocol": "honest", "dataset": "wine", "method": "hnn", "trial": 0}
    >>> pack([{"format_version": 1, "cell": cell, "scores": {"ecpe": 0.0123456789}}], file)
    >>> unpack(file)[0]["scores"]
    {'ecpe': 0.0123457}
    """
    from pyarrow import parquet

    if Path(path).suffix != SUFFIX:
        raise ParameterError(f"{path} must end in {SUFFIX}: results are packed as Parquet.")
    with replacing(Path(path)) as file:
        parquet.write_table(_flat_table(records), file, compression="zstd", compression_level=19)


def _flat_table(records: Iterable[Record]) -> pa.Table:
    """Return all results as one table, one row per cell."""
    import pyarrow as pa

    rows = [_flatten(record) for record in records]
    columns = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    return table.replace_schema_metadata({"calibrant_format": str(FORMAT_VERSION)})


def unpack(path: str | os.PathLike[str]) -> list[Record]:
    """Read a file that `pack` wrote."""
    import pyarrow as pa
    from pyarrow import parquet

    if not Path(path).is_file():
        raise MissingFileError(f"There is no file {path} of packed results.")
    try:
        table = parquet.read_table(path)
        version = (table.schema.metadata or {}).get(b"calibrant_format", b"none").decode()
        records = [_nest(row) for row in table.to_pylist()]
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} has no packed results: {error!r}.") from error
    if version != str(FORMAT_VERSION):
        raise DataError(
            f"{path} has format {version}; this version of calibrant reads {FORMAT_VERSION}."
        )
    return records


def read_results(path: str | os.PathLike[str]) -> list[Record]:
    """Records of a store, or of a file that `pack` wrote, ordered by cell."""
    return unpack(path) if Path(path).suffix == SUFFIX else Store(path).records()


def joined(parts: Iterable[Iterable[Record]]) -> list[Record]:
    """Merge the records of several runs, keeping the newest result of each cell."""
    newest: dict[Cell, Record] = {}
    for record in (record for part in parts for record in part):
        cell = Cell(**record["cell"])
        known = newest.get(cell)
        if known is None or record.get("finished", "") >= known.get("finished", ""):
            newest[cell] = record
    return [newest[cell] for cell in sorted(newest)]


def add_to_store(records: Iterable[Record], store: Store) -> int:
    """Write records into a store, none over a newer one; return how many were written."""
    added = 0
    for record in records:
        cell = Cell(**record["cell"])
        known = store.read(cell)
        if known is None or known.get("finished", "") < record.get("finished", ""):
            store.write(cell, record)
            added += 1
    return added


def _flatten(record: Record) -> dict[str, Any]:
    row = {name: record["cell"][name] for name in _CELL}
    for name, value in sorted(record.items()):
        if name == _SETTINGS:
            row[name] = _json(value)
        elif name not in ("cell", "format_version"):
            row |= _columns(name, value)
    return row


def _columns(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        parts = [_columns(f"{name}.{key}", part) for key, part in value.items()]
        return {key: part for columns in parts for key, part in columns.items()}
    if isinstance(value, list):
        return {name: _json([_rounded(part) for part in value])}
    return {name: _rounded(value)}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _rounded(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _nest(row: dict[str, Any]) -> Record:
    record: Record = {
        "format_version": FORMAT_VERSION,
        "cell": {name: row.pop(name) for name in _CELL},
    }
    for name, value in row.items():
        if value is None:  # this record has no such value
            continue
        if name == _SETTINGS or (isinstance(value, str) and value.startswith("[")):
            value = json.loads(value)
        *path, last = name.split(".")
        part = record
        for key in path:
            part = part.setdefault(key, {})
        part[last] = value
    return record
