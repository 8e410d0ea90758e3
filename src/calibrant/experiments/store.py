"""The result store: one JSON file per cell, written as soon as the cell is computed.

A folder of small files needs no server and no repair. A killed run loses only the cells it was
computing. Several runs may write to one store at the same time: files are renamed atomically, and
locks tell which cells are being computed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calibrant.errors import DataError, MissingFileError, ParameterError
from calibrant.persistence import replacing

FORMAT_VERSION = 1


@dataclass(frozen=True, order=True)
class Cell:
    """Key of a result.

    Attributes
    ----------
    protocol : str
        How rows are split and methods trained: "published", "shuffled", "honest" and others,
        with the suffix "-quick" for smoke tests.
    dataset, method : str
    trial : int
    """

    protocol: str
    dataset: str
    method: str
    trial: int

    def __str__(self) -> str:
        return f"{self.protocol}/{self.dataset}/{self.method}/{self.trial}"


Record = dict[str, Any]


class Store:
    """Results in a folder.

    Parameters
    ----------
    folder : path
        Created when the first result is written.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.write(Cell("honest", "wine", "hnn", 0), {"scores": {"ecpe": 0.02}})
    >>> store.read(Cell("honest", "wine", "hnn", 0))["scores"]["ecpe"], len(store.cells())
    (0.02, 1)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Path of the result of a cell, whether it exists or not."""
        parts = (cell.protocol, cell.dataset, cell.method)
        if any(not part or part.startswith(".") or "/" in part or "\\" in part for part in parts):
            raise ParameterError(
                "The names of a cell must not be empty, start with a dot or contain slashes; "
                f"got {cell}."
            )
        return self.folder.joinpath(*parts) / f"{cell.trial}.json"

    def write(self, cell: Cell, record: Record) -> None:
        """Write or replace a result; readers see either the old one or the new one."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"format_version": FORMAT_VERSION, "cell": asdict(cell), **record}
        text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False)
        with replacing(path) as file:
            file.write_text(f"{text}\n", encoding="utf-8")

    def read(self, cell: Cell) -> Record | None:
        """Result of a cell, or None if there is none."""
        path = self.path(cell)
        try:
            record: Record = json.loads(path.read_text(encoding="utf-8"))
            version = record["format_version"]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} is not a result: {error!r}. Remove it and run that cell again."
            ) from error
        if version != FORMAT_VERSION:
            raise DataError(
                f"{path} has format {version}; this version of calibrant reads {FORMAT_VERSION}."
            )
        return record

    def cells(self) -> list[Cell]:
        """Cells that have results, sorted."""
        return sorted(
            Cell(protocol, dataset, method, int(path.stem))
            for path in self.folder.glob("*/*/*/*.json")
            if path.stem.isdigit()
            for protocol, dataset, method in [path.parts[-4:-1]]
        )

    def records(self) -> list[Record]:
        """All results, ordered by cell."""
        if not self.folder.is_dir():
            raise MissingFileError(
                f"There is no folder {self.folder} of results: calibrant bench paper creates one."
            )
        return [record for cell in self.cells() if (record := self.read(cell)) is not None]

    @contextlib.contextmanager
    def claim(self, cell: Cell) -> Iterator[bool]:
        """Lock a cell while it is computed; yields False if another process has locked it.

        The operating system releases the locks of a process that dies.
        """
        from filelock import FileLock, Timeout

        # Lock files are kept: another process may be about to lock the one that we would remove.
        lock = self._locks / str(cell).replace("/", "--")
        self.path(cell)  # raises an error for bad names
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(lock, timeout=0):
                yield True
        except Timeout:
            yield False

    def remove_if_empty(self) -> None:
        """Remove the folder if it contains nothing but lock files that no process holds.

        Each lock file is removed while we hold its lock. A process that opened the file before
        and gets the lock afterwards notices that the file is gone. At worst two processes
        compute the same cell and write the same result.
        """
        from filelock import FileLock, Timeout

        if self.cells():
            return
        for path in self._locks.glob("*"):
            with contextlib.suppress(Timeout, OSError), FileLock(path, timeout=0):
                path.unlink()
        for folder in (self._locks, self.folder):
            with contextlib.suppress(OSError):  # not empty, or does not exist
                folder.rmdir()

    @property
    def _locks(self) -> Path:
        return self.folder / ".locks"
