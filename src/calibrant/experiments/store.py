"""The result store: one JSON file per cell, written whole the moment the cell is done.

A folder of small files needs no server and no repair: a killed run loses the cell it was in and
nothing else, and two runs that write to one store at once can't spoil each other, because every
file gets its name by an atomic rename and a lock tells which cells are in work.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calibrant.errors import DataError, MissingFileError, ParameterError

FORMAT_VERSION = 1


@dataclass(frozen=True, order=True)
class Cell:
    """The name of a result.

    Attributes
    ----------
    protocol : str
        How rows are split and methods trained: "published", "shuffled", "honest", or one of
        them with "-quick" behind it.
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
    """Results on disk.

    Parameters
    ----------
    folder : path
        Made when the first result is written.

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
        """Where the result of a cell is, or will be."""
        parts = (cell.protocol, cell.dataset, cell.method)
        if any(not part or part.startswith(".") or "/" in part or "\\" in part for part in parts):
            raise ParameterError(f"A cell must have plain names, got {cell}.")
        return self.folder.joinpath(*parts) / f"{cell.trial}.json"

    def write(self, cell: Cell, record: Record) -> None:
        """Write a result, or replace it; a reader sees the old one or the new one, whole."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"format_version": FORMAT_VERSION, "cell": asdict(cell), **record}
        text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False)
        handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{text}\n")
                file.flush()
                with contextlib.suppress(OSError):  # some file systems can't
                    os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def read(self, cell: Cell) -> Record | None:
        """The result of a cell, or None."""
        path = self.path(cell)
        try:
            record: Record = json.loads(path.read_text(encoding="utf-8"))
            version = record["format_version"]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} is not a result: {error!r}. Remove it, and run that cell again."
            ) from error
        if version != FORMAT_VERSION:
            raise DataError(
                f"{path} has format {version}; this version of calibrant reads {FORMAT_VERSION}."
            )
        return record

    def cells(self) -> list[Cell]:
        """Names of all results, sorted."""
        return sorted(
            Cell(protocol, dataset, method, int(path.stem))
            for path in self.folder.glob("*/*/*/*.json")
            if path.stem.isdigit()
            for protocol, dataset, method in [path.parts[-4:-1]]
        )

    def records(self) -> list[Record]:
        """All results, in the order of their names."""
        if not self.folder.is_dir():
            raise MissingFileError(
                f"There is no folder {self.folder} of results: calibrant bench paper makes one."
            )
        return [record for cell in self.cells() if (record := self.read(cell)) is not None]

    @contextlib.contextmanager
    def claim(self, cell: Cell) -> Iterator[bool]:
        """Take a cell into work; gives False if another process has it.

        The system frees the lock of a process that dies, so that nothing stays claimed.
        """
        from filelock import FileLock, Timeout

        # Locks stay behind: removing one that somebody is about to take would make two of it.
        lock = self._locks / str(cell).replace("/", "--")
        self.path(cell)  # complains about names that are not plain
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(lock, timeout=0):
                yield True
        except Timeout:
            yield False

    def remove_if_empty(self) -> None:
        """Remove the folder if it holds nothing but locks that no process has.

        Each is removed by its holder: a process that opened the file before and gets the lock
        after sees that the file has no name any more. At worst two compute one cell, and write
        the same.
        """
        from filelock import FileLock, Timeout

        if self.cells():
            return
        for path in self._locks.glob("*"):
            with contextlib.suppress(Timeout, OSError), FileLock(path, timeout=0):
                path.unlink()
        for folder in (self._locks, self.folder):
            with contextlib.suppress(OSError):  # it holds something, or was never made
                folder.rmdir()

    @property
    def _locks(self) -> Path:
        return self.folder / ".locks"
