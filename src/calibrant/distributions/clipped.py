"""Any distribution with its values held inside bounds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Flags, show
from calibrant.distributions._base import Distribution
from calibrant.distributions._parameters import spread_over_rows
from calibrant.distributions._wrapper import Wrapper
from calibrant.errors import ParameterError


class Clipped(Wrapper):
    """Distribution of ``min(max(Y, low), high)``: the mass outside moves onto the bounds.

    Quantiles outside the bounds move onto them and all others stay, so for a target inside the
    bounds the coverage is unchanged and the CRPS can only fall. (Truncation, which rescales the
    mass inside, would move all quantiles and undo a calibration.) The mean over a mixture,
    recalibrated or not, is that of the base and what the bounds cut off, without an integral.

    Parameters
    ----------
    base : Distribution of n rows
    low, high : float or array of shape (n,)
        Bounds, low < high; infinite where there is none.

    Examples
    --------
    >>> from calibrant.distributions import Clipped, Normal
    >>> rain = Clipped(Normal([0.0], [1.0]), low=0.0)
    >>> rain.ppf([0.3, 0.5, 0.9]).round(2), rain.cdf(0.0), rain.cdf_left(0.0)
    (array([[0.  , 0.  , 1.28]]), array([0.5]), array([0.]))
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("base", "low", "high")
    _in_target_units: ClassVar[tuple[str, ...]] = ("low", "high")

    def __init__(
        self, base: Distribution, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> None:
        super().__init__(base)
        self.low = spread_over_rows(low, "low", len(base))
        self.high = spread_over_rows(high, "high", len(base))
        wrong = ~(self.low < self.high)  # nan as well
        if wrong.any():
            raise ParameterError(
                f"low must be below high, got low={show(self.low[wrong])} "
                f"and high={show(self.high[wrong])}."
            )

    def _cdf(self, y: Array) -> Array:
        low, high = self._bounds()
        return np.where(y < low, 0.0, np.where(y >= high, 1.0, self.base._cdf(y)))

    def _cdf_left(self, y: Array) -> Array:
        low, high = self._bounds()
        return np.where(y <= low, 0.0, np.where(y > high, 1.0, self.base._cdf_left(y)))

    def _sf(self, y: Array) -> Array:
        low, high = self._bounds()
        return np.where(y < low, 1.0, np.where(y >= high, 0.0, self.base._sf(y)))

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        return np.clip(self.base._ppf(tail, upper), *self._bounds())

    def _log_prob(self, y: Array) -> Array:
        low, high = self._bounds()
        cdf, left = self.base._cdf(y), self.base._cdf_left(y)
        at_high = np.where(cdf == left, self.base._sf(y), 1.0 - left)  # P(base >= high)
        mass = np.where(y == high, at_high, cdf)
        mass = np.where(low == high, 1.0, mass)
        with np.errstate(divide="ignore"):
            log_mass = np.log(mass)
        value = np.where((y == low) | (y == high), log_mass, self.base._log_prob(y))
        return np.where((y < low) | (y > high), -np.inf, value)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.clip(self.base._sample(n, rng), *self._bounds())

    def _mean_and_shortfall(self, y: Array) -> tuple[Array, Array, Array] | None:
        low, high = self._bounds()
        bounds = np.concatenate([low, high], axis=1)
        known = np.isfinite(bounds)
        inside = np.clip(y, low, high)
        found = self.base._mean_and_shortfall(
            np.concatenate([np.where(known, bounds, 0.0), inside], axis=1)
        )
        if found is None:
            return None
        mean, shortfall, cdf = found
        # E max(low - Y, 0) is gained below, E max(Y - high, 0) is lost above.
        gained = np.where(known[:, 0], shortfall[:, 0], 0.0)
        beyond = known[:, 1] & (self.base._sf(high)[:, 0] > 0)  # else two large numbers cancel
        lost = np.where(beyond, shortfall[:, 1] - (bounds[:, 1] - mean), 0.0)
        above = np.maximum(y - inside, 0.0)
        own = shortfall[:, 2:] - gained[:, None] + above
        own_cdf = np.where(y < low, 0.0, np.where(y >= high, 1.0, cdf[:, 2:]))
        return mean + gained - np.maximum(lost, 0.0), own, own_cdf

    def _panels(self) -> Array:
        return np.clip(self.base._panels(), *self._bounds())

    def _bounds(self) -> tuple[Array, Array]:
        return self.low[:, None], self.high[:, None]
