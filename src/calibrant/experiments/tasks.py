"""The nine tasks of the paper: which rows are trained on and which are predicted.

A protocol says how to split them.

``published``
    As the authors split them. Tables: rows at random, 80/20, a new split in every trial. Series:
    windows of five rows, shuffled with the authors' seed and then cut 70/30, so that test windows
    overlap training windows; trials differ only in the seed of the training.
``shuffled``
    As ``published``, but windows are shuffled with the seed of the trial. The leak remains, but
    results no longer depend on one split.
``small-200``, ``small-50``
    The first 200 or 50 training rows of ``shuffled``, which are in random order, and all of its
    test rows.
``honest``
    Without leaks. Tables: 80/20, rows with equal inputs on the same side. Series: the first 70%
    of the rows for training, the rest for testing, and rows that repeat an hour left out; trials
    differ only in the seed of the training.

Under every protocol, scaling, early stopping and recalibration use training rows only. (The
authors scaled with the test rows as well; the effect is small.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calibrant.checks import Array
from calibrant.datasets import Dataset, load
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    Folder = str | os.PathLike[str] | None

Protocol = Literal["published", "shuffled", "small-200", "small-50", "honest"]
PROTOCOLS: tuple[Protocol, ...] = ("published", "shuffled", "small-200", "small-50", "honest")
_SMALL: dict[Protocol, int] = {"small-200": 200, "small-50": 50}
WINDOW = 5
_AUTHORS_SEED = 2
_HELD_OUT = 0.2  # of the training rows, for early stopping and recalibration


@dataclass(frozen=True)
class Task:
    """One data set and how it is used.

    Attributes
    ----------
    dataset, variant : str
        As in `calibrant.datasets.load`.
    series : bool
        Windows of a series, or rows of a table.
    train_share : float
        Fraction of the rows used for training.
    """

    dataset: str
    variant: str
    series: bool
    train_share: float


TASKS = {
    name: Task(name, "raw", series=False, train_share=0.8)
    for name in ("power_plant", "protein", "naval", "wine")
} | {
    name: Task(name, "as_run", series=True, train_share=0.7)
    for name in ("bike_sharing", "pickups", "pm25", "metro_traffic", "air_quality")
}


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, test rows, and how to hold out some of the training rows.

    Attributes
    ----------
    X_train, X_test : array of shape (n, d), or Windows of shape (n, 5, d)
    y_train, y_test : array of shape (n,)
    hold_out : dict
        `cv` or `groups` for ``fit``: which training rows to hold out.
    """

    X_train: Any
    y_train: Array
    X_test: Any
    y_test: Array
    hold_out: dict[str, Any] = field(default_factory=dict)


def splits_differ(protocol: str, task: Task) -> bool:
    """Whether every trial has a split of its own; otherwise trials differ only in their seed."""
    return not task.series or protocol.startswith(("shuffled", "small"))


def make_split(
    task: Task,
    protocol: Protocol,
    trial: int,
    data_dir: Folder = None,
    rows: int | None = None,
) -> Split:
    """Split a task for one trial.

    Parameters
    ----------
    task : Task
    protocol : {"published", "shuffled", "small-200", "small-50", "honest"}
    trial : int
        Seed of the split. Settings are chosen on trials from 100 on, and results are reported
        for trials below 100.
    data_dir : path, optional
        Folder of the data sets.
    rows : int, optional
        Use only about this many rows, for a quick run.
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(f"protocol must be one of {', '.join(PROTOCOLS)}; got {protocol!r}.")
    if protocol in _SMALL:
        full = make_split(task, "shuffled", trial, data_dir, rows)
        few = slice(_SMALL[protocol])
        return replace(full, X_train=full.X_train[few], y_train=full.y_train[few])
    if task.series:
        return _split_series(task, protocol, trial, _series(task, protocol, data_dir, rows))
    data = _load(task.dataset, task.variant, data_dir)
    if rows is not None:
        data = _with_rows(data, slice(None, None, max(1, len(data.y) // rows)))
    return _split_table(task, protocol, trial, data)


def _load(name: str, variant: str, data_dir: Folder) -> Dataset:
    return _load_once(name, variant, None if data_dir is None else str(data_dir))


@lru_cache(maxsize=3)  # a worker runs all methods of a data set in a row
def _load_once(name: str, variant: str, data_dir: str | None) -> Dataset:
    return load(name, variant, data_dir=data_dir)


def _split_table(task: Task, protocol: Protocol, trial: int, data: Dataset) -> Split:
    X, y = data.X.to_numpy(dtype=np.float64), data.y
    order = np.random.default_rng(trial).permutation(len(y))
    if protocol != "honest":
        cut = int(task.train_share * len(y))
        return Split(X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]])
    # Rows with equal inputs form a group; groups in random order fill the training rows.
    _, group = np.unique(X, axis=0, return_inverse=True)
    dealt = order[np.argsort(_first_seen(group[order]), kind="stable")]
    cut = int(task.train_share * len(y))
    while group[dealt[cut]] == group[dealt[cut - 1]]:
        cut += 1
    train, test = dealt[:cut], dealt[cut:]
    return Split(X[train], y[train], X[test], y[test], {"groups": group[train]})


def _first_seen(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Position of the first occurrence of each row's label."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def _series(task: Task, protocol: Protocol, data_dir: Folder, rows: int | None) -> Dataset:
    data = _load(task.dataset, task.variant, data_dir)
    if protocol == "honest" and task.dataset == "metro_traffic":
        # Hours repeat, once per weather label, so a window could contain its own target. The
        # prepared file has no time stamps, but it has the rows of the raw file.
        time = _load(task.dataset, "raw", data_dir).time
        assert time is not None
        data = _with_rows(data, ~time.duplicated())
    return data if rows is None else _with_rows(data, slice(rows))


def _with_rows(data: Dataset, rows: Any) -> Dataset:
    return replace(data, frame=data.frame[rows])


def _split_series(task: Task, protocol: Protocol, trial: int, data: Dataset) -> Split:
    from calibrant.estimators import Windows

    series = data.frame.to_numpy(dtype=np.float64)  # past targets are inputs, too
    y = data.y[WINDOW:]
    windows = Windows(series, np.arange(WINDOW - 1, len(series) - 1), WINDOW)
    cut = int(task.train_share * len(y))
    hold_out: dict[str, Any] = {}
    if protocol == "published":
        order = np.random.RandomState(_AUTHORS_SEED).permutation(len(y))
    elif protocol == "shuffled":
        order = np.random.default_rng(trial).permutation(len(y))
    else:
        order = np.arange(len(y))
        kept = int((1.0 - _HELD_OUT) * cut)
        hold_out = {"cv": [(np.arange(kept), np.arange(kept, cut))]}
    train, test = order[:cut], order[cut:]
    return Split(windows[train], y[train], windows[test], y[test], hold_out)
