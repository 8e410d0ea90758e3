"""Quantiles of normal mixtures: a guess from a table, then Halley steps."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy.special import ndtr, ndtri

from calibrant.checks import Array, Flags
from calibrant.distributions._mixture_points import (
    FEW_COMPONENTS,
    add_components,
    component_blocks,
    component_points,
    few_numbers,
    scratch,
)
from calibrant.distributions._search import search_rows
from calibrant.distributions.fast_ndtr import fast_ndtr, ndtr_for
from calibrant.distributions.normal import DENSITY_AT_0, normal_pdf

# 37.5 is as far as a float64 level can reach: ndtr(-37.5) is about 5e-308.
_RIGHT_GRID = np.array([0.7, 1.4, 2.1, 3.0, 4.2, 6.0, 9.0, 16.0, 37.5])
_GRID: Array = np.concatenate([-_RIGHT_GRID[::-1], [0.0], _RIGHT_GRID])
TABLE_POINTS = len(_GRID)  # for each component
# The components of an ensemble overlap: together they need about 40 points.
_GRID_OF_MANY: Array = np.array([-2.6, -1.3, -0.5, 0.5, 1.3, 2.6], dtype=np.float32)
_POINTS_OF_MANY = 24
_ENDS: Array = np.array([5.0, 9.0, 37.5], dtype=np.float32)

_SMALL_STEP = 5e-4  # of the narrowest component
_FREE_STEPS = 8  # after these every second step halves the bracket instead
_MOST_STEPS = 300  # far more halvings than any bracket of float64 allows

# Weights, locations and scales of the components, (n, K), and the narrowest scale, (n, 1).
_Parameters = tuple[Array, Array, Array, Array]


def mixture_ppf(weights: Array, locs: Array, scales: Array, tail: Array, upper: Flags) -> Array:
    """Invert ``F(y) = sum_k w_k Phi((y - m_k) / s_k)`` for every row and level.

    Parameters
    ----------
    weights, locs, scales : arrays of shape (n, K)
    tail, upper : arrays of shape (1, L) or (n, L)
        Solve ``F(y) = tail`` or, where upper, ``1 - F(y) = tail``; 0 gives -inf and inf.

    Returns
    -------
    array of shape (n, L)
    """
    shape = (len(locs), tail.shape[1])
    side = np.where(upper, -1.0, 1.0)
    p = np.maximum(tail, np.finfo(np.float64).tiny)
    z = side * ndtri(p)
    if locs.shape[1] <= FEW_COMPONENTS:
        grid = component_points(locs, scales, _GRID)
        x, low, high = _from_table(grid, *_probit_table(weights, locs, scales, grid), z)
    else:
        x, low, high = _guess_of_many(weights, locs, scales, z)
    mixture = (weights, locs, scales, _narrowest(weights, scales))
    found = _solve(mixture, np.broadcast_to(p, shape), np.broadcast_to(side, shape), x, low, high)
    return np.where(tail == 0.0, -side * np.inf, found)


def as_single(values: Array) -> Array:
    """Values in float32."""
    return cast(Array, values.astype(np.float32, copy=False))


def standardized(weights: Array, locs: Array, scales: Array) -> tuple[Array, Array, Array, Array]:
    """Mean and standard deviation of each mixture, (n, 1), and its parameters in their units."""
    centre = np.sum(weights * locs, axis=1, keepdims=True)
    offsets = locs - centre
    unit = np.sqrt(np.sum(weights * (scales**2 + offsets**2), axis=1, keepdims=True))
    return centre, unit, offsets / unit, scales / unit


def rough_quantiles(w: Array, m: Array, s: Array, z: Array) -> Array:
    """Quantiles of standardized mixtures at the levels ``Phi(z)``, to a few digits, (n, L).

    In float32: a guess needs no more, and takes a third of the time.

    Parameters
    ----------
    w, m, s : arrays of shape (n, K)
    z : array of shape (1, L) or (n, L)
    """
    w, m, s, z = (as_single(part) for part in (w, m, s, z))
    points = np.sort((m[:, :, None] + s[:, :, None] * _GRID_OF_MANY).reshape(len(m), -1), axis=1)
    points = points[:, :: max(1, points.shape[1] // _POINTS_OF_MANY)]
    low = np.stack([(m - end * s).min(axis=1) for end in _ENDS[::-1]], axis=1)
    high = np.stack([(m + end * s).max(axis=1) for end in _ENDS], axis=1)
    grid = np.concatenate([low, points, high], axis=1)
    return _from_table(grid, *_rough_table(w, m, s, grid), z)[0]


def _guess_of_many(w: Array, m: Array, s: Array, z: Array) -> tuple[Array, Array, Array]:
    """Guess of the quantiles at the levels ``Phi(z)`` and a bracket that is never wrong."""
    centre, unit, offsets, widths = standardized(w, m, s)
    guess = centre + unit * rough_quantiles(w, offsets, widths, z)
    low = (m - _ENDS[-1] * s).min(axis=1, keepdims=True)
    high = (m + _ENDS[-1] * s).max(axis=1, keepdims=True)
    bracket = np.broadcast_to(low, guess.shape), np.broadcast_to(high, guess.shape)
    return np.clip(guess, low, high), *bracket


def _narrowest(w: Array, s: Array) -> Array:
    scales: Array = np.where(w > 0, s, np.inf).min(axis=1, keepdims=True)
    return scales


def _from_table(grid: Array, probit: Array, density: Array, z: Array) -> tuple[Array, Array, Array]:
    """Guess and bracket of the quantiles at the levels ``Phi(z)``, (n, L) each.

    Between the points of the grid, (n, P), the guess is a cubic through values and slopes at both
    ends: in probit units, ``ndtri(F)``, the curve is nearly straight.
    """
    n = len(grid)
    z = np.broadcast_to(z, (n, z.shape[1]))
    cell = np.clip(search_rows(probit, z), 1, grid.shape[1] - 1)
    right = cell + grid.shape[1] * np.arange(n)[:, None]  # positions in the flat table
    low, high = grid.take(right - 1), grid.take(right)
    z_low, z_high = probit.take(right - 1), probit.take(right)
    # Far from all components the table has no slope; the middle of the cell is good enough.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        pace = normal_pdf(probit) / density  # dx / dz
        run, rise = z_high - z_low, high - low
        t = (z - z_low) / run
        curve = (1.0 - t) * (pace.take(right - 1) * run - rise) - t * (
            pace.take(right) * run - rise
        )
        guess = low + t * rise + t * (1.0 - t) * curve
    return np.where((guess >= low) & (guess <= high), guess, low + 0.5 * (high - low)), low, high


def _probit_table(w: Array, m: Array, s: Array, x: Array) -> tuple[Array, Array]:
    """``ndtri(F(x))``, with the digits of the nearer tail, and ``F'(x)``, (n, P) each."""
    if few_numbers(x, m):
        parts, rate = w[:, None], 1.0 / s[:, None]
        z = (x[:, :, None] - m[:, None]) * rate
        near = parts * ndtr(-np.abs(z))
        left, far = z < 0, parts - near
        below = np.where(left, near, far).sum(axis=2)
        above = np.where(left, far, near).sum(axis=2)
        density = (parts * rate * normal_pdf(z)).sum(axis=2)
        return _probit(below, above), density
    below, above, density = (np.zeros(x.shape) for _ in range(3))
    for k in range(m.shape[1]):
        weight, z = w[:, k, None], (x - m[:, k, None]) / s[:, k, None]
        density += weight / s[:, k, None] * normal_pdf(z)
        near = weight * ndtr(-np.abs(z))
        far = weight - near
        left = z < 0
        below += np.where(left, near, far)
        above += np.where(left, far, near)
    return _probit(below, above), density


