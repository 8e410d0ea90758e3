"""The normal distribution."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from calibrant.checks import Array, Flags
from calibrant.distributions._base import Distribution
from calibrant.distributions._parameters import finite, loc_and_scale, row_parameter, same_shape

SQRT_PI = float(np.sqrt(np.pi))
LOG_SQRT_2PI = float(0.5 * np.log(2.0 * np.pi))
DENSITY_AT_0 = float(np.exp(-LOG_SQRT_2PI))

# Panel edges of a standard normal: beyond 8.3 there is 5e-17 of mass on either side.
_RIGHT_PANELS = np.array([0.8, 1.7, 2.8, 4.2, 6.0, 8.3])
STANDARD_PANELS: Array = np.concatenate([-_RIGHT_PANELS[::-1], [0.0], _RIGHT_PANELS])


def normal_pdf(z: Array) -> Array:
    """Density of the standard normal."""
    return np.exp(-0.5 * z * z - LOG_SQRT_2PI)


class Normal(Distribution):
    """One normal distribution per row.

    Parameters
    ----------
    loc : array of shape (n,)
        Means.
    scale : array of shape (n,)
        Standard deviations, > 0.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> Normal([0.0, 1.0], [1.0, 2.0]).interval(0.5).round(3)
    array([[-0.674,  0.674],
           [-0.349,  2.349]])
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("loc", "scale")

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        self.loc = row_parameter(loc, "loc")
        self.scale = row_parameter(scale, "scale", positive=True)
        same_shape(loc=self.loc, scale=self.scale)

    def __len__(self) -> int:
        return len(self.loc)

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        return self.loc.copy()

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,)."""
        return self.scale**2

    @property
    def stddev(self) -> Array:
        """Standard deviation of each row, (n,)."""
        return self.scale.copy()

    def _standardize(self, y: Array) -> Array:
        return (y - self.loc[:, None]) / self.scale[:, None]

    def _cdf(self, y: Array) -> Array:
        return ndtr(self._standardize(y))

    def _sf(self, y: Array) -> Array:
        return ndtr(-self._standardize(y))

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        z = ndtri(tail)
        return self.loc[:, None] + self.scale[:, None] * np.where(upper, -z, z)

    def _log_prob(self, y: Array) -> Array:
        z = self._standardize(y)
        return -0.5 * z * z - LOG_SQRT_2PI - np.log(self.scale)[:, None]

    def _crps(self, y: Array) -> Array:
        # sigma (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)), Gneiting and Raftery (2007)
        z = self._standardize(y)
        score = z * (2.0 * ndtr(z) - 1.0) + 2.0 * normal_pdf(z) - 1.0 / SQRT_PI
        return self.scale[:, None] * score

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.loc[:, None] + self.scale[:, None] * rng.standard_normal((len(self), n))

    def _mean_and_shortfall(self, y: Array) -> tuple[Array, Array, Array]:
        z = self._standardize(y)
        below = ndtr(z)
        return self.mean, self.scale[:, None] * (z * below + normal_pdf(z)), below

    def _panels(self) -> Array:
        return self.loc[:, None] + self.scale[:, None] * STANDARD_PANELS

    def _cells_per_row(self) -> int:
        return len(STANDARD_PANELS)

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``: again normal."""
        shift, factor = loc_and_scale(loc, scale, len(self))
        moved = finite(shift + factor * self.loc, "loc")
        return self._with(loc=moved, scale=finite(factor * self.scale, "scale", positive=True))
