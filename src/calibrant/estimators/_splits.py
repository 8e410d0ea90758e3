"""Inner splits: which training rows are held out for early stopping and recalibration."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold

from calibrant.errors import DataError, ParameterError

Index = NDArray[np.intp]


def inner_split(
    n: int,
    *,
    fraction: float,
    groups: ArrayLike | None,
    cv: Any,
    random_state: int,
) -> tuple[Index, Index]:
    """Positions of the rows to train on and of the rows to hold out.

    Parameters
    ----------
    n : int
        Number of rows.
    fraction : float
        Share of rows (of groups, where given) held out if `cv` is None.
    groups : array of shape (n,) or None
        Rows of one group are never on both sides.
    cv : None, int, splitter or iterable of (train, test)
        An int k holds out 1/k of the rows. Of a splitter or an iterable the last split is
        taken: with ``TimeSeriesSplit`` that is the newest block after all others.
    """
    labels = None if groups is None else np.asarray(groups)
    if labels is not None and labels.shape != (n,):
        raise DataError(f"groups must have one label a row, ({n},), got shape {labels.shape}.")
    if cv is None:
        if not 0 < fraction < 1:
            raise ParameterError(f"validation_fraction must lie in (0, 1), got {fraction}.")
        if labels is None:
            order = np.random.default_rng(random_state).permutation(n)
            held_out = min(max(2, math.ceil(fraction * n)), n - 2)
            return np.sort(order[held_out:]), np.sort(order[:held_out])
        cv = GroupShuffleSplit(n_splits=1, test_size=fraction, random_state=random_state)
    elif isinstance(cv, int | np.integer):
        folds = int(cv)
        cv = KFold(folds, shuffle=True, random_state=random_state)
        if labels is not None:
            cv = GroupKFold(folds)
    return _checked(_last_split(cv, n, labels), n)


def _last_split(cv: Any, n: int, labels: NDArray[Any] | None) -> tuple[ArrayLike, ArrayLike]:
    try:
        splits: Iterable[Any] = cv.split(np.zeros((n, 1)), None, labels) if _splits(cv) else cv
        *_, last = splits
        train, held_out = last
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"Can't hold out some of the {n} rows with {cv!r}: {error} cv must be a number of "
            "folds, a scikit-learn splitter or a list of (train, test) positions."
        ) from error
    return train, held_out


def _splits(cv: Any) -> bool:
    return hasattr(cv, "split")


def _checked(split: tuple[ArrayLike, ArrayLike], n: int) -> tuple[Index, Index]:
    train, held_out = (
        np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part, dtype=np.intp)
        for part in split
    )
    if len(train) < 2 or len(held_out) < 2:
        raise DataError(
            f"The inner split leaves {len(train)} rows to train on and {len(held_out)} to hold "
            "out; both need at least 2. Change cv, groups or validation_fraction."
        )
    if max(train.max(), held_out.max()) >= n or np.intersect1d(train, held_out).size:
        raise DataError("The inner split must name different rows on its two sides.")
    return train, held_out
