"""Checks of forecasts and targets, shared by metrics, figures and report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError

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
