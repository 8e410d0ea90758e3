"""Means of normal mixtures seen through a monotone map of their cdf."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from calibrant.checks import Array, Flags
from calibrant.distributions._mixture_points import component_points, few_numbers
from calibrant.distributions._search import search_rows
from calibrant.distributions.fast_ndtr import ndtr_for
from calibrant.distributions.monotone_map import MonotoneMap
from calibrant.distributions.normal import LOG_SQRT_2PI, normal_pdf

# Points of a standard normal and their least distance in an ensemble, in scales of a component.
_RIGHT_GRID = np.array([0.6, 1.2, 1.8, 2.5, 3.2, 4.0, 4.9, 5.9, 7.0, 8.3])
_GRID: Array = np.concatenate([-_RIGHT_GRID[::-1], [0.0], _RIGHT_GRID])
_NEAREST = 0.6
_STEEPEST = 1e3  # a steeper map magnifies the error of the interpolation
_STEPS_OF_ALL, _MOST_STEPS = 3, 40
_CLOSE = 1e-5  # of a cell; the mean has an error of its square


def is_steep(monotone: MonotoneMap) -> Flags:
    """Whether a map is too steep for `recalibrated_mean`, () or, for one map per row, (n,)."""
    return np.asarray(monotone.slopes.max(axis=-1) > _STEEPEST)


def recalibrated_mean(weights: Array, locs: Array, scales: Array, monotone: MonotoneMap) -> Array:
    """Mean of ``g(F)``, (n,), with an error below 1e-7 of the standard deviation, at worst 1e-6.

    On a piece of g with slope b between the levels p and p', the mean is ``b (M(p') - M(p))``
    with ``M(p) = int_0^p F^-1(u) du = p q - A(q)`` at the quantile q of p, where ``A(q) =
    E max(q - Y, 0)`` has a closed form. Its derivative, F, and the next two have one as well:
    a polynomial of degree seven through all four at both ends replaces A between the points of a
    table, so that quantiles cost nothing that grows with the number of components.

    Parameters
    ----------
    weights, locs, scales : arrays of shape (n, K)
    monotone : MonotoneMap
        Not steep, see `is_steep`.
    """
    centre = np.sum(weights * locs, axis=1)
    offsets = locs - centre[:, None]
    x = component_points(offsets, scales, _GRID, _NEAREST)
    lower = np.zeros((len(x), monotone.x.shape[-1]))
    lower[:, 1:-1] = _lower_means(x, _table(weights, offsets, scales, x), monotone.x[1:-1])
    lower[:, -1] = np.sum(weights * offsets, axis=1)  # 0 but for the rounding of the centre
    found: Array = centre + np.sum(monotone.slopes * np.diff(lower, axis=1), axis=1)
    return found


def _table(w: Array, m: Array, s: Array, x: Array) -> tuple[Array, ...]:
    """A and its first three derivatives ``F``, ``f`` and ``f'`` at x, (n, P) each."""
    if few_numbers(x, m):
        weights, widths = w[:, None], s[:, None]
        each = (x[:, :, None] - m[:, None]) / widths
        pdf, cdfs = weights * normal_pdf(each), weights * ndtr(each)
        parts = widths * (each * cdfs + pdf), cdfs, pdf / widths, -each * pdf / widths**2
        return tuple(p.sum(axis=2) for p in parts)
    phi, z, part, cdf = ndtr_for(m.shape[1]), *(np.empty(x.shape) for _ in range(3))
    sums = tuple(np.zeros(x.shape) for _ in range(4))
    shortfall, total, density, slope = sums
    for k in range(m.shape[1]):
        weight, scale = w[:, k, None], s[:, k, None]
        np.subtract(x, m[:, k, None], out=z)
        z /= scale
        np.multiply(z, z, out=part)
        part *= -0.5
        part -= LOG_SQRT_2PI
        np.exp(part, out=part)
        part *= weight
        shortfall += scale * part
        part /= scale
        density += part
        part *= z
        part /= scale
        slope -= part
        np.copyto(cdf, z)
        phi(cdf, out=cdf)
        cdf *= weight
        total += cdf
        z *= scale
        z *= cdf
        shortfall += z
    return sums


def _lower_means(x: Array, table: tuple[Array, ...], levels: Array) -> Array:
    """``M(p) = p q - A(q)`` at levels p, (k,), as (n, k)."""
    n, points = x.shape
    p = np.broadcast_to(levels, (n, len(levels)))
    cell = np.clip(search_rows(table[1], p), 1, points - 1)
    right = cell + points * np.arange(n)[:, None]  # positions in the flat table
    start, width = x.take(right - 1), x.take(right) - x.take(right - 1)
    ends = [
        (width**i * values.take(right - 1), width**i * values.take(right))
        for i, values in enumerate(table)
    ]
    polynomial = _through(ends)
    u = _solve(polynomial, width * p)
    lower: Array = p * (start + width * u) - _value(polynomial, u)
    return lower


def _solve(polynomial: list[Array], slope: Array) -> Array:
    """Where in [0, 1] polynomials have this slope, which rises between both ends, (n, k).

    Newton steps, and halving where they would leave the bracket, first of all cells, then of
    those that are not done.
    """
    first, second = (_derivative(polynomial, order) for order in (1, 2))
    low, high = np.zeros(slope.shape), np.ones(slope.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (slope - first[0]) / (sum(first) - first[0])
    u = np.where((share > 0.0) & (share < 1.0), share, 0.5)
    for _ in range(_STEPS_OF_ALL):
        u, low, high, _ = _step(first, second, slope, u, low, high)
    at = np.nonzero(~_step(first, second, slope, u, low, high)[3])
    if len(at[0]):
        first, second = ([c[at] for c in each] for each in (first, second))
        cell = slope[at], u[at], low[at], high[at]
        for _ in range(_MOST_STEPS):
            cell = cell[0], *_step(first, second, *cell)[:3]
        u[at] = cell[1]
    return u


def _step(
    first: list[Array], second: list[Array], slope: Array, u: Array, low: Array, high: Array
) -> tuple[Array, Array, Array, Flags]:
    """New u, the narrower bracket, and which u were good enough already."""
    error = _value(first, u) - slope
    low, high = np.where(error <= 0, u, low), np.where(error >= 0, u, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        newton = u - error / _value(second, u)
    inside = (newton >= low) & (newton <= high)
    return np.where(inside, newton, 0.5 * (low + high)), low, high, np.abs(newton - u) < _CLOSE


def _through(ends: list[tuple[Array, Array]]) -> list[Array]:
    """Coefficients of the polynomial on [0, 1] with values and three derivatives at both ends."""
    start = [left / math.factorial(i) for i, (left, _) in enumerate(ends)]
    d0, d1, d2, d3 = (
        right - sum(math.perm(j, i) * start[j] for j in range(i, 4))
        for i, (_, right) in enumerate(ends)
    )
    return [
        *start,
        35.0 * d0 - 15.0 * d1 + 2.5 * d2 - d3 / 6.0,
        -84.0 * d0 + 39.0 * d1 - 7.0 * d2 + 0.5 * d3,
        70.0 * d0 - 34.0 * d1 + 6.5 * d2 - 0.5 * d3,
        -20.0 * d0 + 10.0 * d1 - 2.0 * d2 + d3 / 6.0,
    ]


def _derivative(coefficients: list[Array], order: int) -> list[Array]:
    return [math.perm(i, order) * c for i, c in enumerate(coefficients)][order:]


def _value(coefficients: list[Array], u: Array) -> Array:
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * u + coefficient
    return value
