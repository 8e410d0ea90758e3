"""What the nearest training rows had as targets, as inputs of a network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import NearestNeighbors

Array = NDArray[np.float64]

MOST_ROWS = 200_000  # beyond, the search would take longer than the training
_COUNT = 16
_SEARCHED = 40  # of which three quarters or more are known to a network
_FEW = 4
_FOLDS = 5
_NEAR = 1e-3  # of the typical distance of the last neighbour: rows this near are the same


class Neighbours:
    """Seven numbers about the targets of a row's nearest training rows.

    The target of the nearest row, the mean weighted by inverse distance, the means of the
    nearest 4 and 16, the spread of the 16, and the logarithms of the distances of the first and
    the last. A network that sees them need not learn rare or repeated rows by heart, which is
    where trees are ahead of it.

    Parameters
    ----------
    x : array of shape (n, d)
        Scaled inputs of the training rows.
    y : array of shape (n,)
        Their scaled targets.
    near : float
        Distance below which two rows count as the same.
    loc, scale : array of shape (7,)
        What the numbers are scaled by.
    count : int
        Neighbours that are asked.
    """

    n_features = 7
    _distance: Array  # of the training rows' nearest, for as long as networks are trained
    _index: NDArray[np.intp]

    def __init__(
        self, x: Array, y: Array, near: float = _NEAR, loc: Array | float = 0.0,
        scale: Array | float = 1.0, count: int = _COUNT,
    ) -> None:  # fmt: skip
        self.x, self.y, self.near, self.loc, self.scale = x, y, near, loc, scale
        self.count = min(count, len(y) - 1)
        self._tree = NearestNeighbors(n_neighbors=self.count).fit(x)

    @classmethod
    def fit(cls, x: Array, y: Array, groups: NDArray[np.generic] | None = None) -> Neighbours:
        """Remember training rows, and who is near to each of them.

        None of them counts as its own neighbour: a new row will not find itself either.

        Parameters
        ----------
        x, y : arrays of shape (n, d) and (n,)
        groups : array of shape (n,), optional
            Rows of a group do not inform each other.
        """
        made = cls(x, y)
        made._distance, made._index = made._nearest(groups)
        made.count = min(made.count, made._index.shape[1])
        made.near = _NEAR * float(np.median(made._distance[:, made.count - 1])) or _NEAR
        plain = made._numbers(made._distance[:, : made.count], y[made._index[:, : made.count]])
        spread = plain.std(axis=0)
        made.loc, made.scale = plain.mean(axis=0), np.where(spread > 0, spread, 1.0)
        return made

    def among(self, rows: NDArray[np.intp] | None = None) -> Array:
        """Numbers of training rows, (m, 7), as far as these rows know of each other.

        A network that is to be judged on the other rows must not have seen their targets, in
        its inputs neither. Without `rows` all of them, each informed by all others.
        """
        if rows is None:
            nearest = np.s_[:, : self.count]
            return self._scaled(self._distance[nearest], self.y[self._index[nearest]])
        known = np.zeros(len(self.y), dtype=bool)
        known[rows] = True
        unknown = ~known[self._index[rows]]
        # The nearest that are known come first; where there are too few, the last of them stands
        # in, and where there is none, the mean of all that are known.
        order = np.argsort(unknown, axis=1, kind="stable")[:, : self.count]
        index = np.take_along_axis(self._index[rows], order, axis=1)
        distance = np.take_along_axis(self._distance[rows], order, axis=1)
        y = self.y[_last_known(index, np.take_along_axis(unknown, order, axis=1))]
        y[unknown.all(axis=1)] = self.y[rows].mean()
        return self._scaled(distance, y)

    def arrays(self) -> dict[str, Array]:
        """What `__init__` needs, to be saved."""
        names = ("x", "y", "near", "loc", "scale", "count")
        return {name: np.asarray(getattr(self, name), dtype=np.float64) for name in names}

    def of(self, x: Array) -> Array:
        """Numbers of new rows, (m, 7), from scaled inputs (m, d)."""
        distance, index = self._tree.kneighbors(x, self.count)
        return self._scaled(distance, self.y[index])

    def forget_nearest(self) -> None:
        """Let go of who is near to training rows: only training asks for it."""
        del self._distance, self._index

    def _nearest(self, groups: NDArray[np.generic] | None) -> tuple[Array, NDArray[np.intp]]:
        """Distances and positions of every row's nearest rows but itself, nearest first."""
        more = min(_SEARCHED, len(self.y) - 1)
        if groups is None:
            distance, index = self._tree.kneighbors(self.x, more + 1)
            itself = index == np.arange(len(self.y))[:, None]
            # Among many equal rows it may not be listed: then any of them stands for it.
            itself[~itself.any(axis=1), -1] = True
            shape = (len(self.y), more)
            return distance[~itself].reshape(shape), index[~itself].reshape(shape)
        folds = GroupKFold(min(_FOLDS, len(np.unique(groups))))
        splits = list(folds.split(self.x, groups=groups))
        more = min(more, *(len(rest) for rest, _ in splits))
        distance = np.empty((len(self.y), more))
        index = np.empty(distance.shape, dtype=np.intp)
        for rest, fold in splits:
            tree = NearestNeighbors(n_neighbors=more).fit(self.x[rest])
            distance[fold], found = tree.kneighbors(self.x[fold])
            index[fold] = rest[found]
        return distance, index

    def _scaled(self, distance: Array, y: Array) -> Array:
        result: Array = (self._numbers(distance, y) - self.loc) / self.scale
        return result

    def _numbers(self, distance: Array, y: Array) -> Array:
        weight = 1.0 / (distance + self.near)
        return np.column_stack(
            [
                y[:, 0],
                (weight * y).sum(axis=1) / weight.sum(axis=1),
                y[:, :_FEW].mean(axis=1),
                y.mean(axis=1),
                y.std(axis=1),
                np.log(distance[:, 0] + self.near),
                np.log(distance[:, -1] + self.near),
            ]
        )


def _last_known(index: NDArray[np.intp], unknown: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Positions with those of unknown rows, which come last, replaced by the one before them."""
    last = np.maximum((~unknown).sum(axis=1) - 1, 0)
    stand_in = np.take_along_axis(index, last[:, None], axis=1)
    return np.where(unknown, stand_in, index)
