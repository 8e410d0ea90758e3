"""From held-out scores to a normal base of the right width and a map that has an inverse."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.distributions import MonotoneMap, Normal
from calibrant.errors import DataError

Array = NDArray[np.float64]

_FARTHEST = 5.0  # in standard deviations: beyond 8 the normal cdf is 1 to the last bit
_END = 1e-15  # no knot is nearer to 0 or 1, in probability
_STEP = 4e-16  # nor to another: twice the spacing of numbers below 1, so that rounding keeps order


class Spread(NamedTuple):
    """Mean and width of held-out scores ``(y - location) / scale``, numbers both."""

    centre: float
    width: float

    @classmethod
    def fit(cls, scores: Array, weight: Array) -> Self:
        """Standard deviation of the scores, or more where one lies far out.

        Every score is within five widths of the centre, where the normal distribution function
        still tells neighbours apart.
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

    def normal(self, location: Array, scale: Array) -> Normal:
        """Return the normal distribution with that centre and width of every row, (n,)."""
        return Normal(location + scale * self.centre, scale * self.width)


def invertible_map(x: Array, level: Array) -> MonotoneMap:
    """Join points by straight lines from (0, 0) to (1, 1), strictly increasing everywhere.

    Equal x are moved apart by a few last digits, so that the mass of a tie stays where it is;
    points that bring no new level are left out.

    Parameters
    ----------
    x, level : arrays of shape (k,)
        Not decreasing, in [0, 1].
    """
    steps = _STEP * np.arange(len(x))
    apart = np.maximum.accumulate(np.maximum(x, _END) - steps) + steps
    apart = np.minimum(apart, 1.0 - _END - steps[::-1])
    kept = (np.diff(level, prepend=0.0) > 0) & (level < 1) & (np.diff(apart, prepend=0.0) > 0)
    return MonotoneMap(apart[kept], level[kept])
