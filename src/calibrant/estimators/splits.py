"""Inner splits: which training rows are held out for early stopping and recalibration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit

from calibrant.checks import Index
from calibrant.checks.folds import make_folds
from calibrant.errors import DataError

Fold = tuple[Index, Index]  # positions to train on, positions held out

_GROUP_FOLDS = 5


def inner_split(
    weights: NDArray[np.float64],
    *,
    fraction: float,
    groups: ArrayLike | None,
    cv: Any,
    random_state: int,
) -> tuple[Index, Index]:
    """Return positions of the rows to train on and of the rows to hold out.

    Parameters
    ----------
    weights : array of shape (n,)
        Rows of weight 0 are on neither side.
    fraction : float
        Share of rows (of groups, where given) held out if `cv` is None.
    groups : array of shape (n,) or None
        Rows of one group are never on both sides.
    cv : None, int, splitter or iterable of (train, test)
        An int k holds out 1/k of the rows. Of a splitter or an iterable the last split is used:
        with ``TimeSeriesSplit`` that is the newest block.
    """
    n = len(weights)
    labels = None if groups is None else np.asarray(groups)
    # A splitter of the user counts all rows; a random split must leave out rows of weight 0.
    rows = np.arange(n) if _is_splitter(cv) else np.flatnonzero(weights > 0)
    labels = None if labels is None else labels[rows]
    if cv is None and labels is None:
        train, held_out = _at_random(len(rows), fraction, random_state)
    else:
        if cv is None and labels is not None:
            if len(set(labels.tolist())) < 2:
                raise DataError(
                    f"Can't hold out a group: all {len(rows)} rows belong to one. Pass at least "
                    "two groups, or validation_data."
                )
            cv = GroupShuffleSplit(1, test_size=fraction, random_state=random_state)
        blank = np.zeros((len(rows), 1))  # splitters only count rows
        folds = make_folds(cv, blank, None, labels, random_state=random_state)
        train, held_out = folds[-1]
    sides = rows[train], rows[held_out]
    return _checked(*(side[weights[side] > 0] for side in sides))


def cross_folds(
    n_rows: int, folds: int, groups: NDArray[Any] | None, random_state: int
) -> list[Fold]:
    """Return positions (train, held out) of every fold; each row is held out once."""
    blank = np.zeros((n_rows, 1))  # splitters only count rows
    splits = make_folds(folds, blank, None, groups, random_state=random_state)
    return [_checked(train, held_out) for train, held_out in splits]


def group_folds(groups: NDArray[Any]) -> Iterator[Fold]:
    """Yield positions (train, held out) of up to five folds; no group is on both sides of one."""
    folds = GroupKFold(min(_GROUP_FOLDS, len(np.unique(groups))))
    yield from folds.split(groups, groups=groups)


def _is_splitter(cv: Any) -> bool:
    return cv is not None and not isinstance(cv, int | np.integer)


def _at_random(n: int, fraction: float, random_state: int) -> tuple[Index, Index]:
    held_out = min(max(2, math.ceil(fraction * n)), n - 2)
    order = np.random.default_rng(random_state).permutation(n)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def _checked(train: Index, held_out: Index) -> tuple[Index, Index]:
    if len(train) < 2 or len(held_out) < 2:
        raise DataError(
            f"The inner split leaves {len(train)} rows to train on and {len(held_out)} to hold "
            "out; both need at least 2. Change cv, groups or validation_fraction."
        )
    return train, held_out
