"""Results as a flat table, for other programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.errors import ParameterError
from calibrant.experiments.store import Record

if TYPE_CHECKING:
    import pandas as pd


def flat_table(records: Iterable[Record]) -> pd.DataFrame:
    """All results as one table, a row per cell, nested values as "scores.ecpe"."""
    import pandas as pd

    flat = pd.json_normalize([_without_lists(record) for record in records])
    return flat.rename(columns=lambda name: name.removeprefix("cell."))


def export(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write all results to one CSV or Parquet file, whole or not at all."""
    target = Path(path)
    if target.suffix not in (".csv", ".parquet"):
        raise ParameterError(f"{target} must end in .csv or .parquet: the suffix says which.")
    frame = flat_table(records)
    with whole(target) as work:
        if target.suffix == ".csv":
            frame.to_csv(work, index=False)
        else:
            frame.to_parquet(work, index=False)


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Give a file to write that takes the place of `target` if all goes well."""
    work = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield work
        os.replace(work, target)
    finally:
        work.unlink(missing_ok=True)


def _without_lists(record: Record) -> Record:
    """Lists as text: a column of a table holds one value a row."""
    return {
        key: _without_lists(value)
        if isinstance(value, dict)
        else json.dumps(value)
        if isinstance(value, list)
        else value
        for key, value in record.items()
    }