def _rough_table(w: Array, m: Array, s: Array, x: Array) -> tuple[Array, Array]:
    """As `_probit_table`, for mixtures with mean 0, from whose sides the tails are computed."""
    tail, density = np.zeros_like(x), np.zeros_like(x)
    side = np.where(x > 0.0, -1.0, 1.0).astype(x.dtype)
    z, part = scratch(x, m, 2)
    for weight, loc, rate in component_blocks(x, w, m, 1.0 / s):
        _scaled_density(x, weight, loc, rate, z, part)
        add_components(density, part)
        z *= side
        fast_ndtr(z, out=z)
        z *= weight
        add_components(tail, z)
    # The median may lie on the other side of the mean; rounding may leave a dent there.
    probit = side * ndtri(np.minimum(tail, 1.0))
    return np.maximum.accumulate(probit, axis=1), density


def _scaled_density(
    x: Array, weight: Array, loc: Array, rate: Array, z: Array, density: Array
) -> None:
    """Write standardised values and the weighted density into z and density, as blocks."""
    # In place: this is where quantiles of many rows spend their time.
    np.subtract(x, loc, out=z)
    z *= rate
    np.multiply(z, z, out=density)
    density *= -0.5
    np.exp(density, out=density)
    density *= weight * rate * DENSITY_AT_0


