"""Finding, fetching and reading the stored data sets."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from calibrant.datasets._content import content_digest
from calibrant.datasets._dataset import Dataset
from calibrant.datasets._download import download
from calibrant.datasets._entry import Entry, Official
from calibrant.datasets._layout import Layout, read_layout
from calibrant.datasets._places import DATA_VARIABLE, cache_dir, search_folders
from calibrant.datasets._registry import STORED
from calibrant.errors import DataError, MissingFileError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

Folder = str | os.PathLike[str] | None


def entry_of(name: str, variant: str) -> Entry:
    """The registered entry of a variant."""
    for known, entry in STORED[name].items():
        if known == variant:
            return entry
    choices = " or ".join(repr(known) for known in STORED[name])
    raise ParameterError(f"variant of data set {name!r} must be {choices}; got {variant!r}.")


def find_stored(entry: Entry, data_dir: Folder) -> tuple[Path, Layout] | None:
    """The file of an entry and how it is written, from the first folder that has it."""
    for folder in search_folders(data_dir):
        for name, layout in _packings(entry).items():
            path = folder / name
            if path.is_file():
                return path, layout
    return None


def read_stored(name: str, variant: str, data_dir: Folder, *, fetch: bool = True) -> Dataset:
    """Read a registered data set, downloading it if no folder has it."""
    entry = entry_of(name, variant)
    found = find_stored(entry, data_dir)
    if found is not None:
        frame = _read(*found, name, entry)
    elif fetch and entry.official is not None:
        frame = _fetch(name, entry, entry.official)
    else:
        raise MissingFileError(_where_to_get(name, entry))
    return Dataset(
        name=name,
        variant=variant,
        frame=entry.prepare(frame),
        target=entry.target,
        task=entry.task,
        description=entry.description,
        licence=entry.licence,
        citation=entry.citation,
        source=entry.page,
        flaws=entry.flaws,
    )


def _packings(entry: Entry) -> dict[str, Layout]:
    """Names that the table may have in a folder, each with the layout of that file."""
    plain = Layout(missing=entry.missing)
    names = {entry.file: plain, entry.file.removesuffix(".gz"): plain}
    if entry.official is not None:
        official = entry.official
        member = PurePosixPath(official.member).name
        names |= {official.archive: official.layout, member: official.layout}
    return names


def _read(path: Path, layout: Layout, name: str, entry: Entry) -> pd.DataFrame:
    member = entry.official.member if entry.official is not None else ""
    try:
        frame = read_layout(path.read_bytes(), layout, member)
    except DataError as error:
        raise DataError(f"{path} is not data set {name!r}: {error} Replace it.") from error
    digest = content_digest(frame)
    if digest != entry.checksum:
        raise DataError(
            f"{path} does not hold the registered content of data set {name!r}: expected checksum "
            f"{entry.checksum}, got {digest}. The copy is damaged or another version; replace it."
        )
    return frame


def _fetch(name: str, entry: Entry, official: Official) -> pd.DataFrame:
    """Download into the cache; only a file with the right content gets its final name."""
    from filelock import FileLock

    folder = cache_dir()
    folder.mkdir(parents=True, exist_ok=True)
    target, part = folder / official.archive, folder / f"{official.archive}.part"
    with FileLock(folder / f"{official.archive}.lock"):  # two processes share one download
        if target.is_file():
            return _read(target, official.layout, name, entry)
        resumed = part.exists()
        while True:
            try:
                download(official.url, part)
                frame = _read(part, official.layout, name, entry)
            except MissingFileError as error:
                raise MissingFileError(f"{error} {_where_to_get(name, entry)}") from error
            except DataError:
                part.unlink()
                if not resumed:
                    raise
                resumed = False  # what was there may have been a piece of another file
            else:
                os.replace(part, target)
                return frame


def _where_to_get(name: str, entry: Entry) -> str:
    file = PurePosixPath(entry.file)
    how = entry.instructions or "download it from the official page"
    return (
        f"Data set {name!r} is the file {file} (or {file.stem}), which is in none of the folders "
        f"looked at. To get it, {how} ({entry.page}), and pass data_dir= or set {DATA_VARIABLE} "
        "to the folder that holds it."
    )
