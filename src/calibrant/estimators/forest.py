"""Features from a random forest of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from calibrant.checks import Array
from calibrant.errors import ModelFileError
from calibrant.estimators.splits import group_folds
from calibrant.persistence import savable_part

_TREES = 100
_LEAST_IN_LEAF = 3
_SHARE_OF_INPUTS = 0.5  # that each split chooses from
_MOST_ROWS = 50_000  # that each tree is grown on
LEAST_SPREAD = 0.01  # of the trees, in units of the target
_ROWS_AT_ONCE = 4096


@savable_part
@dataclass(frozen=True, eq=False, kw_only=True)
class Forest:
    """Two features of a row: mean and log spread of the predictions of regression trees.

    Trees find steps and interactions of few inputs that networks need many rows for; a network
    that reads their prediction corrects it where the target is smooth.

    The nodes of all trees stand one after another, each tree in depth-first order, so that the
    left child of a node is the next one.

    Parameters
    ----------
    roots : array of shape (trees,)
        Position of the first node of every tree.
    column : array of shape (nodes,)
        Input that a node compares; -1 for a leaf.
    threshold : array of shape (nodes,), float32
        A row whose input is at most that goes to the left. In a leaf: its prediction.
    right : array of shape (nodes,)
        Position of the right child.
    loc, scale : array of shape (2,)
        Shift and scale of the features.
    """

    roots: NDArray[np.int32]
    column: NDArray[np.int32]
    threshold: NDArray[np.float32]
    right: NDArray[np.int32]
    loc: Array
    scale: Array

    n_features = 2

    def __post_init__(self) -> None:
        inner = np.flatnonzero(self.column >= 0)
        right = self.right[inner]
        if not np.all((inner < right) & (right < len(self.column))):  # else rows never arrive
            raise ModelFileError(
                "The trees of the model's forest lead back to themselves: its folder is damaged. "
                "Fit and save the model again."
            )

    @property
    def depth(self) -> int:
        """Steps from a root to the deepest leaf."""
        level, at = 0, self.roots
        while len(at := at[self.column[at] >= 0]):
            level, at = level + 1, np.concatenate([at + 1, self.right[at]])
        return level

    def transform(self, x: Array) -> Array:
        """Features of new rows, (m, 2), from scaled inputs (m, d)."""
        parts = [
            _mean_and_spread(self.predictions(x[start : start + _ROWS_AT_ONCE]))
            for start in range(0, max(1, len(x)), _ROWS_AT_ONCE)
        ]
        return self.scaled(np.concatenate(parts))

    def scaled(self, features: Array) -> Array:
        """Shift and scale features of shape (m, 2)."""
        result: Array = (features - self.loc) / self.scale
        return result

    def predictions(self, x: Array) -> NDArray[np.float32]:
        """Prediction of every tree, (m, trees), from scaled inputs (m, d)."""
        values = x.astype(np.float32)
        # As many trees at a time as keep the arrays long enough for NumPy; the nodes of few trees
        # stay in the cache.
        count = max(1, _ROWS_AT_ONCE // max(1, len(x)))
        blocks = [self.roots[i : i + count] for i in range(0, len(self.roots), count)]
        return np.column_stack([self.threshold[self._leaves(values, block)] for block in blocks])

    def _leaves(self, values: NDArray[np.float32], roots: NDArray[np.int32]) -> NDArray[np.intp]:
        """Leaf that every row reaches in some trees, (m, trees)."""
        reached = np.tile(roots.astype(np.intp), len(values))
        going = np.arange(len(reached))
        first = np.repeat(np.arange(len(values)) * values.shape[1], len(roots))
        at, flat = reached, values.ravel()
        while True:
            column = self.column[at]
            inner = np.flatnonzero(column >= 0)
            if not len(inner):
                return reached.reshape(len(values), len(roots))
            going, first, at = going[inner], first[inner], at[inner]
            left = flat[first + column[inner]] <= self.threshold[at]
            at = np.where(left, at + 1, self.right[at])
            reached[going] = at

    @classmethod
    def of(cls, trees: RandomForestRegressor, out_of_bag: Array) -> Self:
        """Take the nodes of fitted trees, and the scale of features of unseen rows, (n, 2)."""
        each = [tree.tree_ for tree in trees.estimators_]
        starts = np.cumsum([0, *(tree.node_count for tree in each)])
        leaf = [tree.children_left < 0 for tree in each]
        spread = out_of_bag.std(axis=0)
        return cls(
            roots=starts[:-1].astype(np.int32),
            column=np.concatenate(
                [np.where(end, -1, tree.feature) for end, tree in zip(leaf, each, strict=True)]
            ).astype(np.int32),
            threshold=np.concatenate(
                [
                    np.where(end, tree.value[:, 0, 0], _rounded_down(tree.threshold))
                    for end, tree in zip(leaf, each, strict=True)
                ]
            ).astype(np.float32),
            right=np.concatenate(
                [start + tree.children_right for start, tree in zip(starts[:-1], each, strict=True)]
            ).astype(np.int32),
            loc=out_of_bag.mean(axis=0),
            scale=np.where(spread > 1e-9, spread, 1.0),
        )


def fit_forest(
    x: Array,
    y: Array,
    weight: Array,
    groups: NDArray[np.generic] | None,
    seed: int,
) -> tuple[Forest, Array]:
    """Grow a forest, and predict each of its rows by trees that have not seen it.

    Parameters
    ----------
    x, y, weight : arrays of shape (n, d), (n,) and (n,)
        Scaled inputs and targets.
    groups : array of shape (n,), optional
        Rows of a group do not inform each other.
    seed : int

    Returns
    -------
    forest : Forest
    features : array of shape (n, 2)
        Out of bag, or of trees that have seen no row of the group.
    """
    trees = _grow(x, y, weight, seed)
    unseen = _out_of_bag(trees, x) if groups is None else _out_of_group(x, y, weight, groups, seed)
    forest = Forest.of(trees, unseen)
    return forest, forest.scaled(unseen)


def _grow(x: Array, y: Array, weight: Array, seed: int) -> RandomForestRegressor:
    return RandomForestRegressor(
        n_estimators=_TREES,
        min_samples_leaf=_LEAST_IN_LEAF,
        max_features=_SHARE_OF_INPUTS,
        max_samples=_MOST_ROWS if len(y) > _MOST_ROWS else None,
        random_state=seed,
        n_jobs=torch.get_num_threads(),
    ).fit(x, y, weight)


def _out_of_bag(trees: RandomForestRegressor, x: Array) -> Array:
    """Features of the training rows, (n, 2), each by the trees that did not draw it."""
    values = x.astype(np.float32)
    sums = np.zeros((3, len(x)))  # of ones, predictions and their squares
    for tree, drawn in zip(trees.estimators_, trees.estimators_samples_, strict=True):
        unseen = np.ones(len(x), dtype=bool)
        unseen[drawn] = False
        predicted = tree.predict(values[unseen])
        sums[:, unseen] += np.ones_like(predicted), predicted, predicted**2
    # A row that every tree has drawn, one in 1e20, has no such tree: mean and spread are 0.
    count = np.maximum(sums[0], 1.0)
    mean = sums[1] / count
    spread = np.sqrt(np.maximum(sums[2] / count - mean**2, 0.0))
    return _features(mean, spread)


def _out_of_group(
    x: Array, y: Array, weight: Array, groups: NDArray[np.generic], seed: int
) -> Array:
    """Features of the training rows, (n, 2), each by a forest without the rows of its group."""
    features = np.empty((len(y), Forest.n_features))
    for train, fold in group_folds(groups):
        trees = _grow(x[train], y[train], weight[train], seed)
        each = [tree.predict(x[fold].astype(np.float32)) for tree in trees.estimators_]
        features[fold] = _mean_and_spread(np.transpose(each))
    return features


def _mean_and_spread(predictions: NDArray[np.floating]) -> Array:
    """Features (m, 2) from the predictions of trees, (m, trees)."""
    return _features(
        predictions.mean(axis=1, dtype=np.float64), predictions.std(axis=1, dtype=np.float64)
    )


def _features(mean: Array, spread: Array) -> Array:
    return np.column_stack([mean, np.log(spread + LEAST_SPREAD)])


def _rounded_down(threshold: Array) -> NDArray[np.float32]:
    """Thresholds in float32 that divide numbers in float32 as the exact ones do."""
    rounded = threshold.astype(np.float32)
    below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > threshold, below, rounded)
