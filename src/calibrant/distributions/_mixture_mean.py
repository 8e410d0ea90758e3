"""Means of normal mixtures seen through a monotone map of their cdf."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibrant.checks import Array, Flags
from calibrant.distributions._mixture_points import add_components, component_blocks
from calibrant.distributions._mixture_ppf import as_single, rough_quantiles, standardized
from calibrant.distributions.fast_ndtr import fast_ndtr
from calibrant.distributions.monotone_map import MonotoneMap
from calibrant.distributions.normal import DENSITY_AT_0

_STEEPEST = 1e3  # of a piece: beyond, the mean hangs on levels that a guess does not resolve
_STEEPEST_OF_SINGLE = 3.0  # changes of slope, in all, up to which float32 has the digits
_STEPS = 6
_CLOSE = 1e-7  # estimated error of the mean, in standard deviations


def is_steep(monotone: MonotoneMap) -> Flags:
    """Whether a map is too steep for `recalibrated_mean`, () or, for one map per row, (n,)."""
    return np.asarray(monotone.slopes.max(axis=-1) > _STEEPEST)


def recalibrated_mean(weights: Array, locs: Array, scales: Array, monotone: MonotoneMap) -> Array:
    """Mean of ``g(F)``, (n,), with an error of about 1e-7 standard deviations; nan if not found.

    On a piece of g with slope b between the levels p and p', the mean is ``b (M(p') - M(p))`` with
    ``M(p) = int_0^p F^-1(u) du = max_q (p q - E max(q - Y, 0))``. The maximum is at the quantile q
    of p and flat there, so a rough quantile is enough: with ``d = p - F(q)`` the maximum is
    ``d^2 / 2f(q)`` higher than the value at q, up to ``f'(q) d^3 / 3 f(q)^3``.

    Parameters
    ----------
    weights, locs, scales : arrays of shape (n, K)
    monotone : MonotoneMap
        Not steep, see `is_steep`.
    """
    centre, unit, m, s = standardized(weights, locs, scales)
    bends = np.abs(np.diff(monotone.slopes, axis=-1))  # the mean is a sum of M times these
    levels = monotone.x[None, 1:-1]
    exact = np.broadcast_to(bends.sum(axis=-1) > _STEEPEST_OF_SINGLE, len(m))
    lower = np.zeros((len(m), monotone.x.shape[-1]))  # M(0) = M(1) = 0 about the mean
    error = np.zeros(len(m))
    for rows in (~exact, exact):
        if rows.any():
            own = bends if bends.ndim == 1 else bends[rows]
            w, offsets, widths = weights[rows], m[rows], s[rows]
            if rows is not exact:
                w, offsets, widths = as_single(w), as_single(offsets), as_single(widths)
            lower[rows, 1:-1], error[rows] = _lower_means(w, offsets, widths, levels, own)
    with np.errstate(invalid="ignore", over="ignore"):
        mean: Array = centre[:, 0] + unit[:, 0] * np.sum(monotone.slopes * np.diff(lower), axis=1)
    return np.where(error <= _CLOSE, mean, np.nan)


def _lower_means(w: Array, m: Array, s: Array, p: Array, bends: Array) -> tuple[Array, Array]:
    """M at levels p, (1, k), of standardized mixtures as (n, k), and the error of the mean, (n,).

    In the upper half from the other side, ``M(p) = max_q (-(1 - p) q - E max(Y - q, 0))``.
    """
    side = np.where(p > 0.5, -1.0, 1.0).astype(w.dtype)
    tail = np.minimum(p, 1.0 - p).astype(w.dtype)
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
            # Newton's step for the logarithm: in a tail the probability itself is nearly flat.
            step = below / density * np.log(tail / below)
        more = ~(error[busy] <= _CLOSE)
        if not more.any():
            break
        # Steps of more than a standard deviation come from places without density.
        q[busy] = at + side * np.clip(np.nan_to_num(step), -1.0, 1.0)
        busy = busy[more]
    return found, error


def _table(w: Array, m: Array, s: Array, q: Array, side: Array) -> tuple[Array, ...]:
    """``E max(side (q - Y), 0)``, the tail ``P(side Y < side q)``, ``f(q)`` and ``f'(q)``."""
    shortfall, below, density, slope = (np.zeros_like(q) for _ in range(4))
    for weight, loc, scale, rate in component_blocks(q, w, m, s, 1.0 / s):
        z = q - loc
        z *= side
        z *= rate
        part = z * z
        part *= -0.5
        np.exp(part, out=part)
        part *= weight * DENSITY_AT_0
        tails = fast_ndtr(z)
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
