"""Monotone maps that depend on where a prediction lies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.distributions import MonotoneMap, RowMaps
from calibrant.distributions.pit import randomized_pit
from calibrant.recalibration.pit_map import deviation, fit_pit_map

_ROWS, _LEAST, _MOST = 300, 8, 16  # of a bin, and bins: a few would be too coarse to help
_STEEPEST = 3.0  # a map that draws a bin together more would magnify the bias of its networks
_CAUTION = 2.7  # three standard deviations of one bin's distance by chance
Array = NDArray[np.float64]


def fit_maps_by_place(
    common: MonotoneMap,
    pit: ArrayLike,
    place: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    left: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Estimate ``g_s(p) = P(F(Y) <= p | s)`` for predictions at s, such as their mean.

    What is calibrated over all rows may be too wide where targets are small and too narrow where
    they are large. Rows are dealt into bins of about 300 by their place, 8 to 16 of them. Where
    PIT values deviate from uniform ones by more than chance explains, over all bins, every bin
    gets a second map, as of `fit_pit_map`, behind the common one. In bins that are calibrated it
    is nearly the identity. Between the middles of bins maps are to be mixed, so a last map of all
    rows follows, which takes care of what that changes.

    Parameters
    ----------
    common : MonotoneMap
        Of all rows, learned from the same values.
    pit : array of shape (m,)
        PIT values of rows that the model was not fitted on.
    place : array of shape (m,)
    sample_weight : array of shape (m,), optional
    left : array of shape (m,), optional
        ``F(y-)`` of targets on atoms, as in `fit_pit_map`.

    Returns
    -------
    places : array of shape (B,)
        Increasing; none with fewer than 2,400 rows, or where the common map does.
    levels : array of shape (B, k)
        Of the whole map, at the k knots of the common one.
    """
    right, at = np.asarray(pit, dtype=np.float64), np.asarray(place, dtype=np.float64)
    first = right if left is None else np.asarray(left, dtype=np.float64)
    weight = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, float)
    knots, count = common.x[1:-1], min(_MOST, len(at) // _ROWS)
    none = np.empty(0), np.empty((0, len(knots)))
    if count < _LEAST:
        return none
    bins = np.searchsorted(np.quantile(at, np.arange(1, count) / count), at)
    members = [bins == value for value in np.unique(bins)]
    if len(members) < 2:  # all in one place
        return none
    low, high, level = common(first), common(right), common(knots)
    apart = [_deviation(low[own], high[own], weight[own]) for own in members]
    if np.mean(apart) < 1.0 + _CAUTION / np.sqrt(len(members)):
        return none
    maps = [fit_pit_map(high[own], weight[own], left=low[own]) for own in members]
    levels = np.array([level + _gentle(g) * (g(level) - level) for g in maps])
    places = np.array([np.median(at[own]) for own in members])
    found = RowMaps.between(knots, places, levels, at)
    start, end = (found(ends[:, None])[:, 0] for ends in (first, right))
    return places, fit_pit_map(end, weight, left=start)(levels)  # what they do not do together


def _gentle(more: MonotoneMap) -> float:
    """Share of a map that is nowhere steeper than allowed."""
    grid = np.linspace(0.0, 1.0, 21)
    steepest = float(np.max(np.diff(more(grid)) / np.diff(grid)))
    return min(1.0, (_STEEPEST - 1.0) / max(steepest - 1.0, 1e-9))


def _deviation(low: Array, right: Array, weight: Array) -> float:
    """`deviation` of PIT values, at random places where they are atoms."""
    order = np.argsort(u := randomized_pit(low, right))
    rows = weight.sum() ** 2 / np.sum(weight**2)
    return deviation(u[order], np.cumsum(weight[order]) / weight.sum(), rows)
