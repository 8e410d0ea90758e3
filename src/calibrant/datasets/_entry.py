"""What the registry knows about one table."""

from __future__ import annotations

from dataclasses import dataclass, field

from calibrant.datasets._dataset import Task
from calibrant.datasets._layout import Layout
from calibrant.datasets._prepare import Prepare, as_it_is


@dataclass(frozen=True, kw_only=True)
class Official:
    """The publisher's own file.

    Parameters
    ----------
    url : str
        Address of the archive that the official page offers.
    member : str
        The file in that archive.
    layout : Layout
        How that file is written.
    """

    url: str
    member: str
    layout: Layout = field(default_factory=Layout)

    @property
    def archive(self) -> str:
        """Name of the archive in a folder."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One table: what it is, where it comes from and how it is read.

    Parameters
    ----------
    title, description : str
        The name its publisher gives it, and what its rows are.
    file : str
        Name of the comma separated file inside a data folder; the publisher's archive and the
        file in it are recognised by their own names.
    checksum : str
        Digest of the parsed content, before preparation (see `content_digest`).
    rows, columns : int
        Shape of the prepared frame, the target included.
    target : str
        Column to predict.
    task : {"regression", "forecasting"}
        Whether the rows are exchangeable or ordered in time.
    licence, citation, page, flaws : str
        The terms of use, whom to cite, the official page and the known defects.
    paper : str
        What Cui, Hu and Zhu (2020) did with it.
    prepare : callable
        From the parsed frame to the one that `load` returns.
    missing : tuple of str
        Texts of the file that stand for a gap, besides an empty cell.
    official : Official, optional
        Where to download it; without, `instructions` say how to get it.
    instructions : str
        How to get a file that no program may fetch.
    """

    title: str
    description: str
    file: str
    checksum: str
    rows: int
    columns: int
    target: str
    licence: str
    citation: str
    page: str
    task: Task = "regression"
    flaws: str = ""
    paper: str = ""
    prepare: Prepare = as_it_is
    missing: tuple[str, ...] = ()
    official: Official | None = None
    instructions: str = ""
