"""Loading any data set by its name."""

from __future__ import annotations

import dataclasses
import difflib

import numpy as np

from calibrant.datasets import series, synthetic
from calibrant.datasets._dataset import Dataset
from calibrant.datasets._draws import RandomState, generator, row_count
from calibrant.datasets._info import DatasetInfo, stored_info
from calibrant.datasets._registry import STORED
from calibrant.datasets._stored import Folder, read_stored
from calibrant.errors import ParameterError

_GENERATORS = {
    "heteroscedastic": synthetic.heteroscedastic,
    "skewed": synthetic.skewed,
    "bimodal": synthetic.bimodal,
    "discrete": synthetic.discrete,
    "seasonal": series.seasonal,
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


def variants(name: str) -> list[str]:
    """List the variants of a data set: ``"raw"``, and ``"as_run"`` for the paper's series.

    Examples
    --------
    >>> variants("wine"), variants("bike_sharing")
    (['raw'], ['raw', 'as_run'])
    """
    _check_name(name)
    return [*STORED.get(name, ["raw"])]


def info(name: str, variant: str = "raw", data_dir: Folder = None) -> DatasetInfo:
    """Describe a data set without reading or fetching it.

    Parameters
    ----------
    name : str
        One of `names`.
    variant : {"raw", "as_run"}
        One of `variants`.
    data_dir : path, optional
        Folder to look in first, to tell whether it is at hand.

    Returns
    -------
    DatasetInfo

    Examples
    --------
    >>> info("wine").rows, info("wine").target
    (4898, 'quality')
    """
    _check_name(name)
    if name in STORED:
        return stored_info(name, variant, data_dir)
    data = load(name, variant)  # made in an instant
    return DatasetInfo(
        name=name,
        title=name,
        description=data.description,
        task=data.task,
        target=data.target,
        rows=len(data.frame),
        columns=len(data.frame.columns),
        licence=data.licence,
        citation=data.citation,
    )


def load(
    name: str,
    variant: str = "raw",
    *,
    data_dir: Folder = None,
    download: bool = True,
    random_state: RandomState = 0,
    n: int | None = None,
) -> Dataset:
    """Load a data set by its name.

    The files of the paper's nine data sets are looked for in `data_dir`, in the folder that the
    environment variable CALIBRANT_DATA names and in the cache (`cache_dir`), and are otherwise
    downloaded from their official page into the cache. Whatever the file looks like, its parsed
    content must have the registered checksum.

    Parameters
    ----------
    name : str
        One of `names`.
    variant : {"raw", "as_run"}
        As its publisher wrote it, or, for the five series, as the paper ran it.
    data_dir : path, optional
        Folder to look in first.
    download : bool
        Whether a file that is in no folder is fetched.
    random_state : int, numpy.random.Generator or None
        Seed or source of the draws: the rows of a synthetic set, or which `n` rows of a real one
        are kept. None is a fresh seed.
    n : int, optional
        Number of rows. A synthetic set has 2000 unless told otherwise; of a real one, all rows
        are kept, or `n` of them at random and in their original order; of a series the first `n`.

    Returns
    -------
    Dataset
        With ``X`` (n, d), ``y`` (n,), ``frame``, ``target`` and ``task``.

    Raises
    ------
    ParameterError
        If the name or the variant is unknown or `n` is out of range.
    MissingFileError
        If a file is in no folder and can't be downloaded.
    DataError
        If a file does not hold the registered content.

    Examples
    --------
    >>> load("diabetes", n=100).X.shape
    (100, 10)
    """
    _check_name(name)
    if name in STORED:
        data = read_stored(name, variant, data_dir, fetch=download)
        return _subset(data, n, random_state)
    if variant != "raw":
        raise ParameterError(f"variant of data set {name!r} must be 'raw'; got {variant!r}.")
    if name in _GENERATORS:
        generate = _GENERATORS[name]
        return generate(random_state=random_state) if n is None else generate(n, random_state)
    return _subset(_diabetes(), n, random_state)


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
        licence="BSD-3-Clause (distributed with scikit-learn)",
        citation="Efron, Hastie, Johnstone, Tibshirani (2004), Least angle regression, "
        "Annals of Statistics 32, 407-499",
    )


def _subset(data: Dataset, n: int | None, random_state: RandomState) -> Dataset:
    if n is None:
        return data
    rows = len(data.frame)
    if data.task == "forecasting":  # a series with holes would be another series
        return dataclasses.replace(data, frame=data.frame.iloc[: row_count(n, at_most=rows)])
    kept = generator(random_state).choice(rows, size=row_count(n, at_most=rows), replace=False)
    frame = data.frame.iloc[np.sort(kept)].reset_index(drop=True)
    return dataclasses.replace(data, frame=frame)


def _check_name(name: str) -> None:
    if name not in names():
        close = difflib.get_close_matches(str(name), names(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ParameterError(
            f"Unknown data set {name!r}.{hint} The known ones are: {', '.join(names())}."
        )
