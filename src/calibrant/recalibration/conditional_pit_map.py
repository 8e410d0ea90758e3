"""Calibration maps that depend on the predicted mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array
from calibrant.distributions import MonotoneMap
from calibrant.distributions.pit import randomized_pit
from calibrant.recalibration.pit_map import deviation, effective_rows, fit_pit_map

_ROWS_PER_BIN = 300
_LEAST_BINS, _MOST_BINS = 8, 16  # fewer bins would be too coarse to help
_STEEPEST = 3.0  # a steeper map of a bin would magnify the bias of its networks
_CAUTION = 2.7  # three standard deviations of the deviation of one calibrated bin


def fit_conditional_pit_map(
    common: MonotoneMap,
    pit: ArrayLike,
    predicted_mean: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    left: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Estimate ``g_m(p) = P(F(Y) <= p | m)`` given the predicted mean m.

    Distributions that are calibrated over all rows may be too wide where targets are small and
    too narrow where they are large.

    1. Rows are binned by their predicted mean, about 300 per bin, in 8 to 16 bins.
    2. If the PIT values of bins, after the common map, deviate from uniform ones by more than
       chance explains, every bin gets a second map, that of `fit_pit_map` drawn towards the
       identity where it would be too steep. In calibrated bins it is nearly the identity.
    3. Maps are interpolated between the medians of bins (`MonotoneMap.between`). A last map of
       all rows corrects what that changes overall.

    Parameters
    ----------
    common : MonotoneMap
        Map of all rows, learned from the same values.
    pit : array of shape (m,)
        PIT values of rows that the model was not fitted on.
    predicted_mean : array of shape (m,)
    sample_weight : array of shape (m,), optional
    left : array of shape (m,), optional
        ``F(y-)`` of targets on atoms, as in `fit_pit_map`.

    Returns
    -------
    anchors : array of shape (B,)
        Predicted means with a known map, increasing. Empty with fewer than 2,400 rows, or where
        the common map is good enough.
    levels : array of shape (B, k)
        Levels of the maps, the common one included, at the k knots of the common one.
    """
    right, mean = np.asarray(pit, dtype=np.float64), np.asarray(predicted_mean, dtype=np.float64)
    first = right if left is None else np.asarray(left, dtype=np.float64)
    weight = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, float)
    knots, count = common.x[1:-1], min(_MOST_BINS, len(mean) // _ROWS_PER_BIN)
    none = np.empty(0), np.empty((0, len(knots)))
    if count < _LEAST_BINS:
        return none
    bins = np.searchsorted(np.quantile(mean, np.arange(1, count) / count), mean)
    masks = [bins == value for value in np.unique(bins)]
    if len(masks) < 2:  # all rows have the same predicted mean
        return none
    low, high, level = common(first), common(right), common(knots)
    deviations = [_deviation(low[own], high[own], weight[own]) for own in masks]
    if np.mean(deviations) < 1.0 + _CAUTION / np.sqrt(len(masks)):
        return none
    maps = [fit_pit_map(high[own], weight[own], left=low[own]) for own in masks]
    levels = np.array([level + _strength(g) * (g(level) - level) for g in maps])
    anchors = np.array([np.median(mean[own]) for own in masks])
    conditional = MonotoneMap.between(knots, anchors, levels, mean)
    start, end = (conditional(ends[:, None])[:, 0] for ends in (first, right))
    return anchors, fit_pit_map(end, weight, left=start)(levels)


def _strength(second: MonotoneMap) -> float:
    """Share of a map that is nowhere steeper than `_STEEPEST`."""
    grid = np.linspace(0.0, 1.0, 21)
    steepest = float(np.max(np.diff(second(grid)) / np.diff(grid)))
    return min(1.0, (_STEEPEST - 1.0) / max(steepest - 1.0, 1e-9))


def _deviation(left: Array, right: Array, weight: Array) -> float:
    """`deviation` of PIT values, drawn uniformly between the ends of atoms."""
    order = np.argsort(u := randomized_pit(left, right))
    attained = np.cumsum(weight[order]) / weight.sum()
    return deviation(u[order], attained, effective_rows(weight))
