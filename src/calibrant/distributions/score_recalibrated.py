"""Any distribution seen through a monotone map of its normal scores, one map per row."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from calibrant.checks import Array, Flags, check_increasing
from calibrant.distributions._base import Distribution
from calibrant.distributions._parameters import matrix_parameter
from calibrant.distributions._wrapper import Wrapper
from calibrant.distributions.monotone_map import MonotoneMap
from calibrant.distributions.normal import STANDARD_PANELS, Normal
from calibrant.errors import ParameterError

END = 37.0  # the normal cdf at -37 is 6e-300, close to the smallest float64


class ScoreRecalibrated(Wrapper):
    """Distribution with ``F(y) = Phi(h_i(Phi^{-1}(F_base(y))))``, a map h_i for every row i.

    h_i is increasing and piecewise linear. It maps the knot ``knots[i, j]`` to the normal score
    of ``levels[j]``, so the quantile of that level is ``F_base^{-1}(Phi(knots[i, j]))``; from
    -37 down and from 37 up it is the identity. `Recalibrated` maps probabilities, which near 1
    have lost the digits of the upper tail. Scores reach equally far into both tails, so that even
    a base that is ten times too narrow can be recalibrated.

    Moments and CRPS are integrals with a relative error of about 1e-8.

    Parameters
    ----------
    base : Distribution of n rows
    knots : array of shape (n, k)
        Normal scores under the base, strictly increasing in each row, inside (-37, 37).
    levels : array of shape (k,)
        Levels of the knots, strictly increasing, inside (0, 1).

    Attributes
    ----------
    monotone : MonotoneMap
        The maps h_i of [-37, 37].

    Examples
    --------
    >>> from calibrant.distributions import Normal, ScoreRecalibrated
    >>> base = Normal([0.0, 0.0], [1.0, 1.0])
    >>> wider = ScoreRecalibrated(base, [[-2.0, 2.0], [-3.0, 4.0]], levels=[0.1, 0.9])
    >>> wider.interval(0.8)
    array([[-2.,  2.],
           [-3.,  4.]])
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("base", "monotone")

    def __init__(self, base: Distribution, knots: ArrayLike, levels: ArrayLike) -> None:
        super().__init__(base)
        at, scores = matrix_parameter(knots, "knots"), ndtri(check_increasing(levels, "levels"))
        if at.shape != (len(base), *scores.shape):
            raise ParameterError(
                f"knots must have one line for each of {len(base)} rows and one column for "
                f"each of {scores.size} levels, got shape {at.shape}."
            )
        self.monotone = MonotoneMap(at, scores, interval=(-END, END))

    @property
    def knots(self) -> Array:
        """Normal scores under the base at the levels, (n, k)."""
        return self.monotone.x[:, 1:-1]

    # ---- scores -----------------------------------------------------------------------------

    def _base_score(self, y: Array) -> Array:
        """Normal score of y under the base, from its nearer tail."""
        if isinstance(self.base, Normal):
            return self.base._standardize(y)
        cdf = self.base._cdf(y)
        return np.where(cdf < 0.5, ndtri(cdf), -ndtri(self.base._sf(y)))

    def _mapped(self, z: Array) -> Array:
        return np.where(np.abs(z) < END, self.monotone(z), z)

    def _score(self, y: Array) -> Array:
        return self._mapped(self._base_score(y))

    def _score_left(self, y: Array) -> Array:
        left = self.base._cdf_left(y)
        # The same number as in the cdf where the base is continuous.
        same = left == self.base._cdf(y)
        return self._mapped(np.where(same, self._base_score(y), ndtri(left)))

    def _quantile(self, score: Array) -> Array:
        """Quantile at scores of the recalibrated distribution, (1, m) or (n, m)."""
        z = np.where(np.abs(score) < END, self.monotone.inverse(score), score)
        return self.base._ppf(ndtr(-np.abs(z)), z > 0)

    # ---- the contract -----------------------------------------------------------------------

    def _cdf(self, y: Array) -> Array:
        return ndtr(self._score(y))

    def _cdf_left(self, y: Array) -> Array:
        return ndtr(self._score_left(y))

    def _sf(self, y: Array) -> Array:
        return ndtr(-self._score(y))

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        score = ndtri(tail)
        return self._quantile(np.where(upper, -score, score))

    def _log_prob(self, y: Array) -> Array:
        z = np.clip(self._base_score(y), -END, END)  # beyond, the base has no density
        score, slope = self.monotone(z), self.monotone.slope(z)
        density = self.base._log_prob(y) + np.log(slope) + 0.5 * (z * z - score * score)
        atom = self.base._cdf(y) > self.base._cdf_left(y)
        if not atom.any():
            return density
        high, low = self._score(y), self._score_left(y)
        low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        with np.errstate(divide="ignore", invalid="ignore"):  # no mass, or no atom
            share = np.exp(log_ndtr(low) - log_ndtr(high))
            mass = log_ndtr(high) + np.log1p(-share)
        return np.where(atom, mass, density)

    def _panels(self) -> Array:
        # Those of the base, the kinks, and where a normal distribution of scores has its mass.
        kinks, standard = self.monotone.y[None, 1:-1], STANDARD_PANELS[None]
        cuts = self._quantile(np.concatenate([kinks, standard], axis=1))
        return np.sort(np.concatenate([self.base._panels(), cuts], axis=1), axis=1)

    def _cells_per_row(self) -> int:
        n_knots = len(self.monotone.y) - 2
        return self.base._cells_per_row() + n_knots + len(STANDARD_PANELS)
