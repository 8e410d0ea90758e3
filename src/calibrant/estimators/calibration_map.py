"""The calibration map: a monotone map of the distribution functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from calibrant.checks import Array
from calibrant.distributions import Distribution, MonotoneMap, Recalibrated
from calibrant.persistence import savable_part
from calibrant.recalibration import fit_conditional_pit_map, fit_pit_map

LEAST_HELD_OUT = 10  # fewer PIT values say less about the shape than the networks do


@savable_part
@dataclass(frozen=True, eq=False)
class CalibrationMap:
    """One monotone map for all rows, or one that depends on the predicted mean.

    Parameters
    ----------
    common : MonotoneMap
        The map for all rows.
    means : array of shape (B,)
        Predicted means for which a separate map was learned; empty if `common` is for all rows.
    levels : array of shape (B, k)
        Levels of these maps at the knots of `common`; interpolated between the means.
    """

    common: MonotoneMap
    means: Array
    levels: Array

    @classmethod
    def fit(
        cls,
        left: Array,
        right: Array,
        weight: Array,
        *,
        predicted_mean: Array | None = None,
        shrink: bool | Literal["spread"] = True,
    ) -> Self:
        """Learn the map from rows that the networks were not trained on.

        Parameters
        ----------
        left, right : arrays of shape (n,)
            Distribution function at both ends of the atoms of the targets, equal off the atoms.
        weight : array of shape (n,)
        predicted_mean : array of shape (n,), optional
            Without it, one map is learned for all rows.
        shrink : bool or "spread"
            As in `fit_pit_map`.
        """
        common = fit_pit_map(right, weight, left=left, shrink=shrink)
        means, levels = np.empty(0), np.empty((0, len(common.x) - 2))
        if predicted_mean is not None:
            means, levels = fit_conditional_pit_map(
                common, right, predicted_mean, weight, left=left
            )
        return cls(common, means, levels)

    def apply(self, dist: Distribution, raw: Distribution) -> Distribution:
        """Return the recalibrated distributions.

        Parameters
        ----------
        dist : Distribution
        raw : Distribution
            The same rows before atoms; their means determine the map.
        """
        if not len(self.means):
            return Recalibrated(dist, self.common)
        maps = MonotoneMap.between(self.common.x[1:-1], self.means, self.levels, raw.mean)
        return Recalibrated(dist, maps)

    def saved_fields(self) -> dict[str, Any]:
        """Arrays that describe the maps."""
        knots = {"knots": self.common.x[1:-1], "common_levels": self.common.y[1:-1]}
        return {**knots, "means": self.means, "levels": self.levels}

    @classmethod
    def from_fields(
        cls, *, knots: Array, common_levels: Array, means: Array, levels: Array
    ) -> Self:
        """Rebuild the object from its `saved_fields`."""
        return cls(MonotoneMap(knots, common_levels), means, levels)
