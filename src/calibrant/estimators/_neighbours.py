"""What the nearest training rows had as targets, as inputs of a network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import NearestNeighbors

Array = NDArray[np.float64]

MOST_ROWS = 200_000  # beyond, the search would take longer than the training
_COUNT = 16
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
    """

    n_features = 7

    def __init__(
        self, x: Array, y: Array, near: float = _NEAR, loc: Array | float = 0.0,
        scale: Array | float = 1.0,
    ) -> None:  # fmt: skip
        self.x, self.y, self.near, self.loc, self.scale = x, y, near, loc, scale
        self._count = min(_COUNT, len(y) - 1)
        self._tree = NearestNeighbors(n_neighbors=self._count).fit(x)

    @classmethod
    def fit(
        cls, x: Array, y: Array, groups: NDArray[np.generic] | None = None
    ) -> tuple[Neighbours, Array]:
        """Remember training rows; returns their own numbers as well, (n, 7).

        None of them counts as its own neighbour: a new row will not find itself either.

        Parameters
        ----------
        x, y : arrays of shape (n, d) and (n,)
        groups : array of shape (n,), optional
            Rows of a group do not inform each other.
        """
        made = cls(x, y)
        distance, index = made._others() if groups is None else made._of_other_groups(groups)
        made.near = _NEAR * float(np.median(distance[:, -1])) or _NEAR
        plain = made._numbers(distance, y[index])
        spread = plain.std(axis=0)
        made.loc, made.scale = plain.mean(axis=0), np.where(spread > 0, spread, 1.0)
        return made, (plain - made.loc) / made.scale

    def arrays(self) -> dict[str, Array]:
        """What `__init__` needs, to be saved."""
        names = ("x", "y", "near", "loc", "scale")
        return {name: np.asarray(getattr(self, name), dtype=np.float64) for name in names}

    def of(self, x: Array) -> Array:
        """Numbers of new rows, (m, 7), from scaled inputs (m, d)."""
        distance, index = self._tree.kneighbors(x)
        result: Array = (self._numbers(distance, self.y[index]) - self.loc) / self.scale
        return result

    def _others(self) -> tuple[Array, NDArray[np.intp]]:
        """Distances and positions of every row's nearest rows but itself, (n, k)."""
        distance, index = self._tree.kneighbors(self.x, self._count + 1)
        itself = index == np.arange(len(self.y))[:, None]
        # Among many equal rows it may not be listed: then any of them stands for it.
        itself[~itself.any(axis=1), -1] = True
        shape = (len(self.y), self._count)
        return distance[~itself].reshape(shape), index[~itself].reshape(shape)

    def _of_other_groups(self, groups: NDArray[np.generic]) -> tuple[Array, NDArray[np.intp]]:
        """The same, each fold of groups from the others."""
        distance = np.empty((len(self.y), self._count))
        index = np.empty(distance.shape, dtype=np.intp)
        folds = GroupKFold(min(_FOLDS, len(np.unique(groups))))
        for rest, fold in folds.split(self.x, groups=groups):
            tree = NearestNeighbors(n_neighbors=self._count).fit(self.x[rest])
            distance[fold], found = tree.kneighbors(self.x[fold])
            index[fold] = rest[found]
        return distance, index

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
