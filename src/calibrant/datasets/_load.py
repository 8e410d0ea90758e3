"""Loading any data set by its name."""

from __future__ import annotations

import dataclasses
import difflib
import os

import numpy as np

from calibrant.datasets import synthetic
from calibrant.datasets._dataset import Dataset
from calibrant.datasets._draws import RandomState, generator, row_count
from calibrant.datasets._registry import STORED
from calibrant.datasets._stored import read_stored
from calibrant.errors import ParameterError

_GENERATORS = {
    "heteroscedastic": synthetic.heteroscedastic,
    "skewed": synthetic.skewed,
    "bimodal": synthetic.bimodal,
}


def names() -> list[str]:
    """List the names that `load` knows.

    Returns
    -------
    list of str
        The synthetic sets, the one that comes with scikit-learn, then the stored ones.

    Examples
    --------
    >>> names()[:3]
    ['heteroscedastic', 'skewed', 'bimodal']
    """
    return [*_GENERATORS, "diabetes", *STORED]


def load(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    random_state: RandomState = 0,
    n: int | None = None,
) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        One of `names`.
    data_dir : path, optional
        Folder of the stored data sets; the environment variable CALIBRANT_DATA if not given.
    random_state : int, numpy.random.Generator or None
        Seed or source of the draws: the rows of a synthetic set, or which `n` rows of a real one
        are kept. None is a fresh seed.
    n : int, optional
        Number of rows. A synthetic set has 2000 unless told otherwise; of a real one, all rows
        are kept, or `n` of them at random and in their original order.

    Returns
    -------
    Dataset
        With ``X`` (n, d), ``y`` (n,), ``frame``, ``target`` and ``task``.

    Raises
    ------
    ParameterError
        If the name is unknown or `n` is out of range.
    MissingFileError
        If a stored set is not in the folder, or no folder was given.
    DataError
        If a stored file is not the registered one.

    Examples
    --------
    >>> load("diabetes", n=100).X.shape
    (100, 10)
    """
    if name in _GENERATORS:
        generate = _GENERATORS[name]
        return generate(random_state=random_state) if n is None else generate(n, random_state)
    if name == "diabetes":
        return _subset(_diabetes(), n, random_state)
    if name in STORED:
        return _subset(read_stored(name, data_dir), n, random_state)
    raise ParameterError(_unknown(name))


def _diabetes() -> Dataset:
    from sklearn.datasets import load_diabetes

    # Unscaled: scikit-learn's default divides each column by its norm, and units get lost.
    frame = load_diabetes(as_frame=True, scaled=False).frame
    return Dataset(
        name="diabetes",
        frame=frame.rename(columns={"target": "progression"}),
        target="progression",
        task="regression",
        description="Disease progression of 442 diabetes patients one year after ten baseline "
        "measurements.",
        licence="distributed with scikit-learn (BSD-3-Clause)",
        source="Efron, Hastie, Johnstone, Tibshirani (2004), Least angle regression, "
        "Annals of Statistics 32, 407-499",
    )


def _subset(data: Dataset, n: int | None, random_state: RandomState) -> Dataset:
    if n is None:
        return data
    rows = len(data.frame)
    kept = generator(random_state).choice(rows, size=row_count(n, at_most=rows), replace=False)
    frame = data.frame.iloc[np.sort(kept)].reset_index(drop=True)
    return dataclasses.replace(data, frame=frame)


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(str(name), names(), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"Unknown data set {name!r}.{hint} The known ones are: {', '.join(names())}."
