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
        All inputs and the target, one row per observation.
    target : str
        The column of `frame` to predict.
    task : {"regression", "forecasting"}
        Whether the rows are exchangeable or ordered in time.
    description : str
        What the rows are, in a sentence or two.
    licence : str
        The terms under which the data may be used.
    source : str
        Where the data come from: a page or a citation. Empty for synthetic data.
    flaws : str
        Known defects, kept as they are in the original. Empty if there are none.
    truth : dict of str to ndarray of shape (n, K), optional
        For synthetic data, the Gaussian mixture that each target was drawn from, as ``"weights"``,
        ``"locs"`` and ``"scales"``: the keyword arguments of ``calibrant.distributions.Mixture``.

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
    source: str = ""
    flaws: str = ""
    truth: dict[str, NDArray[np.float64]] | None = None

    @property
    def X(self) -> pd.DataFrame:
        """The inputs, a frame of shape (n, d)."""
        return self.frame.drop(columns=self.target)

    @property
    def y(self) -> NDArray[np.float64]:
        """The target, of shape (n,)."""
        return self.frame[self.target].to_numpy(dtype="float64")
