"""Checks of forecasts and targets, shared by metrics, figures and report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import Array, as_array, finite_numbers
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError

Levels = Sequence[float] | NDArray[Any]  # several probabilities, in contrast to one float


def check_target(dist: Distribution, y: ArrayLike) -> Array:
    """Return the observed targets as float64, (n,): one finite number for each row of dist."""
    check_dist(dist)
    return finite_numbers(column(y, "y", len(dist)), "y")


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
    array = as_array(values)
    # (n,) with (n, 1) would silently broadcast to (n, n).
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n_rows,):
        raise DataError(
            f"{name} must have one value for each of the {n_rows} rows of the distribution, "
            f"shape ({n_rows},) or ({n_rows}, 1), got shape {np.shape(values)}."
        )
    return array
