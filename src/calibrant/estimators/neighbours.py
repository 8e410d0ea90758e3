"""Features from the targets of the nearest training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KDTree, NearestNeighbors

from calibrant.checks import Array
from calibrant.estimators.splits import group_folds
from calibrant.persistence import savable_part

_COUNT = 16  # neighbours that are used
_SEARCHED = 40  # neighbours that are searched; a network may use three quarters of them or more
FEW = 4
_TREE_INPUTS = 15  # up to which a tree is faster than comparing all rows
_NEAR = 1e-3  # share of the median distance of the last neighbour below which rows are equal


@savable_part
class Neighbours:
    """Seven features from the targets of the nearest training rows.

    The target of the nearest row, the mean weighted by inverse distance, the means of the
    nearest 4 and 16, the spread of the 16, and the logarithms of the distances of the first and
    the last. A network that reads them need not memorise rare or repeated rows, which trees
    handle better than networks.

    Parameters
    ----------
    x : array of shape (n, d)
        Scaled inputs of the training rows.
    y : array of shape (n,)
        Their scaled targets.
    near : float
        Distance below which two rows count as equal.
    loc, scale : array of shape (7,)
        Shift and scale of the features.
    count : int
        Number of neighbours.
    """

    n_features = 7

    def __init__(
        self,
        x: Array,
        y: Array,
        near: float = _NEAR,
        loc: Array | float = 0.0,
        scale: Array | float = 1.0,
        count: int = _COUNT,
    ) -> None:
        self.x, self.y, self.near, self.loc, self.scale = x, y, near, loc, scale
        self.count = min(count, len(y) - 1)
        self._search = _search_in(x)

    def saved_fields(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {name: getattr(self, name) for name in ("x", "y", "near", "loc", "scale", "count")}

    def transform(self, x: Array) -> Array:
        """Features of new rows, (m, 7), from scaled inputs (m, d)."""
        distance, index = self.nearest(x, self.count)
        return self.describe(distance, self.y[index])

    def nearest(self, x: Array, count: int) -> tuple[Array, NDArray[np.intp]]:
        """Distances and positions of the nearest training rows, (m, count), nearest first."""
        tree = self._search
        query = tree.query if isinstance(tree, KDTree) else tree.kneighbors
        distance, found = query(x, count)
        return distance, found

    def describe(self, distance: Array, y: Array) -> Array:
        """Scaled features (m, 7) from distances and targets of neighbours, (m, count) each."""
        result: Array = (_unscaled(distance, y, self.near) - self.loc) / self.scale
        return result


def _search_in(x: Array) -> KDTree | NearestNeighbors:
    """Index of rows; `NearestNeighbors` costs five times as much as its tree for a single row."""
    if x.shape[1] <= _TREE_INPUTS:
        return KDTree(x, leaf_size=30)
    return NearestNeighbors(algorithm="brute").fit(x)


class NeighbourIndex:
    """The nearest training rows of every training row; only `fit` needs it.

    No row counts as its own neighbour, because a new row does not find itself either.

    Parameters
    ----------
    x, y : arrays of shape (n, d) and (n,)
        Scaled inputs and targets of the training rows.
    groups : array of shape (n,), optional
        Rows of a group are not neighbours of each other.

    Attributes
    ----------
    neighbours : Neighbours
        Computes the features of new rows.
    """

    def __init__(self, x: Array, y: Array, groups: NDArray[np.generic] | None = None) -> None:
        plain = Neighbours(x, y)
        self._distance, self._index = _nearest(plain, groups)
        count = min(plain.count, self._index.shape[1])
        near = _NEAR * float(np.median(self._distance[:, count - 1])) or _NEAR
        features = _unscaled(self._distance[:, :count], y[self._index[:, :count]], near)
        spread = features.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        self.neighbours = Neighbours(x, y, near, features.mean(axis=0), scale, count)

    def features(self, rows: NDArray[np.intp] | None = None) -> Array:
        """Features of training rows, (m, 7), from the targets of these rows alone.

        A network that is stopped and calibrated on the other rows must not see their targets, not
        even in its inputs. Without `rows`, features of all rows from the targets of all others.
        """
        y, count = self.neighbours.y, self.neighbours.count
        if rows is None:
            nearest = np.s_[:, :count]
            return self.neighbours.describe(self._distance[nearest], y[self._index[nearest]])
        known = np.zeros(len(y), dtype=bool)
        known[rows] = True
        unknown = ~known[self._index[rows]]
        # Known neighbours come first. If there are too few, the last known one is repeated; if
        # there is none, the mean of all known targets replaces them.
        order = np.argsort(unknown, axis=1, kind="stable")[:, :count]
        index = np.take_along_axis(self._index[rows], order, axis=1)
        distance = np.take_along_axis(self._distance[rows], order, axis=1)
        found = y[_last_known(index, np.take_along_axis(unknown, order, axis=1))]
        found[unknown.all(axis=1)] = y[rows].mean()
        return self.neighbours.describe(distance, found)


def _nearest(
    known: Neighbours, groups: NDArray[np.generic] | None
) -> tuple[Array, NDArray[np.intp]]:
    """Distances and positions of the nearest other rows of every row, nearest first."""
    n_rows = len(known.y)
    more = min(_SEARCHED, n_rows - 1)
    if groups is None:
        distance, index = known.nearest(known.x, more + 1)
        itself = index == np.arange(n_rows)[:, None]
        # Among many equal rows a row may not find itself: then any of them is dropped.
        itself[~itself.any(axis=1), -1] = True
        shape = (n_rows, more)
        return distance[~itself].reshape(shape), index[~itself].reshape(shape)
    folds = list(group_folds(groups))
    more = min(more, *(len(train) for train, _ in folds))
    distance = np.empty((n_rows, more))
    index = np.empty(distance.shape, dtype=np.intp)
    for train, fold in folds:
        others = Neighbours(known.x[train], known.y[train])
        distance[fold], found = others.nearest(known.x[fold], more)
        index[fold] = train[found]
    return distance, index


def _unscaled(distance: Array, y: Array, near: float) -> Array:
    """The seven features, unscaled, (m, 7)."""
    weight = 1.0 / (distance + near)
    return np.column_stack(
        [
            y[:, 0],
            (weight * y).sum(axis=1) / weight.sum(axis=1),
            y[:, :FEW].mean(axis=1),
            y.mean(axis=1),
            y.std(axis=1),
            np.log(distance[:, 0] + near),
            np.log(distance[:, -1] + near),
        ]
    )


def _last_known(index: NDArray[np.intp], unknown: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Positions in which unknown rows, which come last, are replaced by the last known one."""
    last = np.maximum((~unknown).sum(axis=1) - 1, 0)
    stand_in = np.take_along_axis(index, last[:, None], axis=1)
    return np.where(unknown, stand_in, index)
