"""A data set and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Task = Literal["regression", "forecasting"]


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """What is known about a data set without reading it.

    Attributes
    ----------
    name : str
        The name it is loaded by.
    title, description : str
        The name its publisher gives it, and what its rows are.
    target : str
        Column to predict.
    rows, columns : int
        Shape of the complete frame, including the target.
    licence : str
        Terms of use.
    task : {"regression", "forecasting"}
        Whether the rows are exchangeable or ordered in time.
    variant : {"raw", "as_run"}
        As published, or as Cui, Hu and Zhu (2020) ran it.
    citation, page, flaws : str
        Whom to cite, the official page, and known defects, which are kept.
    paper : str
        What Cui, Hu and Zhu (2020) did with it.
    checksum : str
        Digest of the parsed content; empty for data that are not read from a file.
    at_hand : bool
        Whether it can be loaded without a download.
    """

    name: str
    title: str
    description: str
    target: str
    rows: int
    columns: int
    licence: str
    task: Task = "regression"
    variant: str = "raw"
    citation: str = ""
    page: str = ""
    flaws: str = ""
    paper: str = ""
    checksum: str = ""
    at_hand: bool = True


# eq=False: comparing frames element by element is never what `==` on a data set should mean.
@dataclass(frozen=True, eq=False)
class Dataset:
    """A plain table with what one needs to know to use it.

    Parameters
    ----------
    info : DatasetInfo
    frame : pandas.DataFrame of shape (n, d + 1)
        All inputs and the target, one row per observation. The index of a series with time stamps
        is a DatetimeIndex called ``"time"``.
    truth : dict of str to ndarray of shape (n, K), optional
        For synthetic data, the distribution that each target was drawn from: ``"weights"``,
        ``"locs"`` and ``"scales"``, the keyword arguments of ``calibrant.distributions.Mixture``,
        or ``"samples"``, equally likely values, that of ``calibrant.distributions.Empirical``.

    Examples
    --------
    >>> from calibrant.datasets import load
    >>> data = load("bimodal", n=100)
    >>> data.target, list(data.X.columns)
    ('y', ['x', 'shift', 'spread', 'idle'])
    >>> data.info.licence
    'none needed: generated'
    """

    info: DatasetInfo
    frame: pd.DataFrame
    truth: dict[str, NDArray[np.float64]] | None = None

    @property
    def name(self) -> str:
        """The name it is loaded by."""
        return self.info.name

    @property
    def target(self) -> str:
        """The column of `frame` to predict."""
        return self.info.target

    @property
    def task(self) -> Task:
        """``"regression"``, or ``"forecasting"`` if the rows are ordered in time."""
        return self.info.task

    @property
    def X(self) -> pd.DataFrame:
        """The inputs, a frame of shape (n, d)."""
        return self.frame.drop(columns=self.target)

    @property
    def y(self) -> NDArray[np.float64]:
        """The target, of shape (n,); NaN where it was not observed."""
        return self.frame[self.target].to_numpy(dtype="float64")

    @property
    def time(self) -> pd.DatetimeIndex | None:
        """The time of every row, of length n; None if the rows have no time stamps."""
        import pandas as pd

        index = self.frame.index
        return index if isinstance(index, pd.DatetimeIndex) else None
