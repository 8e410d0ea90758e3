"""Checks of forecasts, targets and levels, shared by metrics, figures and report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError

Array = NDArray[np.float64]
Levels = Sequence[float] | NDArray[Any]  # several probabilities, in contrast to one float


def check_target(dist: Distribution, y: ArrayLike) -> Array:
    """Return the observed targets as float64, (n,): one finite number for each row of dist."""
    check_dist(dist)
    values = column(y, "y", len(dist))
    try:
        target = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers, but {error}. Convert or drop these rows.") from error
    wrong = np.flatnonzero(~np.isfinite(target))
    if len(wrong):
        raise DataError(
            f"y must be finite, but {len(wrong)} of {len(target)} values are not "
            f"(the first is {target[wrong[0]]} in row {wrong[0]}). Drop or impute these rows."
        )
    return target


def check_dist(dist: Distribution) -> None:
    """Check that the forecast is a distribution with at least one row."""
    if not isinstance(dist, Distribution):
        raise ParameterError(
            f"Expected a predictive distribution, got {type(dist).__name__}. Use "
            "`model.predict_dist(X)`, or build one, such as Normal(mean, stddev) or "
            "Empirical(samples), from calibrant.distributions."
        )
    if len(dist) == 0:
        raise DataError("Metrics need at least one row, got a distribution without rows.")


def column(values: Any, name: str, n_rows: int) -> NDArray[Any]:
    """Return n_rows values of any type as an array of shape (n,); (n, 1) is flattened."""
    if hasattr(values, "detach"):  # a tensor may need gradients or be on another device
        values = values.detach().cpu()
    array = np.asarray(values)
    # (n,) with (n, 1) would silently broadcast to (n, n).
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n_rows,):
        raise DataError(
            f"{name} must have one value for each of the {n_rows} rows of the distribution, "
            f"shape ({n_rows},) or ({n_rows}, 1), got shape {np.shape(values)}."
        )
    return array


def check_levels(levels: ArrayLike, name: str) -> Array:
    """Return one probability, as a 0-d array, or a list of them, (L,), all inside (0, 1)."""
    array = np.asarray(levels, dtype=np.float64)
    if array.ndim > 1 or array.size == 0 or not np.all((array > 0) & (array < 1)):
        shown = np.array2string(array, precision=4, threshold=6, edgeitems=2)
        raise ParameterError(
            f"{name} must be one number or a list of numbers in (0, 1), got {shown}."
        )
    return array


def check_level(level: float, name: str) -> float:
    """Return one probability inside (0, 1)."""
    array = check_levels(level, name)
    if array.ndim:
        raise ParameterError(f"{name} must be one number in (0, 1), got {array.size} of them.")
    return float(array)
