"""Scaling of inputs and targets, fitted on training rows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from calibrant.checks import Array
from calibrant.persistence import savable_part

Scaling = Literal["standard", "minmax"]


@savable_part
@dataclass(frozen=True, eq=False)
class Scaler:
    """``(value - loc) / scale``, column by column."""

    loc: Array
    scale: Array

    def transform(self, values: Array) -> Array:
        """Scale values of shape (n, d), or (n,) for a target."""
        return (values - self.loc) / self.scale


def fit_scaler(values: Array, weights: Array, scaling: Scaling) -> Scaler:
    """Fit on training rows: mean and standard deviation, or minimum and range.

    A constant column is only shifted: it becomes 0.
    """
    if scaling == "minmax":
        loc, scale = values.min(axis=0), np.ptp(values, axis=0)
    else:
        # In units of the largest value, because squares of 1e200 would overflow.
        unit = np.maximum(np.abs(values).max(axis=0), np.finfo(np.float64).tiny)
        share = values / unit
        centre = np.average(share, axis=0, weights=weights)
        spread = np.sqrt(np.average((share - centre) ** 2, axis=0, weights=weights))
        loc, scale = centre * unit, spread * unit
    # In a constant column, a remaining spread is rounding.
    constant = scale <= 1e-14 * np.abs(values).max(axis=0)
    return Scaler(np.asarray(loc), cast(Array, np.where(constant, 1.0, scale)))


def fit_target_scaler(y: Array, weights: Array, scaling: Scaling) -> Scaler:
    """As `fit_scaler`; the scale of a constant target is a millionth of its size."""
    if np.ptp(y) == 0:
        return Scaler(y[:1].reshape(()), np.asarray(1e-6 * (abs(y[0]) or 1.0)))
    return fit_scaler(y, weights, scaling)
