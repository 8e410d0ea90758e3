"""Means of normal mixtures seen through a monotone map of their cdf."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibrant.checks import Array, Flags
from calibrant.distributions._mixture_points import add_components, component_blocks, scratch
from calibrant.distributions._mixture_ppf import (
    as_single,
    mixture_ppf,
    rough_quantiles,
    standardized,
)
from calibrant.distributions.fast_ndtr import fast_ndtr, ndtr_for
from calibrant.distributions.monotone_map import MonotoneMap
from calibrant.distributions.normal import DENSITY_AT_0, normal_pdf

_STEEPEST = 1e3  # of a piece: beyond, the mean hangs on levels that a guess does not resolve
_LARGEST_OF_SINGLE = 3.0  # sum of the terms up to which float32 has the digits
_NARROW = 1e-3  # a component so narrow, in standard deviations, that no guess finds it
_STEPS = 3  # of Newton
_CLOSE = 1e-7  # estimated error of the mean, in standard deviations


def is_steep(monotone: MonotoneMap) -> Flags:
    """Whether a map is too steep for `recalibrated_mean`, () or, for one map per row, (n,)."""
    return np.asarray(monotone.slopes.max(axis=-1) > _STEEPEST)


def recalibrated_mean(
    weights: Array, locs: Array, scales: Array, monotone: MonotoneMap, y: Array
) -> tuple[Array, Array, Array]:
    """Mean of ``g(F)``, (n,), ``E max(y - Y, 0)`` under it and ``g(F(y))``, (n, k) each.

    The mean has an error of about 1e-7 standard deviations, and is nan if it was not found. On a
    piece of g with slope b between the levels p and p', the mean is ``b (M(p') - M(p))`` with
    ``M(p) = int_0^p F^-1(u) du = max_q (p q - E max(q - Y, 0))``. The maximum is at the quantile q
    of p and flat there, so a rough quantile is enough: with ``d = p - F(q)`` the maximum is
    ``d^2 / 2f(q)`` higher than the value at q, up to ``f'(q) d^3 / 3 f(q)^3``.

    Parameters
    ----------
    weights, locs, scales : arrays of shape (n, K)
    monotone : MonotoneMap
        Not steep, see `is_steep`.
    y : array of shape (n, k)
    """
    centre, unit, m, s = standardized(weights, locs, scales)
    bends = np.diff(monotone.slopes, axis=-1)  # the mean is a sum of M times these
    levels = monotone.x[None, 1:-1]
    # M is at most the density of a normal at its quantile, and float32 has seven of its digits.
    terms = np.abs(bends) * normal_pdf(ndtri(levels[0]))
    # Rows start with the cheapest way that may do: in float32, in float64, at exact quantiles.
    first = np.where(terms.sum(axis=-1) <= _LARGEST_OF_SINGLE, 0, 1)
    first = np.where(s.min(axis=1) < _NARROW, 2, first)
    lower = np.zeros((len(m), monotone.x.shape[-1]))  # M(0) = M(1) = 0 about the mean
    error = np.full(len(m), np.nan)
    for way in range(3):
        rows = (first <= way) & ~(error <= _CLOSE)
        if rows.any():
            own = np.abs(bends if bends.ndim == 1 else bends[rows])
            parts = weights[rows], m[rows], s[rows]
            w, offsets, widths = (as_single(part) for part in parts) if way == 0 else parts
            means = _lower_means(w, offsets, widths, levels, own, exact=way == 2)
            lower[rows, 1:-1], error[rows] = means
    with np.errstate(invalid="ignore", over="ignore"):
        mean: Array = centre[:, 0] + unit[:, 0] * np.sum(monotone.slopes * np.diff(lower), axis=1)
    mean = np.where(error <= _CLOSE, mean, np.nan)
    if not y.shape[1]:
        return mean, y, y
    z = (y - centre) / unit
    shortfall, cdf = shortfall_and_cdf(weights, m, s, z)
    return mean, unit * _shortfall(z, shortfall, cdf, monotone, lower), monotone(cdf)


def _shortfall(
    y: Array, shortfall: Array, cdf: Array, monotone: MonotoneMap, lower: Array
) -> Array:
    """``int_-inf^y g(F(t)) dt``, (n, k), from ``int_-inf^y F(t) dt``, ``F(y)`` and M at the knots.

    At a knot x of g the slope changes, which adds this change times ``int (F(t) - x) dt`` from the
    quantile q of x on; the integral up to q is ``x q - M(x)``.
    """
    passed = np.searchsorted(monotone.x[1:-1], cdf)  # number of knots below
    bends = np.diff(monotone.slopes, axis=-1, prepend=monotone.slopes[..., :1])
    of_lower = np.cumsum(bends * lower[:, :-1], axis=1)
    of_y = np.broadcast_to(np.cumsum(bends * monotone.x[:-1], axis=-1), of_lower.shape)
    slopes = np.broadcast_to(monotone.slopes, of_lower.shape)
    slope, x, constant = (
        np.take_along_axis(part, passed, axis=1) for part in (slopes, of_y, of_lower)
    )
    return np.maximum(slope * shortfall - x * y + constant, 0.0)


def shortfall_and_cdf(w: Array, m: Array, s: Array, y: Array) -> tuple[Array, Array]:
    """``E max(y - Y, 0)`` and the cdf of mixtures, (n, K), at y, (n, k) each."""
    shortfall, cdf, phi = np.zeros_like(y), np.zeros_like(y), ndtr_for(w.shape[1])
    for weight, loc, scale in component_blocks(y, w, m, s):
        z = (y - loc) / scale
        below = phi(z)
        add_components(cdf, weight * below)
        add_components(shortfall, weight * scale * (z * below + normal_pdf(z)))
    return shortfall, cdf


def _lower_means(
    w: Array, m: Array, s: Array, p: Array, bends: Array, *, exact: bool
) -> tuple[Array, Array]:
    """M at levels p, (1, k), of standardized mixtures as (n, k), and the error of the mean, (n,).

    In the upper half from the other side, ``M(p) = max_q (-(1 - p) q - E max(Y - q, 0))``.
    """
    side = np.where(p > 0.5, -1.0, 1.0).astype(w.dtype)
    tail = np.minimum(p, 1.0 - p).astype(w.dtype)
    if exact:
        q = mixture_ppf(w, m, s, tail, side < 0)
    else:
        q = rough_quantiles(w, m, s, side * ndtri(tail)).astype(w.dtype)
    found, error = np.empty(q.shape, dtype=w.dtype), np.empty(len(q))
    busy = np.arange(len(q))
    for _ in range(_STEPS):
        at = q[busy]
        shortfall, below, density, slope = _table(w[busy], m[busy], s[busy], at, side)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            missing = tail - below
            step = missing / density
            found[busy] = side * tail * at - shortfall + 0.5 * missing * step
            own = bends if bends.ndim == 1 else bends[busy]
            error[busy] = np.sum(own * np.abs(slope * step**3), axis=1) / 3.0
        more = ~(error[busy] <= _CLOSE)
        if not more.any():
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Newton's step for the logarithm: in a tail the probability itself is nearly flat.
            step = below / density * np.log(tail / below)
        # Steps of more than a standard deviation come from places without density.
        q[busy] = at + side * np.clip(np.nan_to_num(step), -1.0, 1.0)
        busy = busy[more]
    return found, error


def _table(w: Array, m: Array, s: Array, q: Array, side: Array) -> tuple[Array, ...]:
    """``E max(side (q - Y), 0)``, the tail ``P(side Y < side q)``, ``f(q)`` and ``f'(q)``."""
    shortfall, below, density, slope = (np.zeros_like(q) for _ in range(4))
    z, part, tails = scratch(q, m, 3)
    for weight, loc, scale, rate in component_blocks(q, w, m, s, 1.0 / s):
        np.subtract(q, loc, out=z)
        z *= side
        z *= rate
        np.multiply(z, z, out=part)
        part *= -0.5
        np.exp(part, out=part)
        part *= weight * DENSITY_AT_0
        fast_ndtr(z, out=tails)
        tails *= weight
        add_components(below, tails)
        tails *= z
        tails += part
        tails *= scale
        add_components(shortfall, tails)
        part *= rate
        add_components(density, part)
        part *= z
        part *= rate
        add_components(slope, part)
    return shortfall, below, density, -side * slope