def _probit(below: Array, above: Array) -> Array:
    probit = ndtri(np.minimum(below, above))
    return np.where(below <= above, probit, -probit)


def _solve(mixture: _Parameters, p: Array, side: Array, x: Array, low: Array, high: Array) -> Array:
    """Bracketed Halley iteration, all arrays (n, L).

    The first step is taken for all cells at once; those that it does not finish continue, each
    as a separate row.
    """
    x, low, high, finished = _halley_step(mixture, p, side, x, low, high)
    row, column = np.nonzero(~finished)
    for step in range(_MOST_STEPS):
        if not len(row):
            break
        at = (row, column)
        w, m, s, narrowest = mixture
        cells = (array[at][:, None] for array in (p, side, x, low, high))
        halve = step > _FREE_STEPS and step % 2 == 0
        new = _halley_step((w[row], m[row], s[row], narrowest[row]), *cells, halve=halve)
        for array, values in zip((x, low, high), new[:3], strict=True):
            array[at] = values[:, 0]
        busy = ~new[3][:, 0]
        row, column = row[busy], column[busy]
    return x


def _halley_step(
    mixture: _Parameters,
    p: Array,
    side: Array,
    x: Array,
    low: Array,
    high: Array,
    *,
    halve: bool = False,
) -> tuple[Array, Array, Array, Flags]:
    """One step: the new x, the narrower bracket, and which cells are done.

    Solves ``h(x) = log(tail(x) / p) = 0``: in a tail the logarithm is nearly a parabola where
    the probability itself is nearly flat.
    """
    narrowest = mixture[3]
    tail, density, slope = _tail_and_slopes(mixture, side, x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        h = side * np.log(tail / p)  # increasing in x on both sides
        rate = density / tail  # h'
        newton = h / rate
        move = newton / (1.0 - 0.5 * newton * (slope / density - side * rate))
        new = x - move
    high = np.where(h >= 0, x, high)
    low = np.where(h <= 0, x, low)
    # Convergence is cubic: after so small a step the error is about 1e-10 of the component.
    # Comparisons with nan are false.
    small = (np.abs(move) <= _SMALL_STEP * narrowest) & (new >= low) & (new <= high)
    settled = (h == 0) | (high - low <= 4e-16 * np.maximum(np.abs(low), np.abs(high)))
    # Outside the bracket, or where the density vanishes, halving always works.
    inside = small | ((new > low) & (new < high) & (not halve))
    new = np.where(settled, x, np.where(inside, new, low + 0.5 * (high - low)))
    return new, low, high, settled | small


def _tail_and_slopes(mixture: _Parameters, side: Array, x: Array) -> tuple[Array, Array, Array]:
    """F or, where side is -1, 1 - F; F'; F'' of every row at x, (n, L) each."""
    w, m, s, _ = mixture
    tail, density, slope = (np.zeros(x.shape) for _ in range(3))
    phi, (z, part) = ndtr_for(m.shape[1]), scratch(x, m, 2)
    for weight, loc, rate in component_blocks(x, w, m, 1.0 / s):
        _scaled_density(x, weight, loc, rate, z, part)
        add_components(density, part)
        part *= z
        part *= rate
        add_components(slope, part)
        z *= side
        phi(z, out=z)
        z *= weight
        add_components(tail, z)
    return tail, density, -slope
