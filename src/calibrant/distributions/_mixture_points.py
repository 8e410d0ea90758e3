"""Places at which the distribution function of a mixture must be known to be known between them."""

from __future__ import annotations

import numpy as np

from calibrant.distributions._checks import Array

FEW_COMPONENTS = 8  # whose places are not worth thinning
_NEAREST = 0.8  # of its component's scale: nearer to the place before it, a place tells nothing


def component_points(locs: Array, scales: Array, grid: Array) -> Array:
    """Places ``m_k + s_k grid`` of all components in ascending order, (n, P).

    Components of an ensemble lie on top of each other. A place is left out where the last one
    kept is near for its own component's scale, so that narrow components stay resolved and P
    does not grow with the number of components. Integrals between the places stay right to about
    1e-8, or 1e-6 where scales differ by factors of thousands. Rows that need fewer places repeat
    their last one.

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
    places, gaps = np.ascontiguousarray(points.T), np.ascontiguousarray(least.T)
    kept = np.ones(places.shape, dtype=bool)
    last = places[0]
    for j in range(1, len(places) - 1):
        kept[j] = places[j] - last >= gaps[j]
        last = np.where(kept[j], places[j], last)
    count = kept.sum(axis=0)
    first = np.argsort(~kept, axis=0, kind="stable")[: count.max()].T
    found = np.take_along_axis(points, first, axis=1)
    beyond = np.arange(found.shape[1]) >= count[:, None]
    return np.where(beyond, points[:, -1:], found)
