"""The monotone map that makes held-out PIT values uniform."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from calibrant.checks import Array
from calibrant.distributions import MonotoneMap
from calibrant.errors import DataError, ParameterError

_CLOSEST = 1e-9  # knots closer than this, in probability, are one
_NARROWEST = 0.01  # scale of normal scores
_LEAST_FOR_SPREAD = 50  # with fewer, a perfect forecaster loses more than a bad one gains
# Share of the deviation by chance that is left after mean and variance are fitted: the
# Cramer-von Mises statistic of normals has the mean 1/6, and 0.06 with both fitted.
_AFTER_SPREAD = 0.36
_MOST_ROUNDS = 30
_DRAWS = 8  # PIT values per row on an atom


def fit_pit_map(
    pit: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    left: ArrayLike | None = None,
    shrink: bool | Literal["spread"] = True,
) -> MonotoneMap:
    """Estimate ``g(p) = P(F(Y) <= p)`` from held-out PIT values.

    Knots stand at quantiles of the values: the i-th smallest of m has the expected level
    ``i / (m + 1)``, the finite-sample correction that makes a new row fall below it with exactly
    that probability. There are about ``3 m^(1/3)`` levels evenly spaced, enough for the shape
    and few enough that the density between them is not noise, and levels 1, 2, 4 ... over
    m + 1 towards both ends, where few rows determine a tail.

    A perfect forecaster shows a mean squared deviation of ``1 / (6 m)`` from the diagonal by
    chance alone. With c the share of the observed deviation that chance explains, the map is
    shrunk towards the identity by ``c^2``: where there is no more than chance it is the identity
    and adds no noise. (The square, not c as in James-Stein shrinkage: deviations of one sign
    add up over levels, and a bias costs more in coverage than the noise that it saves.)

    Parameters
    ----------
    pit : array of shape (m,)
        PIT values of rows that the model was not fitted on.
    sample_weight : array of shape (m,), optional
    left : array of shape (m,), optional
        ``F(y-)`` of targets on atoms, where pit is ``F(y)``. A map moves both ends of an atom, and
        the randomized PIT is uniform between them, so g is the map for which
        ``g(F(y-)) + v (g(F(y)) - g(F(y-)))`` with v uniform is uniform. It is found by iterating
        the closed form for values without atoms.
    shrink : bool or "spread", default True
        Shrink the map towards the identity by what chance explains. "spread" shrinks it towards
        ``Phi((Phi^-1(p) - a) / b)`` instead, whose shift and scale are fitted first, given at least
        50 rows: for networks, which are nearly always overconfident, even where the rows at hand
        do not prove it. With atoms nothing is shrunk: the iteration starts at the identity and
        ends where chance explains the rest.

    Returns
    -------
    MonotoneMap
        For ``Recalibrated(dist, g)``.
    """
    if shrink not in (True, False, "spread"):
        raise ParameterError(f'shrink must be True, False or "spread", got {shrink!r}.')
    values = np.asarray(pit, dtype=np.float64)
    lower = values if left is None else np.asarray(left, dtype=np.float64)
    weights = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, float)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise DataError(
            f"PIT values must be a list of numbers in [0, 1], got shape {values.shape} between "
            f"{values.min(initial=np.nan)} and {values.max(initial=np.nan)}."
        )
    if lower.shape != values.shape or not np.all((lower >= 0) & (lower <= values)):
        raise DataError(f"left must hold {len(values)} numbers between 0 and those of pit.")
    if weights.shape != values.shape:
        raise DataError(f"Expected {len(values)} sample weights, got {weights.shape}.")
    kept = weights > 0
    lower, values, weights = lower[kept], values[kept], weights[kept]
    if not len(values):
        return MonotoneMap()
    if np.array_equal(lower, values):
        return _smooth(values, weights, shrink)
    return _through_atoms(lower, values, weights)


def _smooth(
    values: Array, weights: Array, shrink: bool | Literal["spread"], copies: int = 1
) -> MonotoneMap:
    """Map of values without atoms; `copies` is the number of values per row."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    # With equal weights these are i / (m + 1).
    attained = np.cumsum(weights) / (weights.sum() + copies * weights.mean())
    rows = effective_rows(weights) / copies
    levels = _levels(round(rows))
    x, y = _strictly_inside(np.interp(levels, attained, values), levels)
    if shrink:
        by_chance, start, moved = 1.0, x, values
        if shrink == "spread" and (line := _normal_line(values, attained, rows)):
            by_chance = _AFTER_SPREAD
            start, moved = (ndtr((ndtri(part) - line[0]) / line[1]) for part in (x, values))
        share = by_chance / max(deviation(moved, attained, rows), 1e-300)
        y, x = _strictly_inside(start + max(0.0, 1.0 - share**2) * (y - start), x)
    return MonotoneMap(x, y)


