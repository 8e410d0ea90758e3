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
    weights: NDArray[np.float64],
    *,
    fraction: float,
    groups: ArrayLike | None,
    cv: Any,
    random_state: int,
) -> tuple[Index, Index]:
    """Positions of the rows to train on and of the rows to hold out.

    Parameters
    ----------
    weights : array of shape (n,)
        Rows of weight 0 are on neither side.
    fraction : float
        Share of rows (of groups, where given) held out if `cv` is None.
    groups : array of shape (n,) or None
        Rows of one group are never on both sides.
    cv : None, int, splitter or iterable of (train, test)
        An int k holds out 1/k of the rows. Of a splitter or an iterable the last split is
        taken: with ``TimeSeriesSplit`` that is the newest block after all others.
    """
    n = len(weights)
    labels = None if groups is None else np.asarray(groups)
    if labels is not None and labels.shape != (n,):
        raise DataError(f"groups must have one label a row, ({n},), got shape {labels.shape}.")
    # A user's own splitter counts all rows; a split at random must not see those without weight.
    rows = np.arange(n) if _is_own(cv) else np.flatnonzero(weights > 0)
    labels = None if labels is None else labels[rows]
    if cv is None and labels is None:
        train, held_out = _at_random(len(rows), fraction, random_state)
    else:
        splitter = cv if _is_own(cv) else _splitter(cv, labels, fraction, random_state)
        train, held_out = _last_split(splitter, len(rows), labels)
    sides = rows[train], rows[held_out]
    return _checked(*(side[weights[side] > 0] for side in sides))


def _is_own(cv: Any) -> bool:
    return cv is not None and not isinstance(cv, int | np.integer)


def _at_random(n: int, fraction: float, random_state: int) -> tuple[Index, Index]:
    held_out = min(max(2, math.ceil(_share(fraction) * n)), n - 2)
    order = np.random.default_rng(random_state).permutation(n)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def _splitter(cv: int | None, labels: Any, fraction: float, random_state: int) -> Any:
    if cv is None:
        return GroupShuffleSplit(n_splits=1, test_size=_share(fraction), random_state=random_state)
    if cv < 2:
        raise ParameterError(f"cv must be a number of at least 2 folds, got {cv}.")
    if labels is None:
        return KFold(int(cv), shuffle=True, random_state=random_state)
    return GroupKFold(int(cv))


def _share(fraction: float) -> float:
    if not 0 < fraction < 1:
        raise ParameterError(f"validation_fraction must lie in (0, 1), got {fraction}.")
    return fraction


def _last_split(cv: Any, n: int, labels: NDArray[Any] | None) -> tuple[Index, Index]:
    try:
        own = hasattr(cv, "split")
        splits: Iterable[Any] = cv.split(np.zeros((n, 1)), None, labels) if own else cv
        *_, (train, held_out) = splits
        return np.arange(n)[train], np.arange(n)[held_out]  # positions or masks
    except (TypeError, ValueError, IndexError) as error:
        raise ParameterError(
            f"Can't hold out some of the {n} rows with {cv!r}: {error} cv must be a number of "
            "folds, a scikit-learn splitter or a list of (train, test) positions."
        ) from error


def _checked(train: Index, held_out: Index) -> tuple[Index, Index]:
    if len(train) < 2 or len(held_out) < 2:
        raise DataError(
            f"The inner split leaves {len(train)} rows to train on and {len(held_out)} to hold "
            "out; both need at least 2. Change cv, groups or validation_fraction."
        )
    if np.intersect1d(train, held_out).size:
        raise DataError("The inner split must name different rows on its two sides.")
    return train, held_out
