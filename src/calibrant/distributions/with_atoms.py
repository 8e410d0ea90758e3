"""Any distribution with the mass around some points moved onto them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Flags, as_numbers, show
from calibrant.distributions._base import Distribution
from calibrant.distributions._search import search_rows
from calibrant.distributions._wrapper import Wrapper
from calibrant.errors import ParameterError


class WithAtoms(Wrapper):
    """Distribution of Y with every ``low_j < Y <= high_j`` replaced by ``points_j``.

    For targets with atoms, such as whole numbers, grades or many zeros: a density, however
    narrow its peaks, gives no single value a probability.

    Inside a cell all mass is on its point; other values there have density 0. Moments and CRPS
    are integrals with a relative error of about 1e-8, over three panels per point, but the mean
    over a mixture, recalibrated or not, is a sum over the ends of the cells.

    Parameters
    ----------
    base : Distribution of n rows
    points : array of shape (A,) or (n, A)
        Increasing.
    low, high : arrays of the same shape
        Cells around the points, ``low < points <= high``, that do not overlap.

    Examples
    --------
    >>> from calibrant.distributions import Normal, WithAtoms
    >>> grades = WithAtoms(Normal([2.2], [0.5]), [1, 2, 3], [0.5, 1.5, 2.5], [1.5, 2.5, 3.5])
    >>> grades.ppf([0.05, 0.5, 0.9]), (grades.cdf(2.0) - grades.cdf_left(2.0)).round(3)
    (array([[1., 2., 3.]]), array([0.645]))
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("base", "points", "low", "high")
    _in_target_units: ClassVar[tuple[str, ...]] = ("points", "low", "high")

    def __init__(
        self, base: Distribution, points: ArrayLike, low: ArrayLike, high: ArrayLike
    ) -> None:
        super().__init__(base)
        self.points, self.low, self.high = (
            self._for_rows(values, name)
            for values, name in ((points, "points"), (low, "low"), (high, "high"))
        )
        if not self.points.shape == self.low.shape == self.high.shape:
            raise ParameterError(
                "points, low and high must have one shape, got "
                f"{self.points.shape}, {self.low.shape} and {self.high.shape}."
            )
        around = (self.low < self.points) & (self.points <= self.high)
        if not around.all() or not np.all(self.high[:, :-1] <= self.low[:, 1:]):
            raise ParameterError(
                "Every point must lie in its cell, low < point <= high, and cells must not "
                f"overlap, got points {show(self.points)}, low {show(self.low)} and high "
                f"{show(self.high)}."
            )

    def _for_rows(self, values: ArrayLike, name: str) -> Array:
        array = as_numbers(values, name)
        return np.broadcast_to(array, (len(self.base), array.shape[-1]))

    def _cell(self, y: Array) -> tuple[Flags, Array, Array, Array]:
        """Whether values lie in a cell; its point, low and high, or else those of another one."""
        j = np.minimum(search_rows(self.high, y, "left"), self.high.shape[1] - 1)
        point, low, high = (
            np.take_along_axis(each, j, axis=1) for each in (self.points, self.low, self.high)
        )
        return (low < y) & (y <= high), point, low, high

    def _limit(self, y: Array) -> Array:
        """Largest value of the base that is moved to y or below."""
        inside, point, low, high = self._cell(y)
        return np.where(inside, np.where(y < point, low, high), y)

    def _snap(self, y: Array) -> Array:
        inside, point, _, _ = self._cell(y)
        return np.where(inside, point, y)

    def _cdf(self, y: Array) -> Array:
        return self.base._cdf(self._limit(y))

    def _cdf_left(self, y: Array) -> Array:
        inside, point, low, high = self._cell(y)
        ends = self.base._cdf(np.where(y <= point, low, high))
        return np.where(inside, ends, self.base._cdf_left(y))

    def _sf(self, y: Array) -> Array:
        return self.base._sf(self._limit(y))

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        return self._snap(self.base._ppf(tail, upper))

    def _log_prob(self, y: Array) -> Array:
        inside, point, low, high = self._cell(y)
        below = self.base._cdf(high) - self.base._cdf(low)
        above = self.base._sf(low) - self.base._sf(high)  # has the digits in the upper tail
        mass = np.where(self.base._cdf(low) > 0.5, above, below)
        with np.errstate(divide="ignore"):
            at_point = np.where(y == point, np.log(mass), -np.inf)
        return np.where(inside, at_point, self.base._log_prob(y))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self._snap(self.base._sample(n, rng))

    def _mean_and_shortfall(self, y: Array) -> tuple[Array, Array, Array] | None:
        edges = np.concatenate([self.low, self.high], axis=1)
        found = self.base._mean_and_shortfall(np.concatenate([edges, y], axis=1))
        if found is None:
            return None
        mean, shortfall, cdf = found
        n_points = self.points.shape[1]
        from_low, to_high, at_y = np.split(shortfall, [n_points, 2 * n_points], axis=1)
        cdf_low, cdf_high, cdf_y = np.split(cdf, [n_points, 2 * n_points], axis=1)
        # A shortfall is the integral of the cdf, which is constant on either side of a point.
        steps = (self.points - self.low) * cdf_low + (self.high - self.points) * cdf_high
        more = steps - (to_high - from_low)
        own, own_cdf = at_y.copy(), cdf_y.copy()
        for j in range(n_points if y.shape[1] else 0):
            point, low, high = (e[:, j, None] for e in (self.points, self.low, self.high))
            left, right = np.minimum(y, point) - low, np.maximum(y - point, 0.0)
            part = left * cdf_low[:, j, None] + right * cdf_high[:, j, None]
            part -= at_y - from_low[:, j, None]
            own += np.where(y >= high, more[:, j, None], np.where(y > low, part, 0.0))
            at_point = np.where(y < point, cdf_low[:, j, None], cdf_high[:, j, None])
            own_cdf = np.where((low < y) & (y <= high), at_point, own_cdf)
        return mean - more.sum(axis=1), own, own_cdf

    def _panels(self) -> Array:
        # A point may lie beyond the panels of the base, and its cell inside.
        edges = (self.base._panels(), self.low, self.points, self.high)
        return np.sort(np.concatenate(edges, axis=1), axis=1)

    def _cells_per_row(self) -> int:
        n_points: int = self.points.shape[1]
        return self.base._cells_per_row() + 3 * n_points
