"""Monotone maps of overlapping groups, learned one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.stats import chi2

from calibrant.checks import Array, Index
from calibrant.distributions import MonotoneMap
from calibrant.distributions.pit import randomized_pit
from calibrant.persistence import savable_part
from calibrant.recalibration.pit_map import fit_pit_map

_LEAST_ROWS = 20  # a map of fewer rows is noise
_P_VALUE = 0.01  # at 0.05 calibrated groups lose more than others gain
_VISITS = 3  # of a group, as groups that overlap with it are changed after it
_COMPONENTS = 4
_KNOTS = np.concatenate([[0.001, 0.003, 0.01, 0.03], np.arange(1, 20) / 20])
_APART = 1e-6


@savable_part
@dataclass(frozen=True, eq=False)
class GroupMap:
    """One step: a map that is applied to the levels of the rows of one group.

    Attributes
    ----------
    column, code : int
        Which of the groupings, and which of its groups.
    x, y : arrays of shape (k,)
        Knots of the map.
    """

    column: int
    code: int
    x: Array
    y: Array


def fit_group_maps(
    common: MonotoneMap,
    left: Array,
    right: Array,
    weight: Array,
    codes: Index,
    sizes: Sequence[int],
) -> tuple[GroupMap, ...]:
    """Correct one group after another, the worst first, until none is off by more than chance.

    1. The common map makes the PIT values of all rows uniform.
    2. The group whose PIT values are least uniform, by the smooth test of Neyman (their mean,
       spread, skewness and kurtosis), gets a map of its own: that of `fit_pit_map`, without its
       shrinkage, as chance has just been ruled out.
    3. That changes the groups that overlap with it, so all are tested again, until no p-value is
       below 0.01 or every group that is has been corrected three times.

    A group of fewer than 20 rows, or one that chance explains, keeps the common map.

    Parameters
    ----------
    common : MonotoneMap
    left, right : arrays of shape (n,)
        PIT values before the common map: ``F(y-)`` and ``F(y)``.
    weight : array of shape (n,)
    codes : array of shape (n, C)
        Group of every row by each of C columns, -1 for none.
    sizes : sequence of C ints
        How many groups each column has.
    """
    if not sizes:
        return ()
    x = group_knots(common)
    levels = np.tile(common(x), (len(right), 1))  # (n, k)
    low, high = common(left), common(right)
    features = _features(low, high)
    visits = [np.zeros(size, dtype=np.intp) for size in sizes]
    steps: list[GroupMap] = []
    while True:
        p_values = [
            np.where(seen < _VISITS, _p_values(features, weight, own, len(seen)), 1.0)
            for own, seen in zip(codes.T, visits, strict=True)
        ]
        column = int(np.argmin([part.min() for part in p_values]))
        code = int(np.argmin(p_values[column]))
        if p_values[column][code] >= _P_VALUE:
            return tuple(steps)
        rows = np.flatnonzero(codes[:, column] == code)
        found = fit_pit_map(high[rows], weight[rows], left=low[rows], shrink=False)
        visits[column][code] += 1
        steps.append(GroupMap(column, code, found.x[1:-1], found.y[1:-1]))
        levels[rows] = found(levels[rows])
        changed = MonotoneMap(x, levels[rows])
        low[rows], high[rows] = (changed(ends[rows, None])[:, 0] for ends in (left, right))
        features[rows] = _features(low[rows], high[rows])


def group_knots(common: MonotoneMap) -> Array:
    """Knots that the maps of all groups share, (k,)."""
    every = np.sort(np.concatenate([common.x[1:-1], _KNOTS, 1.0 - _KNOTS]))
    kept = np.diff(every, prepend=0.0) > _APART
    return every[kept & (every < 1.0 - _APART)]


def group_levels(common: MonotoneMap, steps: Sequence[GroupMap], codes: Index) -> Array:
    """Levels of the map of every row at `group_knots`, (n, k), given its groups, (n, C)."""
    levels = np.tile(common(group_knots(common)), (len(codes), 1))
    for step in steps:
        rows = codes[:, step.column] == step.code
        levels[rows] = MonotoneMap(step.x, step.y)(levels[rows])
    return levels


def _features(left: Array, right: Array) -> Array:
    """Orthonormal Legendre polynomials of PIT values, (n, 4): uniform ones have mean 0."""
    u = randomized_pit(left, right)
    scale = np.sqrt(2.0 * np.arange(1, _COMPONENTS + 1) + 1.0)
    features: Array = legvander(2.0 * u - 1.0, _COMPONENTS)[:, 1:] * scale
    return features


def _p_values(features: Array, weight: Array, codes: Index, size: int) -> Array:
    """P-values of Neyman's smooth test of uniformity in every group, (size,)."""
    known = codes >= 0

    def total(values: Array) -> Array:
        return np.bincount(codes[known], values[known], size).astype(np.float64)

    weights, squares = total(weight), np.maximum(total(weight**2), 1e-300)
    rows = weights**2 / squares  # effective number
    means = np.stack([total(weight * part) for part in features.T]) / np.maximum(weights, 1e-300)
    p_values: Array = chi2.sf(rows * np.sum(means**2, axis=0), _COMPONENTS)
    return np.where(rows >= _LEAST_ROWS, p_values, 1.0)
