"""Scaling of inputs and targets, fitted on training rows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from scipy.special import ndtri

from calibrant.checks import Array
from calibrant.persistence import savable_part

Scaling = Literal["standard", "robust", "minmax"]

_SMOOTH_LIMIT = 8.0  # largest scaled input, in robust units
_ROUNDING = 1e-14  # relative difference below which values count as equal
_TARGET_LIMIT = 50.0  # robust units to which training targets are clipped


@savable_part
@dataclass(frozen=True, eq=False)
class Scaler:
    """``z = (value - loc) / scale``, column by column.

    With a `limit` it is ``z / sqrt(1 + (z / limit)^2)``, which never exceeds it: rows far from the
    training rows look like rows at their edge.
    """

    loc: Array
    scale: Array
    limit: float | None = None

    def transform(self, values: Array) -> Array:
        """Scale values of shape (n, d), or (n,) for a target."""
        scaled = (values - self.loc) / self.scale
        if self.limit is None:
            return scaled
        return scaled / np.hypot(1.0, scaled / self.limit)


def fit_scaler(values: Array, weights: Array, scaling: Scaling) -> Scaler:
    """Fit the scaling of inputs, (n, d), on training rows.

    "standard" is mean and standard deviation, "minmax" minimum and range, "robust" the median and
    the distance of the quartiles, 1.35 standard deviations of a normal, with a smooth limit. A
    constant column is only shifted: it becomes 0.
    """
    if scaling == "robust":
        used = values[weights > 0]
        low, first, loc, third, high = np.quantile(used, [0.0, 0.25, 0.5, 0.75, 1.0], axis=0)
        # Half of a column may have one value: a rare one must then not be thousands of units away.
        same = third - first <= _ROUNDING * np.maximum(abs(first), abs(third))
        scale = np.where(same, (high - low) / 2.0, third - first) / 1.35
        size = np.where(same, np.maximum(abs(low), abs(high)), 0.0)
        return _scaler(loc, scale, size, _SMOOTH_LIMIT)
    size = np.abs(values).max(axis=0)
    if scaling == "minmax":
        return _scaler(values.min(axis=0), np.ptp(values, axis=0), size)
    # In units of the largest value, because squares of 1e200 would overflow.
    unit = np.maximum(size, np.finfo(np.float64).tiny)
    share = values / unit
    centre = np.average(share, axis=0, weights=weights)
    spread = np.sqrt(np.average((share - centre) ** 2, axis=0, weights=weights))
    return _scaler(centre * unit, spread * unit, size)


def _scaler(loc: Array, scale: Array, size: Array, limit: float | None = None) -> Scaler:
    """Scaler of columns of values of this size; a spread that is rounding error becomes 1."""
    constant = scale <= _ROUNDING * size
    return Scaler(np.asarray(loc), cast(Array, np.where(constant, 1.0, scale)), limit)


def fit_target_scaler(y: Array, weights: Array, scaling: Scaling) -> Scaler:
    """As `fit_scaler`; the scale of a constant target is a millionth of its size.

    "robust" is the median and the central 90% of the values in standard deviations of a normal, so
    that one outlier does not set the unit.
    """
    if np.ptp(y) == 0:
        return Scaler(y[:1].reshape(()), np.asarray(1e-6 * (abs(y[0]) or 1.0)))
    if scaling != "robust":
        return fit_scaler(y, weights, scaling)
    used = y[weights > 0]
    for level in (0.95, 0.99):  # most values may be equal, such as zeros
        low, centre, high = np.quantile(used, [1.0 - level, 0.5, level])
        if high - low > _ROUNDING * max(abs(low), abs(high)):
            return Scaler(np.asarray(centre), np.asarray((high - low) / (2.0 * ndtri(level))))
    return fit_scaler(y, weights, "standard")


def scaled_target(scaler: Scaler, y: Array) -> Array:
    """Scaled training targets, clipped to 50 units, so that no single row dominates the loss."""
    return np.clip(scaler.transform(y), -_TARGET_LIMIT, _TARGET_LIMIT)
