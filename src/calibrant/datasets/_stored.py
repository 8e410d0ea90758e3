"""Finding, downloading and reading the data sets that are files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from calibrant.datasets._content import content_digest
from calibrant.datasets._dataset import DatasetInfo
from calibrant.datasets._download import download
from calibrant.datasets._layout import Layout, read_layout
from calibrant.datasets._places import DATA_VARIABLE, cache_dir, search_folders
from calibrant.datasets._prepare import Prepare, as_published
from calibrant.errors import DataError, MissingFileError
from calibrant.persistence import write_file

if TYPE_CHECKING:
    import pandas as pd

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True)
class StoredDataset:
    """A data set that is read from a file.

    Parameters
    ----------
    info : DatasetInfo
        Its checksum is that of the parsed content, before `prepare` (see `content_digest`).
    file : str
        Name of the comma separated file inside a data folder; the publisher's archive and the
        file in it are recognised by their own names.
    prepare : callable
        From the parsed frame to the one that `load` returns.
    url, member : str
        Archive that the publisher offers for download, and the file in it.
    layout : Layout
        How the publisher's file is written.
    instructions : str
        How to get a file that has no `url`.
    """

    info: DatasetInfo
    file: str
    prepare: Prepare = as_published
    url: str = ""
    member: str = ""
    layout: Layout = field(default_factory=Layout)
    instructions: str = ""

    @property
    def archive(self) -> str:
        """File name of the publisher's archive."""
        return self.url.rsplit("/", 1)[-1]

    def find(self, data_dir: Folder) -> tuple[Path, Layout] | None:
        """Return the file and how it is written, from the first folder that has it."""
        plain = Layout(missing=self.layout.missing)
        layouts = {self.file: plain, self.file.removesuffix(".gz"): plain}
        if self.url:
            layouts |= {self.archive: self.layout, PurePosixPath(self.member).name: self.layout}
        for folder in search_folders(data_dir):
            for name, layout in layouts.items():
                path = folder / name
                if path.is_file():
                    return path, layout
        return None

    def read(self, data_dir: Folder, *, fetch: bool = True) -> pd.DataFrame:
        """Read and prepare the table, downloading it if no folder has it."""
        found = self.find(data_dir)
        if found is not None:
            path, layout = found
            return self.prepare(self._parse(path.read_bytes(), layout, str(path)))
        if not fetch or not self.url:
            raise MissingFileError(self._where_to_get())
        try:
            content = download(self.url)
        except MissingFileError as error:
            raise MissingFileError(f"{error} {self._where_to_get()}") from error
        frame = self._parse(content, self.layout, self.url)
        kept = cache_dir() / self.archive  # only what has the right content is kept
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_file(kept, content, overwrite=True)
        return self.prepare(frame)

    def _parse(self, content: bytes, layout: Layout, origin: str) -> pd.DataFrame:
        name, expected = self.info.name, self.info.checksum
        try:
            frame = read_layout(content, layout, self.member)
        except DataError as error:
            raise DataError(f"{origin} is not data set {name!r}: {error} Replace it.") from error
        digest = content_digest(frame)
        if digest != expected:
            raise DataError(
                f"{origin} does not hold the registered content of data set {name!r}: expected "
                f"checksum {expected}, got {digest}. It is damaged or another version; replace it."
            )
        return frame

    def _where_to_get(self) -> str:
        file = PurePosixPath(self.file)
        how = self.instructions or "download it from the official page"
        return (
            f"Data set {self.info.name!r} is the file {file} (or {file.stem}), which is in none of "
            f"the folders searched. To get it, {how} ({self.info.page}), and pass data_dir= or set "
            f"{DATA_VARIABLE} to the folder that holds it."
        )
