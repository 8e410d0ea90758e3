"""Empirical distributions of samples."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Flags
from calibrant.distributions._base import Distribution
from calibrant.distributions._parameters import finite, loc_and_scale, matrix_parameter
from calibrant.distributions._search import search_rows
from calibrant.distributions.monotone_map import MonotoneMap


class Empirical(Distribution):
    """Equal mass on each of m samples per row.

    Its distribution function is a step function: ``cdf`` and ``cdf_left`` differ on the samples
    and ``log_prob`` is the logarithm of the mass there, -inf elsewhere: there is no density.
    The variance is that of the m samples, divided by m.

    Parameters
    ----------
    samples : array of shape (n, m)

    Examples
    --------
    >>> from calibrant.distributions import Empirical
    >>> draws = Empirical([[3.0, 1.0, 2.0, 2.0]])
    >>> draws.cdf(2.0), draws.cdf_left(2.0), draws.ppf([0.25, 0.5])
    (array([0.75]), array([0.25]), array([[1., 2.]]))
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("samples",)
    _common_parts: ClassVar[tuple[str, ...]] = ("_levels",)

    def __init__(self, samples: ArrayLike) -> None:
        self.samples = matrix_parameter(samples, "samples")
        self.samples.sort(axis=1)
        m = self.samples.shape[1]
        self._levels: Array = np.arange(m + 1) / m  # F before the first sample and on each one

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        centre, distance = self._centred()
        return centre[:, 0] + distance @ np.diff(self._levels)

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,)."""
        _, distance = self._centred()
        masses = np.diff(self._levels)
        offset = (distance @ masses)[:, None]
        return (distance - offset) ** 2 @ masses

    def _centred(self) -> tuple[Array, Array]:
        """Median (n, 1) and the distances of all samples from it, which do not cancel."""
        centre = self._ppf(np.array([[0.5]]), np.array([[False]]))
        return centre, self.samples - centre

    def _share(self, y: Array, side: Literal["left", "right"]) -> Array:
        return self._levels[search_rows(self.samples, y, side)]

    def _cdf(self, y: Array) -> Array:
        return self._share(y, "right")

    def _cdf_left(self, y: Array) -> Array:
        return self._share(y, "left")

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        # The same levels as in the cdf, so that cdf(ppf(q)) >= q holds to the last bit.
        index = np.searchsorted(self._levels[1:], np.where(upper, 1.0 - tail, tail))
        index = np.broadcast_to(index, (len(self), tail.shape[1]))
        return np.take_along_axis(self.samples, index, axis=1)

    def _log_prob(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self._cdf(y) - self._cdf_left(y))

    def _crps(self, y: Array) -> Array:
        # The integral of (F - 1{t >= y})^2 step by step: all terms are positive.
        gaps, level = np.diff(self.samples, axis=1), self._levels[1:-1]
        start = np.zeros((len(self), 1))
        below = np.concatenate([start, np.cumsum(gaps * level**2, axis=1)], axis=1)
        above = np.cumsum((gaps * (1.0 - level) ** 2)[:, ::-1], axis=1)
        above = np.concatenate([start, above], axis=1)[:, ::-1]
        count = search_rows(self.samples, y, "right")
        left, right = np.maximum(count - 1, 0), np.minimum(count, self.samples.shape[1] - 1)
        level_y = self._levels[count]
        at_left, at_right = (np.take_along_axis(self.samples, i, axis=1) for i in (left, right))
        score = np.take_along_axis(below, left, axis=1) + np.abs(y - at_left) * level_y**2
        score += np.take_along_axis(above, right, axis=1)
        return score + np.abs(at_right - y) * (1.0 - level_y) ** 2

    def _panels(self) -> Array:
        if self.samples.shape[1] == 1:
            return np.repeat(self.samples, 2, axis=1)
        return self.samples

    def _cells_per_row(self) -> int:
        n_samples: int = self.samples.shape[1]
        return n_samples

    def _reweighted(self, monotone: MonotoneMap) -> Empirical:
        """Return the same samples with the masses that a map of the cdf gives them."""
        return self._with(_levels=monotone(self._levels))

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``: the samples move."""
        shift, factor = (v[:, None] for v in loc_and_scale(loc, scale, len(self)))
        return self._with(samples=finite(shift + factor * self.samples, "samples"))
