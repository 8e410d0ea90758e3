"""What is known about a data set without reading it."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.datasets._dataset import Task
from calibrant.datasets._stored import Folder, entry_of, find_stored


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """One line of the list of data sets, and what stands behind it.

    Attributes
    ----------
    name, variant, title, description : str
    task : {"regression", "forecasting"}
    target : str
    rows, columns : int
        Shape of the frame, the target included.
    licence, citation, page, flaws, paper : str
        Terms of use, whom to cite, the official page, known defects and what Cui, Hu and Zhu
        (2020) did with it; empty where there is nothing to say.
    checksum : str
        Digest of the parsed content; empty for data that are not read from a file.
    at_hand : bool
        Whether it can be loaded without a download.
    """

    name: str
    title: str
    description: str
    task: Task
    target: str
    rows: int
    columns: int
    licence: str
    variant: str = "raw"
    citation: str = ""
    page: str = ""
    flaws: str = ""
    paper: str = ""
    checksum: str = ""
    at_hand: bool = True


def stored_info(name: str, variant: str, data_dir: Folder) -> DatasetInfo:
    """Describe a registered data set."""
    entry = entry_of(name, variant)
    return DatasetInfo(
        name=name,
        variant=variant,
        title=entry.title,
        description=entry.description,
        task=entry.task,
        target=entry.target,
        rows=entry.rows,
        columns=entry.columns,
        licence=entry.licence,
        citation=entry.citation,
        page=entry.page,
        flaws=entry.flaws,
        paper=entry.paper,
        checksum=entry.checksum,
        at_hand=find_stored(entry, data_dir) is not None,
    )
