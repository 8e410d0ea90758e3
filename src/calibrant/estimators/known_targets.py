"""Features of a row from the targets of other training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.estimators.forest import Forest, fit_forest
from calibrant.estimators.neighbours import NeighbourIndex


@dataclass(frozen=True, eq=False)
class KnownTargets:
    """Features from the nearest training rows and from a forest; only `fit` needs all of it.

    Parameters
    ----------
    index : NeighbourIndex
    forest : Forest
    unseen : array of shape (n, 2)
        Features of the training rows by trees that have not seen them.
    """

    index: NeighbourIndex
    forest: Forest
    unseen: Array

    @classmethod
    def fit(
        cls, x: Array, y: Array, weight: Array, groups: NDArray[np.generic] | None, seed: int
    ) -> Self:
        """Index scaled training rows, and grow a forest on them."""
        return cls(NeighbourIndex(x, y, groups), *fit_forest(x, y, weight, groups, seed))

    def features(self, rows: NDArray[np.intp] | None = None) -> Array:
        """Features of all training rows, (n, 9), or of some, (m, 9).

        Neighbours are then taken from these rows alone. The forest is the same for all networks: a
        tree that has not seen a row may have seen rows that a network is stopped on. That moves
        what a network learns of them, by little, away from their targets.
        """
        unseen = self.unseen if rows is None else self.unseen[rows]
        return np.column_stack([self.index.features(rows), unseen])

    def transform(self, x: Array) -> Array:
        """Features of new rows, (m, 9), from scaled inputs (m, d)."""
        return np.column_stack([self.index.neighbours.transform(x), self.forest.transform(x)])
