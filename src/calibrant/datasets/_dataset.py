"""What every loader returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Task = Literal["regression", "forecasting"]


# eq=False: comparing frames element by element is never what `==` on a data set should mean.
@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """A plain table with what one needs to know to use it.

    Parameters
    ----------
    name : str
        The name it is loaded by.
    frame : pandas.DataFrame of shape (n, d + 1)
        All inputs and the target, one row per observation. The index of a series with time stamps
        is a DatetimeIndex called ``"time"``.
    target : str
        The column of `frame` to predict.
    task : {"regression", "forecasting"}
        Whether the rows are exchangeable or ordered in time.
    description : str
        What the rows are, in a sentence or two.
    licence : str
        The terms under which the data may be used.
    variant : {"raw", "as_run"}
        As published, or as Cui, Hu and Zhu (2020) ran it.
    source : str
        Where the data come from: a page or a citation. Empty for synthetic data.
    citation : str
        Whom to cite. Empty for synthetic data.
    flaws : str
        Known defects, kept as they are in the original. Empty if there are none.
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
    """

    name: str
    frame: pd.DataFrame
    target: str
    task: Task
    description: str
    licence: str
    variant: str = "raw"
    source: str = ""
    citation: str = ""
    flaws: str = ""
    truth: dict[str, NDArray[np.float64]] | None = None

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
        """The time of every row, of length n; None where the rows have no time stamps."""
        import pandas as pd

        index = self.frame.index
        return index if isinstance(index, pd.DatetimeIndex) else None
