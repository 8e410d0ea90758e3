"""Calibration maps of all steps of a horizon, learned from forecasts of rolling origins."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from calibrant.checks import Array
from calibrant.distributions import Distribution, Quantiles

_BANDWIDTH = 0.25  # in the logarithm of the step: step 100 learns from about 75 to 130
_LEAST = 30  # outcomes below which a map would be noise
_FARTHEST = 6.0  # normal score
_APART = 1e-3  # least distance between knots, in normal scores
_TAILS = 20.0  # outcomes that an extreme level needs beyond it to be moved fully


def learn_knots(scores: Array, levels: Array) -> Array:
    """Normal scores at which the levels of each step are attained, (H, Q).

    The quantiles of step h's scores, averaged over neighbouring steps: forecasts 100 and 101
    steps ahead are miscalibrated alike. Where few outcomes lie beyond a level its knot is shrunk
    towards that of a calibrated forecast.

    Parameters
    ----------
    scores : array of shape (n, H)
        Normal scores of held-out outcomes under the forecast, nan where missing.
    levels : array of shape (Q,)
    """
    nominal = ndtri(levels)
    horizon = scores.shape[1]
    count = np.isfinite(scores).sum(axis=0)  # (H,)
    quantiles = np.tile(nominal, (horizon, 1))
    enough = count >= _LEAST
    if not enough.any():
        return quantiles
    bounded = np.clip(scores[:, enough], -_FARTHEST, _FARTHEST)
    quantiles[enough] = np.nanquantile(bounded, levels, axis=0, method="weibull").T
    distance = np.subtract.outer(*(2 * [np.log(np.arange(1, horizon + 1))])) / _BANDWIDTH
    weights = np.exp(-0.5 * distance**2) * count * enough
    total = weights.sum(axis=1, keepdims=True)
    smooth = np.where(total > 0, weights @ quantiles / np.maximum(total, 1e-300), nominal)
    beyond = count.max() * np.minimum(levels, 1.0 - levels)
    trust = beyond / (beyond + _TAILS)
    return _apart(nominal + trust * (smooth - nominal))


def calibrated(dist: Quantiles, knots: Array) -> Quantiles:
    """Quantiles at the levels' knots: those of the forecast, recalibrated.

    Parameters
    ----------
    dist : Quantiles of n rows
    knots : array of shape (n, Q)
        Normal score of the forecast at which each level is attained.
    """
    return Quantiles(dist.levels, _increasing(dist.ppf(ndtr(knots))))


def normal_scores(dist: Distribution, y: Array) -> Array:
    """Normal scores of outcomes, (n,); nan for a missing outcome."""
    there = np.isfinite(y)
    cdf = dist.cdf(np.where(there, y, dist.ppf(0.5)))
    return np.where(there, ndtri(np.clip(cdf, ndtr(-_FARTHEST), ndtr(_FARTHEST))), np.nan)


def strictly_increasing(values: Array) -> Array:
    """Sorted quantiles (n, Q), moved apart where they are equal."""
    return _increasing(np.sort(values, axis=1))


def _increasing(values: Array) -> Array:
    """Values that do not decrease, moved apart by what float64 can tell."""
    size = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-300)
    stairs = 1e-12 * size * np.arange(values.shape[1])
    return np.asarray(np.maximum.accumulate(values - stairs, axis=1) + stairs)


def _apart(knots: Array) -> Array:
    stairs = _APART * np.arange(knots.shape[1])
    return np.asarray(np.maximum.accumulate(knots - stairs, axis=1) + stairs)
