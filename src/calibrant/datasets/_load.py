"""Loading any data set by its name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calibrant.datasets import series, synthetic
from calibrant.datasets._dataset import Dataset, DatasetInfo
from calibrant.datasets._draws import RandomState, generator, row_count
from calibrant.datasets._registry import STORED
from calibrant.datasets._stored import Folder
from calibrant.errors import ParameterError

_GENERATED: dict[str, Callable[..., Dataset]] = {
    generate.__name__: generate for generate in (*synthetic.GENERATORS, *series.GENERATORS)
}


def names() -> list[str]:
    """List the names that `load` knows.

    Returns
    -------
    list of str
        The synthetic sets, the one that comes with scikit-learn, then those that are files.

    Examples
    --------
    >>> names()[:3]
    ['heteroscedastic', 'skewed', 'bimodal']
    """
    return [*_GENERATED, "diabetes", *STORED]


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
        Folder to search first for its file.

    Returns
    -------
    DatasetInfo

    Examples
    --------
    >>> info("wine").rows, info("wine").target
    (4898, 'quality')
    """
    _check_variant(name, variant)
    if name not in STORED:
        return load(name).info  # generated in milliseconds
    stored = STORED[name][variant]
    return replace(stored.info, at_hand=stored.find(data_dir) is not None)


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

    The files of the paper's nine data sets are searched for in `data_dir`, in the folder that the
    environment variable CALIBRANT_DATA names and in the cache (`cache_dir`), and are otherwise
    downloaded from their official page into the cache. The parsed content must have the
    registered checksum.

    Parameters
    ----------
    name : str
        One of `names`.
    variant : {"raw", "as_run"}
        As its publisher wrote it, or, for the five series, as the paper ran it.
    data_dir : path, optional
        Folder to search first.
    download : bool
        Whether to download a file that is in no folder.
    random_state : int, numpy.random.Generator or None
        Seed or source of randomness: of the rows of a synthetic set, or of the choice of `n` rows
        of a real one. None is a fresh seed.
    n : int, optional
        Number of rows. A synthetic set has 2000 by default; of a real one, all rows are kept, or
        `n` random ones in their original order; of a series the first `n`.

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
    _check_variant(name, variant)
    if name in _GENERATED:
        size = {} if n is None else {"n": n}
        return _GENERATED[name](random_state=random_state, **size)
    if name == "diabetes":
        data = _diabetes()
    else:
        stored = STORED[name][variant]
        data = Dataset(stored.info, stored.read(data_dir, fetch=download))
    return data if n is None else _subset(data, n, random_state)


def _diabetes() -> Dataset:
    from sklearn.datasets import load_diabetes

    # Unscaled: scikit-learn's default divides each column by its norm, and units get lost.
    frame = load_diabetes(as_frame=True, scaled=False).frame
    info = DatasetInfo(
        name="diabetes",
        title="diabetes",
        description="Disease progression of 442 diabetes patients one year after ten baseline "
        "measurements.",
        target="progression",
        rows=442,
        columns=11,
        licence="BSD-3-Clause (distributed with scikit-learn)",
        citation="Efron, Hastie, Johnstone, Tibshirani (2004), Least angle regression, "
        "Annals of Statistics 32, 407-499",
    )
    return Dataset(info, frame.rename(columns={"target": "progression"}))


def _subset(data: Dataset, n: int, random_state: RandomState) -> Dataset:
    total = len(data.frame)
    rows = row_count(n, at_most=total)
    if data.task == "forecasting":  # a series with random gaps would be another series
        return replace(data, frame=data.frame.iloc[:rows])
    kept = np.sort(generator(random_state).choice(total, size=rows, replace=False))
    return replace(data, frame=data.frame.iloc[kept].reset_index(drop=True))


def _check_variant(name: str, variant: str) -> None:
    known = variants(name)
    if variant not in known:
        choices = " or ".join(map(repr, known))
        raise ParameterError(f"variant of data set {name!r} must be {choices}; got {variant!r}.")


def _check_name(name: str) -> None:
    if name not in names():
        close = difflib.get_close_matches(str(name), names(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ParameterError(
            f"Unknown data set {name!r}.{hint} The known ones are: {', '.join(names())}."
        )
