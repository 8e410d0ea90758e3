"""Any distribution whose normal scores every row bends in a way of its own."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from calibrant.distributions._base import Distribution, Flags, checked_base
from calibrant.distributions._checks import Array, as_numbers, matrix_parameter, show
from calibrant.distributions._integrate import Integrated
from calibrant.distributions._rows import RowWise
from calibrant.distributions._search import search_rows
from calibrant.distributions.normal import STANDARD_PANELS, Normal
from calibrant.errors import ParameterError

END = 37.0  # the normal cdf at -37 is 6e-300, near the smallest number there is


class Warped(Integrated):
    """Distribution with ``F(y) = Phi(h_i(Phi^{-1}(F_base(y))))``, a map h_i for every row i.

    h_i is increasing and piecewise linear. It sends the knot ``knots[i, j]`` to the normal score
    of ``levels[j]``, so the quantile of that level is ``F_base^{-1}(Phi(knots[i, j]))``, and the
    ends -37 and 37 to themselves. `Recalibrated` has one map for all rows, of probabilities;
    here each row, such as each hour of a forecast, has its own, and scores reach as far into the
    upper tail as into the lower: a base that is ten times too narrow can still be repaired.

    Moments and CRPS are integrals with a relative error of about 1e-8.

    Parameters
    ----------
    base : Distribution of n rows
    knots : array of shape (n, k)
        Normal scores under the base, strictly increasing in each row, inside (-37, 37).
    levels : array of shape (k,)
        Levels that the knots get, strictly increasing, inside (0, 1).

    Examples
    --------
    >>> from calibrant.distributions import Normal, Warped
    >>> wider = Warped(Normal([0.0, 0.0], [1.0, 1.0]), [[-2.0, 2.0], [-3.0, 4.0]], [0.1, 0.9])
    >>> wider.interval(0.8)
    array([[-2.,  2.],
           [-3.,  4.]])
    """

    _row_arrays: ClassVar[tuple[str, ...]] = ("base", "knots")

    def __init__(self, base: Distribution, knots: ArrayLike, levels: ArrayLike) -> None:
        self.base = checked_base(base)
        self.knots = matrix_parameter(knots, "knots")  # (n, k)
        self.levels = as_numbers(levels, "levels").copy()
        if self.knots.shape != (len(self.base), *self.levels.shape):
            raise ParameterError(
                f"knots must have one line for each of {len(self.base)} rows and one column for "
                f"each of {self.levels.size} levels, got shape {self.knots.shape}."
            )
        _increasing(self.levels[None], 0.0, 1.0, "levels")
        _increasing(self.knots, -END, END, "knots")
        self._scores: Array = np.concatenate([[-END], ndtri(self.levels), [END]])  # (k + 2,)

    def __len__(self) -> int:
        return len(self.base)

    # ---- the map and its inverse ------------------------------------------------------------

    def _places(self) -> Array:
        """Knots with both ends, (n, k + 2)."""
        end = np.full((len(self), 1), END)
        return np.concatenate([-end, self.knots, end], axis=1)

    def _warp(self, z: Array) -> tuple[Array, Array]:
        """Return h and its slope at scores of the base, (n, m) each."""
        places = self._places()
        piece = np.clip(search_rows(places, z, "right") - 1, 0, len(self._scores) - 2)
        left, right = (np.take_along_axis(places, piece + step, axis=1) for step in (0, 1))
        slope = (self._scores[piece + 1] - self._scores[piece]) / (right - left)
        return self._scores[piece] + (z - left) * slope, slope

    def _unwarp(self, score: Array) -> Array:
        """Inverse of h at scores (1, m) or (n, m)."""
        places = self._places()
        piece = np.searchsorted(self._scores, score, side="right") - 1
        piece = np.clip(piece, 0, len(self._scores) - 2)
        low, high = self._scores[piece], self._scores[piece + 1]
        rows = np.broadcast_to(piece, (len(self), piece.shape[1]))
        left, right = (np.take_along_axis(places, rows + step, axis=1) for step in (0, 1))
        inverse: Array = left + (score - low) * ((right - left) / (high - low))
        return inverse

    def _base_score(self, y: Array) -> Array:
        """Normal score of y under the base, from its nearer tail."""
        if isinstance(self.base, Normal):
            return self.base._standardise(y)
        cdf = self.base._cdf(y)
        return np.where(cdf < 0.5, ndtri(cdf), -ndtri(self.base._sf(y)))

    def _quantile(self, z: Array) -> Array:
        """Quantile of the base at scores, (1, m) or (n, m)."""
        return self.base._ppf(ndtr(-np.abs(z)), z > 0)

    # ---- the contract -----------------------------------------------------------------------

    def _score(self, y: Array) -> Array:
        return self._warp(self._base_score(y))[0]

    def _score_left(self, y: Array) -> Array:
        left = self.base._cdf_left(y)
        # The same number as in the cdf where the base is continuous.
        same = left == self.base._cdf(y)
        return self._warp(np.where(same, self._base_score(y), ndtri(left)))[0]

    def _cdf(self, y: Array) -> Array:
        return ndtr(self._score(y))

    def _cdf_left(self, y: Array) -> Array:
        return ndtr(self._score_left(y))

    def _sf(self, y: Array) -> Array:
        return ndtr(-self._score(y))

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        score = ndtri(tail)
        return self._quantile(self._unwarp(np.where(upper, -score, score)))

    def _log_prob(self, y: Array) -> Array:
        z = np.clip(self._base_score(y), -END, END)  # beyond, the base has no density
        score, slope = self._warp(z)
        density = self.base._log_prob(y) + np.log(slope) + 0.5 * (z * z - score * score)
        atom = self.base._cdf(y) > self.base._cdf_left(y)
        if not atom.any():
            return density
        high, low = self._score(y), self._score_left(y)
        low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        with np.errstate(divide="ignore", invalid="ignore"):  # of no mass, or outside the atoms
            share = np.exp(log_ndtr(low) - log_ndtr(high))
            mass = log_ndtr(high) + np.log1p(-share)
        return np.where(atom, mass, density)

    def _panels(self) -> Array:
        # Those of the base, the kinks, and where a normal distribution of scores has its mass.
        z = np.concatenate([self.knots, self._unwarp(STANDARD_PANELS[None])], axis=1)
        return np.sort(np.concatenate([self.base._panels(), self._quantile(z)], axis=1), axis=1)

    def _cells_per_row(self) -> int:
        return self.base._cells_per_row() + len(self.levels) + len(STANDARD_PANELS)

    def _joins(self, other: RowWise) -> bool:
        return (
            isinstance(other, Warped)
            and np.array_equal(self.levels, other.levels)
            and super()._joins(other)
        )

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``: the base moves, the maps stay."""
        return self._with(base=self.base.affine(loc, scale))


def _increasing(rows: Array, low: float, high: float, name: str) -> None:
    inside = np.all((rows > low) & (rows < high))
    if rows.ndim != 2 or not inside or not np.all(np.diff(rows, axis=1) > 0):
        raise ParameterError(
            f"{name} must be strictly increasing numbers inside ({low:g}, {high:g}), "
            f"got {show(rows)}."
        )
