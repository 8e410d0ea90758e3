"""Distributions given by some of their quantiles."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from calibrant.checks import Array, Flags, Index, check_quantile_levels, show
from calibrant.distributions._base import Distribution
from calibrant.distributions._parameters import finite, loc_and_scale, matrix_parameter
from calibrant.distributions._search import search_rows
from calibrant.distributions.logistic_pieces import LogisticPieces, log_cosh
from calibrant.errors import ParameterError

# Panel edges of a standard logistic: beyond 37 there is 1e-16 of mass on either side.
_RIGHT_PANELS = np.array([0.8, 1.6, 2.5, 3.5, 5.0, 7.0, 10.0, 14.0, 20.0, 27.0, 37.0])
_LOGISTIC_PANELS: Array = np.concatenate([-_RIGHT_PANELS[::-1], [0.0], _RIGHT_PANELS])


class Quantiles(Distribution):
    """Quantiles at K levels per row, interpolated linearly in the log-odds of the level.

    With ``z = log(p / (1 - p))`` the quantile function is linear in z between neighbouring
    levels, and the outermost pieces extend into the tails. A single piece is a logistic
    distribution: F is continuous, the density is positive everywhere, tails are exponential,
    and quantiles never cross. Everything has a closed form. With ``s_k`` the slope of piece k,

        CRPS(y) = sum_k s_k (c(z_k) - const_k),   c(z) = 2 log(2 cosh(z / 2)),

    where z_k is the log-odds of y, clipped to the ends of the piece.

    Parameters
    ----------
    levels : array of shape (K,)
        Strictly increasing inside (0, 1), K >= 2; common to all rows.
    values : array of shape (n, K)
        Quantiles, strictly increasing in every row.

    Examples
    --------
    >>> from calibrant.distributions import Quantiles
    >>> forecast = Quantiles([0.1, 0.5, 0.9], [[-1.0, 0.0, 3.0]])
    >>> forecast.ppf([0.05, 0.5, 0.9]).round(2), forecast.cdf(0.0)
    (array([[-1.34,  0.  ,  3.  ]]), array([0.5]))
    """

    # Distances from a centre keep the digits that values far from 0 would lose.
    _row_parts: ClassVar[tuple[str, ...]] = ("centre", "offsets")
    _common_parts: ClassVar[tuple[str, ...]] = ("levels",)

    def __init__(self, levels: ArrayLike, values: ArrayLike) -> None:
        self.levels = check_quantile_levels(levels)
        table = matrix_parameter(values, "values")
        if table.shape[1] != len(self.levels):
            raise ParameterError(
                f"values must have one column for each of {len(self.levels)} levels, got shape "
                f"{table.shape}."
            )
        rising = np.all(np.diff(table, axis=1) > 0, axis=1)
        if not rising.all():
            raise ParameterError(
                "values must increase strictly with the level, got "
                f"{show(table[np.argmin(rising)])} in row {np.argmin(rising)}."
            )
        self.centre: Array = table[:, len(self.levels) // 2].copy()
        self.offsets: Array = table - self.centre[:, None]

    def __len__(self) -> int:
        return len(self.centre)

    @property
    def values(self) -> Array:
        """Quantiles at the levels, (n, K)."""
        return self.centre[:, None] + self.offsets

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        return self.centre + self._piece_means() @ self._pieces.mass

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,): within the pieces plus between them."""
        means = self._piece_means()
        away = means - (means @ self._pieces.mass)[:, None]
        return (self._slopes() ** 2 * self._pieces.variance + away**2) @ self._pieces.mass

    @cached_property
    def _pieces(self) -> LogisticPieces:
        return LogisticPieces.between(self.levels)

    def _slopes(self) -> Array:
        return np.diff(self.offsets, axis=1) / np.diff(self._pieces.knots)

    def _piece_means(self) -> Array:
        """Mean of each piece as a distance from the centre, (n, K - 1)."""
        pieces = self._pieces
        return self.offsets[:, :-1] + self._slopes() * (pieces.mean - pieces.knots[:-1])

    def _log_odds(self, y: Array) -> tuple[Array, Index]:
        """Log-odds of F(y), and the piece that y lies on, (n, k) each."""
        away = y - self.centre[:, None]
        piece = search_rows(self.offsets[:, 1:-1], away, "right")
        start, slope = (np.take_along_axis(a, piece, 1) for a in (self.offsets, self._slopes()))
        odds = self._pieces.knots[piece] + (away - start) / slope
        return np.minimum(odds, self._pieces.ends[piece + 1]), piece  # rounding could pass the end

    def _cdf(self, y: Array) -> Array:
        return expit(self._log_odds(y)[0])

    def _sf(self, y: Array) -> Array:
        return expit(-self._log_odds(y)[0])

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        odds = np.where(upper, -logit(tail), logit(tail))
        piece = np.searchsorted(self._pieces.knots[1:-1], odds, side="right")
        along = odds - self._pieces.knots[piece]  # (1, k) or (n, k)
        piece = np.broadcast_to(piece, (len(self), piece.shape[1]))
        start, slope = (np.take_along_axis(a, piece, 1) for a in (self.offsets, self._slopes()))
        return self.centre[:, None] + (start + slope * along)

    def _log_prob(self, y: Array) -> Array:
        odds, piece = self._log_odds(y)
        return -log_cosh(odds) - np.log(np.take_along_axis(self._slopes(), piece, axis=1))

    def _crps(self, y: Array) -> Array:
        # One piece at a time: temporaries stay (rows, k) instead of (rows, k, K).
        away, slopes, pieces = y - self.centre[:, None], self._slopes(), self._pieces
        score = np.zeros(y.shape)
        for k, constant in enumerate(pieces.constants):
            slope = slopes[:, k, None]
            odds = pieces.knots[k] + (away - self.offsets[:, k, None]) / slope
            odds = np.clip(odds, pieces.ends[k], pieces.ends[k + 1])
            score += slope * (log_cosh(odds) - constant)
        return np.maximum(score, 0.0)

    def _panels(self) -> Array:
        odds = np.sort(np.concatenate([_LOGISTIC_PANELS, self._pieces.knots]))
        return self._ppf(expit(-np.abs(odds))[None], odds[None] > 0)

    def _cells_per_row(self) -> int:
        return len(_LOGISTIC_PANELS) + len(self.levels)

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``: the quantiles move."""
        shift, factor = loc_and_scale(loc, scale, len(self))
        centre = finite(shift + factor * self.centre, "values")
        offsets = finite(factor[:, None] * self.offsets, "values")
        finite(np.diff(offsets, axis=1), "distances of values", positive=True)
        return self._with(centre=centre, offsets=offsets)
