"""Location and scale of held-out residuals, for a normal base distribution."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from calibrant.checks import Array
from calibrant.distributions import Distribution, Normal
from calibrant.errors import DataError

_FARTHEST = 5.0  # in scales: beyond 8 the normal cdf is 1 to the last bit


class ResidualScale(NamedTuple):
    """Mean and scale of held-out scores ``(y - location) / scale``."""

    centre: float
    width: float

    @classmethod
    def fit(cls, scores: Array, weight: Array) -> Self:
        """Take the standard deviation as the width, or more where a score is far out.

        Every score lies within five widths of the centre, where the normal cdf still tells
        neighbouring scores apart.

        Parameters
        ----------
        scores, weight : arrays of shape (n,)
        """
        centre = float(np.average(scores, weights=weight))
        away = scores - centre
        deviation = float(np.sqrt(np.average(away**2, weights=weight)))
        width = max(deviation, float(np.abs(away).max()) / _FARTHEST)
        if width == 0.0:
            raise DataError(
                f"All calibration residuals equal {centre:g}: there is no spread to learn from. "
                "Are they the rows that the model was fitted on? Use others, or cross_fit."
            )
        return cls(centre, width)

    @classmethod
    def of_points(cls, prediction: Distribution | Array, y: Array, weight: Array) -> Self | None:
        """Fit the residuals of points; None for distributions, which have a spread already."""
        if isinstance(prediction, Distribution):
            return None
        return cls.fit(y - prediction, weight)

    def normal(self, location: Array, scale: Array) -> Normal:
        """Return the normal distributions of rows with this location and scale, (n,) each."""
        return Normal(location + scale * self.centre, scale * self.width)


def with_residuals(prediction: Distribution | Array, scale: ResidualScale | None) -> Distribution:
    """Return predicted distributions as they are, and points as normals with these residuals."""
    if isinstance(prediction, Distribution):
        return prediction
    assert scale is not None
    return scale.normal(prediction, np.ones(len(prediction)))
