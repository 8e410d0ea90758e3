"""A store in one text file, small enough to be kept with the sources.

A line holds all trials of a method on a data set: what they share once, and a list of what differs.
Curves and intervals to draw are left out, and numbers keep six digits.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.errors import DataError, MissingFileError
from calibrant.experiments.store import Cell, Record, Store

_LEFT_OUT = ("format_version", "cell", "covered", "intervals", "seed")


def write_archive(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write results to one file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "runs.jsonl"
    >>> cell = {"protocol": "honest", "dataset": "wine", "method": "hnn"}
    >>> runs = [{"cell": cell | {"trial": t}, "scores": {"ecpe": 0.02 + t}} for t in range(2)]
    >>> write_archive(runs, path)
    >>> [record["scores"]["ecpe"] for record in read_archive(path)]
    [0.02, 1.02]
    """
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        cell = record["cell"]
        groups[cell["protocol"], cell["dataset"], cell["method"]].append(record)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    lines = (json.dumps(_folded(key, groups[key]), sort_keys=True) for key in sorted(groups))
    work.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    os.replace(work, target)


def read_archive(path: str | os.PathLike[str]) -> list[Record]:
    """Results of a file of `write_archive`, a record per trial."""
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(f"There is no archive of results at {source}.")
    try:
        lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
        return [record for line in lines for record in _unfolded(line)]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{source} is not an archive of results: {error!r}.") from error


def take_in(records: Iterable[Record], store: Store) -> int:
    """Add results to a store, replacing those that are there; returns how many."""
    count = 0
    for record in records:
        rest = {name: record[name] for name in record if name not in ("cell", "format_version")}
        store.write(Cell(**record["cell"]), rest)
        count += 1
    return count


def _folded(key: tuple[str, str, str], records: list[Record]) -> dict[str, Any]:
    records = sorted(records, key=lambda record: record["cell"]["trial"])
    flat = [dict(_leaves(record)) for record in records]
    names = sorted({name for leaves in flat for name in leaves})
    columns = {name: [leaves.get(name) for leaves in flat] for name in names}
    shared = {name: all(v == values[0] for v in values) for name, values in columns.items()}
    return {
        **dict(zip(("protocol", "dataset", "method"), key, strict=True)),
        "trial": [record["cell"]["trial"] for record in records],
        "same": {name: columns[name][0] for name in names if shared[name]},
        "each": {name: columns[name] for name in names if not shared[name]},
    }


def _leaves(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if not prefix and name in _LEFT_OUT:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        elif name == "finished":
            yield name, value[:10]  # the day is what a reader wants to know
        else:
            yield f"{prefix}{name}", float(f"{value:.6g}") if isinstance(value, float) else value


def _unfolded(line: Mapping[str, Any]) -> Iterator[Record]:
    for i, trial in enumerate(line["trial"]):
        record: Record = {
            "cell": {name: line[name] for name in ("protocol", "dataset", "method")},
            "seed": trial,
        }
        record["cell"]["trial"] = trial
        leaves = line["same"] | {name: values[i] for name, values in line["each"].items()}
        for name, value in leaves.items():
            *above, last = name.split(".")
            place = record
            for part in above:
                place = place.setdefault(part, {})
            place[last] = value
        yield record
