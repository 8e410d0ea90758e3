"""Any distribution with its values held inside bounds."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.distributions._base import Distribution, Flags, checked_base
from calibrant.distributions._checks import Array, loc_and_scale, show, spread_over_rows
from calibrant.distributions._integrate import Integrated
from calibrant.errors import ParameterError


class Clipped(Integrated):
    """Distribution of ``min(max(Y, low), high)``: the mass outside moves onto the bounds.

    Every quantile is clipped and no other moves, so for a target that lies inside the bounds
    coverage stays exactly what it was and the CRPS can only fall. (Truncation, which rescales
    the mass inside, would move all quantiles and undo a calibration.)

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

    _row_arrays: ClassVar[tuple[str, ...]] = ("base", "low", "high")

    def __init__(
        self, base: Distribution, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> None:
        self.base = checked_base(base)
        self.low = spread_over_rows(low, "low", len(base))
        self.high = spread_over_rows(high, "high", len(base))
        wrong = ~(self.low < self.high)  # nan as well
        if wrong.any():
            raise ParameterError(
                f"low must be below high, got low={show(self.low[wrong])} "
                f"and high={show(self.high[wrong])}."
            )

    def __len__(self) -> int:
        return len(self.base)

    def _cdf(self, y: Array) -> Array:
        low, high = self.low[:, None], self.high[:, None]
        return np.where(y < low, 0.0, np.where(y >= high, 1.0, self.base._cdf(y)))

    def _cdf_left(self, y: Array) -> Array:
        low, high = self.low[:, None], self.high[:, None]
        return np.where(y <= low, 0.0, np.where(y > high, 1.0, self.base._cdf_left(y)))

    def _sf(self, y: Array) -> Array:
        low, high = self.low[:, None], self.high[:, None]
        return np.where(y < low, 1.0, np.where(y >= high, 0.0, self.base._sf(y)))

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        return self._clip(self.base._ppf(tail, upper))

    def _log_prob(self, y: Array) -> Array:
        low, high = self.low[:, None], self.high[:, None]
        cdf, left = self.base._cdf(y), self.base._cdf_left(y)
        at_high = np.where(cdf == left, self.base._sf(y), 1.0 - left)  # P(base >= high)
        mass = np.where(y == high, at_high, cdf)
        mass = np.where(low == high, 1.0, mass)
        with np.errstate(divide="ignore"):
            log_mass = np.log(mass)
        value = np.where((y == low) | (y == high), log_mass, self.base._log_prob(y))
        return np.where((y < low) | (y > high), -np.inf, value)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self._clip(self.base._sample(n, rng))

    def _panels(self) -> Array:
        return self._clip(self.base._panels())

    def _clip(self, values: Array) -> Array:
        return np.clip(values, self.low[:, None], self.high[:, None])

    def _cells_per_row(self) -> int:
        return self.base._cells_per_row()

    def __repr__(self) -> str:
        return f"Clipped({self.base!r})"

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``; the bounds move with the base."""
        shift, factor = loc_and_scale(loc, scale, len(self))
        # Unchecked: bounds closer than the digits of loc may fall together.
        return self._with(
            base=self.base.affine(shift, factor),
            low=shift + factor * self.low,
            high=shift + factor * self.high,
        )