def _normal_line(values: Array, attained: Array, rows: float) -> tuple[float, float] | None:
    """Shift and scale that make the normal scores of the values standard normal.

    A line through their quantiles at 5%, 10% ... 95%, without the few rows of the tails. None
    where the values are too few, or too similar to have a spread.
    """
    if rows < _LEAST_FOR_SPREAD:
        return None
    levels = np.arange(1, 20) / 20
    scores = ndtri(np.clip(np.interp(levels, attained, values), _CLOSEST, 1.0 - _CLOSEST))
    scale, shift = np.polyfit(ndtri(levels), scores, 1)
    return (float(shift), float(scale)) if scale >= _NARROWEST else None


def effective_rows(weights: Array) -> float:
    """Number of rows of equal weight whose mean is as noisy as that of these rows."""
    return float(weights.sum() ** 2 / np.sum(weights**2))


def deviation(values: Array, attained: Array, rows: float) -> float:
    """Cramer-von Mises distance of sorted PIT values from uniform ones, on average 1 by chance.

    Parameters
    ----------
    values, attained : arrays of shape (m,)
        PIT values and the shares of the rows up to each.
    rows : float
        As `effective_rows` counts them.
    """
    grid = np.arange(1, 100) / 100
    return float(6.0 * rows * np.mean((np.interp(grid, values, attained) - grid) ** 2))


def _through_atoms(left: Array, right: Array, weights: Array) -> MonotoneMap:
    """Compose maps of values drawn inside atoms until chance explains the remaining error.

    The solution is not unique and many rounds lead to irregular maps, so the best one is kept.
    """
    by_chance = 0.316 * np.sqrt(np.sum(weights**2)) / weights.sum()  # see `noise_floor`
    every = np.repeat(weights, _DRAWS)
    knots = np.quantile(np.concatenate([left, right]), _levels(2 * len(left)))
    x, y = _strictly_inside(knots, knots)
    best, least = MonotoneMap(x, y), math.inf
    for _ in range(_MOST_ROUNDS):
        found = MonotoneMap(x, y)
        u = _between(found(left), found(right)).ravel()
        if (error := _coverage_error(u, every)) < least:
            best, least = found, error
        if error <= by_chance:
            break
        y, x = _strictly_inside(_smooth(u, every, shrink=False, copies=_DRAWS)(y), x)
    return best


def _between(left: Array, right: Array) -> Array:
    """Stratified draws (m, 8) between the ends of atoms, one in each eighth.

    Not the middles of the eighths: where atoms are wide, all rows would have the same eight.
    """
    v = np.random.default_rng(0).random((len(left), 1))
    shares = (np.arange(_DRAWS) + v) / _DRAWS
    drawn: Array = left[:, None] + shares * (right - left)[:, None]
    return drawn


def _coverage_error(u: Array, weights: Array) -> float:
    """Mean coverage error of one-sided or of central intervals, the larger one."""
    order = np.argsort(u)
    reached = np.cumsum(weights[order]) / weights.sum()
    level = np.arange(1, 100) / 100
    below, lower, upper = (
        np.interp(at, u[order], reached) for at in (level, 0.5 - level / 2, 0.5 + level / 2)
    )
    return max(float(np.abs(part - level).mean()) for part in (below, upper - lower))


def _levels(m: int) -> Array:
    count = min(m, math.ceil(3 * m ** (1 / 3)))
    even = np.arange(1, count + 1) / (count + 1)
    tail = 2.0 ** np.arange(int(math.log2(m + 1)) + 1) / (m + 1)
    tail = tail[tail < even[0] / 1.5]
    return np.concatenate([tail, even, 1.0 - tail[::-1]])


def _strictly_inside(x: Array, y: Array) -> tuple[Array, Array]:
    """Drop knots too close to a neighbour or an end: the map must have an inverse."""
    kept_x, kept_y = [0.0], [0.0]
    for at, level in zip(x, y, strict=True):
        if at - kept_x[-1] > _CLOSEST and 1.0 - at > _CLOSEST:
            kept_x.append(float(at))
            kept_y.append(float(level))
    return np.array(kept_x[1:]), np.array(kept_y[1:])
