"""Cross-validation folds as checked row positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from calibrant.checks.arrays import Index
from calibrant.checks.rows import count_rows
from calibrant.errors import DataError, ParameterError


def make_folds(
    cv: Any, X: Any, y: Any, groups: NDArray[Any] | None, *, random_state: int = 0
) -> list[tuple[Index, Index]]:
    """Return row positions (train, test) of at least one split, with no row on both sides.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number deals the shuffled rows, or whole groups, into that many folds. An iterable may
        hold positions or masks.
    X, y : arrays or frames of n rows
        Handed to the splitter; a dict of several inputs is not.
    groups : array of shape (n,) or None
    random_state : int
        Seed of the shuffling.
    """
    n = count_rows(X)
    if isinstance(cv, int | np.integer):
        if not 2 <= cv <= n:
            raise ParameterError(f"cv must be a number of folds from 2 to {n}, got {cv}.")
        kind = KFold if groups is None else GroupKFold
        cv = kind(int(cv), shuffle=True, random_state=random_state)
    positions = np.arange(n)
    try:
        table = X if hasattr(X, "shape") else positions[:, None]
        splits: Iterable[Any] = cv.split(table, y, groups) if hasattr(cv, "split") else cv
        folds = [(positions[train], positions[test]) for train, test in splits]
    except (TypeError, ValueError, IndexError) as error:
        raise ParameterError(
            f"Can't split {n} rows with {cv!r}: {error} cv must be a number of folds, a "
            "scikit-learn splitter or a list of (train, test) positions."
        ) from error
    if not folds:
        raise ParameterError("cv must give at least one split, got none.")
    if any(np.intersect1d(train, test).size for train, test in folds):
        raise DataError("cv must have different rows on the two sides of a split.")
    return folds
