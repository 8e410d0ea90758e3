"""Calibration maps of all steps of a horizon, learned from forecasts of rolling origins."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from calibrant.checks import Array
from calibrant.distributions import Distribution, Quantiles
from calibrant.forecasting._clock import Ticks

_BANDWIDTH = 0.25  # in the logarithm of the step: step 100 learns from about 75 to 130
_FARTHEST = 6.0  # normal score
_APART = 1e-3  # least distance between knots, in normal scores
_TAILS = 5.0  # outcomes that an extreme level needs beyond it to be moved fully


def learn_knots(scores: Array, levels: Array) -> Array:
    """Normal scores at which the levels of each step are attained, (H, Q).

    Central intervals become as wide as the absolute scores of step h ask for, averaged over
    neighbouring steps: forecasts 100 and 101 steps ahead are miscalibrated alike. Where few
    outcomes lie beyond a level its knot is shrunk towards that of a calibrated forecast. The
    median stays.

    Parameters
    ----------
    scores : array of shape (n, H)
        Normal scores of held-out outcomes under the forecast, nan where missing.
    levels : array of shape (Q,)
    """
    nominal = ndtri(levels)
    count = np.isfinite(scores).sum(axis=0)  # (H,)
    quantiles = np.tile(nominal, (scores.shape[1], 1))
    some = count > 0
    if not some.any():
        return quantiles
    # Both tails together: a few weeks show how wide the errors are, but their mean is that of
    # these weeks alone, and a shift of the median would carry it into the future.
    far = np.minimum(np.abs(scores[:, some]), _FARTHEST)
    width = np.nanquantile(far, np.abs(2.0 * levels - 1.0), axis=0, method="weibull").T
    quantiles[some] = np.where(levels == 0.5, 0.0, np.sign(levels - 0.5) * width)
    # Outcomes of one origin depend on each other: those of neighbouring steps do not add up.
    beyond = count[:, None] * np.minimum(levels, 1.0 - levels)
    trust = smooth_over_steps(beyond / (beyond + _TAILS))
    learned = nominal + trust * (smooth_over_steps(quantiles, count) - nominal)
    return _apart(learned, _APART)


def smooth_over_steps(values: Array, weights: Array | None = None) -> Array:
    """Average the values (H, Q) of each step with those of its neighbours.

    The kernel is Gaussian in the logarithm of the step.
    """
    log_step = np.log(np.arange(1, len(values) + 1))
    kernel = np.exp(-0.5 * (np.subtract.outer(log_step, log_step) / _BANDWIDTH) ** 2)
    if weights is not None:
        kernel = kernel * np.maximum(weights, 1e-9)
    return np.asarray(kernel @ values / kernel.sum(axis=1, keepdims=True))


def smooth_by_origin(knots: list[Array], origins: list[Ticks]) -> list[Array]:
    """Average the knots (n_h, Q) of each step with those that its neighbours have at that origin.

    A step without a row at an origin has the knots of its last row before.

    Parameters
    ----------
    knots : H arrays of shape (n_h, Q)
    origins : H arrays of shape (n_h,)
        In order of time; of several rows at one origin the last counts.
    """
    times = np.unique(np.concatenate(origins))
    at = [np.searchsorted(times, each) for each in origins]
    table = np.full((len(times), len(knots), knots[0].shape[1]), np.nan)
    for step, (rows, own) in enumerate(zip(at, knots, strict=True)):
        table[rows, step] = own
    filled = pd.DataFrame(table.reshape(len(times), -1)).ffill().to_numpy().reshape(table.shape)
    there = np.isfinite(filled[:, :, 0]).T  # H, times
    total = smooth_over_steps(np.nan_to_num(filled).swapaxes(0, 1).reshape(len(knots), -1))
    share = smooth_over_steps(there.astype(np.float64))
    smooth = total.reshape(len(knots), len(times), -1) / share[..., None]
    return [smooth[step, rows] for step, rows in enumerate(at)]


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
    return _apart(values, 1e-12 * size)


def _apart(values: Array, gap: Array | float) -> Array:
    """Raise values (n, Q) where they are less than a gap above the one before."""
    stairs = gap * np.arange(values.shape[1])
    return np.asarray(np.maximum.accumulate(values - stairs, axis=1) + stairs)
