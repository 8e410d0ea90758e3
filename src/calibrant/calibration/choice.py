"""Choose a correction by cross-validation."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration.corrections import (
    CommonMap,
    ConditionalShape,
    Correction,
    Unchanged,
)
from calibrant.checks import Array, take_rows
from calibrant.checks.folds import make_folds
from calibrant.distributions import Distribution
from calibrant.errors import DataWarning
from calibrant.estimators import Ensemble, Matching, MMDRegressor
from calibrant.estimators.atoms import Atoms, cells_of

_FOLDS = 5  # with fewer, the networks that are judged are clearly worse than the one that is used
LEAST_FOR_NETWORK = 200  # fewer rows can't tell spreads apart


class Choice(NamedTuple):
    """A correction that was fitted to all rows, and the CRPS of all candidates.

    Parameters
    ----------
    correction : Correction
    scores : dict of name to float
        Mean CRPS of held-out rows.
    """

    correction: Correction
    scores: dict[str, float]


class Rows(NamedTuple):
    """Held-out rows to learn a correction from.

    Parameters
    ----------
    base : Distribution of n rows
        What the model predicts.
    y : array of shape (n,)
    features : frame or array of shape (n, d), or None
    groups : array of shape (n,) or None
        Rows of one group stay on one side of a split.
    """

    base: Distribution
    y: Array
    features: Any
    groups: NDArray[Any] | None

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        features = None if self.features is None else take_rows(self.features, rows)
        groups = None if self.groups is None else self.groups[rows]
        return Rows(self.base[rows], self.y[rows], features, groups)


def small_network(random_state: int = 0) -> MMDRegressor:
    """Return the estimator that learns the shape of residuals unless the user has one.

    Without a map of its own: the few rows that it holds out would leave noise in the map, and
    different noise in every fold, which the map learned from all folds can't remove.
    """
    return MMDRegressor(
        hidden=(64, 64),
        ensemble=Ensemble(members=1, folds=0, submodels=4, kinds=("relu",)),
        matching=Matching(epochs=15),
        atoms=False,
        recalibrate=False,
        random_state=random_state,
    )


def choose(
    rows: Rows, atoms: Atoms, learner: Any, *, points: bool, location: str, random_state: int
) -> Choice:
    """Return the correction that cross-validated CRPS chooses, fitted to all rows.

    1. Every fold is predicted unchanged, by one map, and by a network (from 200 rows on), each
       learned from the other folds.
    2. The lowest CRPS is chosen. If that is the unchanged one, the best correction is still
       preferred where it costs less than one standard error of the paired difference: CRPS hardly
       sees a coverage that is wrong by a few percent.
    3. What was chosen is fitted to all rows. A network is followed by a map of what its
       out-of-fold PIT values show to be left, such as skewness.

    Parameters
    ----------
    rows : Rows
    atoms : Atoms
        Values that the target repeats: candidates but the first put mass on them.
    learner : unfitted estimator
    points : bool
        Whether the model predicts points, so that there are no distributions to leave unchanged.
    location : {"keep", "learn"}
        Whether a network may move the predictions.
    random_state : int
    """
    smooth = rows._replace(y=_dequantized(rows.y, atoms, random_state))
    symmetric = points and location == "keep"
    names = [CommonMap.name] if points else [Unchanged.name, CommonMap.name]
    if len(rows.y) >= LEAST_FOR_NETWORK:
        names.append(ConditionalShape.name)
    crps = {name: np.full(len(rows.y), np.nan) for name in names}
    ends = np.full((2, len(rows.y)), np.nan)  # of the network's distribution functions
    folds = make_folds(_FOLDS, rows.y[:, None], rows.y, rows.groups, random_state=random_state)
    for train, test in folds:
        own, seen = smooth.take(test), smooth.take(train)
        for name in names:
            correction = _fit(name, seen, rows.y[train], atoms, learner, points, symmetric)
            dist = correction.apply(own.base, own.features)
            if name == ConditionalShape.name:
                ends[:, test] = _pit_ends(dist, rows.y[test], atoms)
            final = dist if name == Unchanged.name else atoms.apply(dist)
            crps[name][test] = final.crps(rows.y[test])
    scores = {name: float(np.mean(values)) for name, values in crps.items()}
    best = _best(crps)
    chosen = _fit(best, smooth, rows.y, atoms, learner, points, symmetric)
    if isinstance(chosen, ConditionalShape):
        chosen = replace(chosen, finish=CommonMap.of_pit(*ends))
    return Choice(chosen, scores)


def _best(crps: dict[str, Array]) -> str:
    """Name of the candidate to use; `crps` has the score of every held-out row, (n,)."""
    ranked = sorted(crps, key=lambda name: float(np.mean(crps[name])))
    if ranked[0] != Unchanged.name:
        return ranked[0]
    loss = crps[ranked[1]] - crps[Unchanged.name]
    within_noise = np.mean(loss) < np.std(loss) / np.sqrt(len(loss))
    return ranked[1] if within_noise else Unchanged.name


def _fit(
    name: str,
    rows: Rows,
    y: Array,
    atoms: Atoms,
    learner: Any,
    points: bool,
    symmetric: bool,
) -> Correction:
    """Fit a candidate to rows with dequantised targets; `y` are the targets themselves."""
    if name == Unchanged.name:
        return Unchanged()
    if name == CommonMap.name:
        return CommonMap.of_pit(*_pit_ends(rows.base, y, atoms))
    with warnings.catch_warnings():
        # Columns that are constant in a fold, or a target that is, are no news to the user.
        warnings.simplefilter("ignore", DataWarning)
        return ConditionalShape.fit(
            learner, rows.base, rows.y, rows.features, points=points, symmetric=symmetric
        )


def _pit_ends(dist: Distribution, y: Array, atoms: Atoms) -> tuple[Array, Array]:
    """Distribution functions at both ends of the cells of y, or below and at y, (n,) each."""
    return atoms.cdf_ends(dist, y) if len(atoms.cells) else (dist.cdf_left(y), dist.cdf(y))


def _dequantized(y: Array, atoms: Atoms, random_state: int) -> Array:
    """Targets on atoms, spread evenly over the cells around them: a density can be learned."""
    if not len(atoms.cells):
        return y
    low, high = cells_of(y, atoms.cells)
    return low + np.random.default_rng(random_state).random(len(y)) * (high - low)
