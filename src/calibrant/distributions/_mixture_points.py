"""Evaluation grid for mixture cdfs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant.checks import Array, Flags

FEW_COMPONENTS = 8  # up to which thinning does not pay
_FEW_NUMBERS, _FEW_ROWS = 1 << 15, 8
_NEAREST = 0.8  # least distance between points, in scales of the component


def few_numbers(x: Array, locs: Array) -> bool:
    """Whether all components at all points x, (n, P, K), are few enough to be one array.

    A loop over the components saves memory; for a single row it costs more than its numbers.
    """
    return bool(x.size * locs.shape[1] <= _FEW_NUMBERS)


def component_blocks(x: Array, *parameters: Array) -> Iterator[tuple[Array, ...]]:
    """Yield parameters, (n, K), as (B, n, 1), ready for points x, (n, P).

    All components at once where they are few numbers, otherwise one after another. Sums over B
    come out the same.
    """
    count = parameters[0].shape[1]
    step = count if few_numbers(x, parameters[0]) else 1
    columns = [np.ascontiguousarray(part.T)[:, :, None] for part in parameters]
    for start in range(0, count, step):
        yield tuple(part[start : start + step] for part in columns)


def scratch(x: Array, locs: Array, count: int) -> Iterator[Array]:
    """Yield arrays to compute blocks of `component_blocks` in: new ones cost more than the work."""
    blocks = locs.shape[1] if few_numbers(x, locs) else 1
    for _ in range(count):
        yield np.empty((blocks, *x.shape), dtype=x.dtype)


def add_components(total: Array, parts: Array) -> None:
    """Add parts, (B, n, P), to their sum, (n, P); a sum over one part would be a copy first."""
    total += parts[0] if len(parts) == 1 else parts.sum(axis=0)


def component_points(locs: Array, scales: Array, grid: Array) -> Array:
    """Points ``m_k + s_k grid`` of all components in ascending order, (n, P).

    Components of an ensemble overlap. A point is left out where the last one kept is close on
    the scale of its own component, so that narrow components stay resolved and P does not grow
    with the number of components. Integrals over panels between the points have a relative error
    of about 1e-8, or 1e-6 where scales differ by factors of thousands. Rows that need fewer
    points repeat their last one.

    Parameters
    ----------
    locs, scales : arrays of shape (n, K)
    grid : array of shape (G,)
    """
    points = (locs[:, :, None] + scales[:, :, None] * grid).reshape(len(locs), -1)
    if locs.shape[1] <= FEW_COMPONENTS:
        return np.sort(points, axis=1)
    order = np.argsort(points, axis=1)
    points = np.take_along_axis(points, order, axis=1)
    least = _NEAREST * np.take_along_axis(np.repeat(scales, len(grid), axis=1), order, axis=1)
    kept = _far_enough(points, least)
    count = kept.sum(axis=0)
    first = np.argsort(~kept, axis=0, kind="stable")[: count.max()].T
    found = np.take_along_axis(points, first, axis=1)
    beyond = np.arange(found.shape[1]) >= count[:, None]
    return np.where(beyond, points[:, -1:], found)


def _far_enough(points: Array, least: Array) -> Flags:
    """Which points, (n, P), are as far from the last one kept as they have to be, as (P, n)."""
    n, count = points.shape
    kept = np.ones((count, n), dtype=bool)
    if n <= _FEW_ROWS:  # plain numbers are faster than arrays of length one
        for i, (row, gaps) in enumerate(zip(points.tolist(), least.tolist(), strict=True)):
            before = row[0]
            for j in range(1, count - 1):
                if row[j] - before >= gaps[j]:
                    before = row[j]
                else:
                    kept[j, i] = False
        return kept
    columns, distances = np.ascontiguousarray(points.T), np.ascontiguousarray(least.T)
    last = columns[0]
    for j in range(1, count - 1):
        kept[j] = columns[j] - last >= distances[j]
        last = np.where(kept[j], columns[j], last)
    return kept
