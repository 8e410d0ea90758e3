"""Corrections of predictive distributions, learned from held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from sklearn.base import clone

from calibrant.checks import Array
from calibrant.distributions import (
    Distribution,
    MonotoneMap,
    Normal,
    Recalibrated,
    ScoreRecalibrated,
)
from calibrant.distributions.pit import normal_scores
from calibrant.persistence import savable_part
from calibrant.recalibration import fit_pit_map
from calibrant.recalibration.quantile_tracking import FARTHEST, LEVELS, moved_apart
from calibrant.tables import as_frame

_EDGE = 30.0  # normal scores of held-out rows beyond this are no more informative


class Correction(Protocol):
    """A map from predicted distributions, and features of the same rows, to better ones."""

    name: ClassVar[str]

    def apply(self, base: Distribution, features: Any) -> Distribution:
        """Return the corrected distributions of n rows."""


@savable_part
@dataclass(frozen=True)
class Unchanged:
    """The predicted distributions as they are."""

    name: ClassVar[str] = "unchanged"

    def apply(self, base: Distribution, features: Any) -> Distribution:
        """Return the same distributions."""
        return base


def _no_knots() -> Array:
    return np.empty(0)


@savable_part
@dataclass(frozen=True, eq=False)
class CommonMap:
    """One monotone map of the distribution functions of all rows; see `fit_pit_map`.

    Parameters
    ----------
    x, y : arrays of shape (k,)
        Knots of the map.
    """

    x: Array = field(default_factory=_no_knots)
    y: Array = field(default_factory=_no_knots)
    name: ClassVar[str] = "one map"

    @classmethod
    def of_pit(cls, left: Array, right: Array) -> CommonMap:
        """Learn the map from ``F(y-)`` and ``F(y)`` of held-out rows, (m,) each."""
        learned = fit_pit_map(right, left=left)
        return cls(learned.x[1:-1], learned.y[1:-1])

    def apply(self, base: Distribution, features: Any) -> Distribution:
        """Send the distribution function of every row through the map."""
        return Recalibrated(base, MonotoneMap(self.x, self.y)) if len(self.x) else base


@dataclass(frozen=True, eq=False)
class ConditionalShape:
    """The distribution of normal scores given features and prediction, learned by a network.

    With ``z = Phi^{-1}(F(y))`` the normal score of a target under the predicted F, the network
    learns the distribution G of z in each row, and the corrected distribution function is
    ``G(Phi^{-1}(F(y)))``. For a normal prediction z is the standardised residual, and the result
    is G itself, moved and scaled.

    Parameters
    ----------
    network : fitted estimator with ``predict_dist``
    points : bool
        Whether the model predicts points: then there is no spread to read.
    finish : CommonMap
        What out-of-fold rows showed to be left, for all rows alike.
    """

    network: Any
    points: bool
    finish: CommonMap = field(default_factory=CommonMap)
    name: ClassVar[str] = "given features and prediction"

    @classmethod
    def fit(
        cls,
        learner: Any,
        base: Distribution,
        y: Array,
        features: Any,
        *,
        points: bool,
        symmetric: bool,
    ) -> ConditionalShape:
        """Fit a clone of the learner to the normal scores of held-out rows.

        Parameters
        ----------
        learner : unfitted estimator with ``predict_dist``
        base : Distribution of n rows
        y : array of shape (n,)
        features : frame or array of shape (n, d), or None
        points : bool
        symmetric : bool
            Fit to z and -z: spread and tails are learned, and the location stays.
        """
        scores = np.clip(normal_scores(base, y), -_EDGE, _EDGE)
        table = network_inputs(base, features, points=points)
        if not symmetric:
            return cls(clone(learner).fit(table, scores), points)
        twice = pd.concat([table, table], ignore_index=True)
        rows = np.tile(np.arange(len(y)), 2)  # both signs of a row are held out together
        both = np.concatenate([scores, -scores])
        return cls(clone(learner).fit(twice, both, groups=rows), points)

    def apply(self, base: Distribution, features: Any) -> Distribution:
        """Replace the normal distribution of scores by the learned one."""
        shape = self.network.predict_dist(network_inputs(base, features, points=self.points))
        if isinstance(base, Normal):
            corrected = shape.affine(base.loc, base.scale)
        else:
            knots = moved_apart(np.clip(shape.ppf(LEVELS), -FARTHEST, FARTHEST - 1e-3))
            corrected = ScoreRecalibrated(base, knots, LEVELS)
        return self.finish.apply(corrected, features)


def network_inputs(base: Distribution, features: Any, *, points: bool) -> pd.DataFrame:
    """Table that a network reads: features, if any, and a summary of the prediction.

    Parameters
    ----------
    base : Distribution of n rows
    features : frame or array of shape (n, d), or None
    points : bool
        Whether the model predicts points: then there is no spread to summarise.
    """
    low, middle, high = base.ppf([0.1, 0.5, 0.9]).T
    summary = {"prediction": middle}
    if not points:
        width = np.maximum(high - low, np.finfo(float).tiny)
        summary |= {"log spread": np.log(width), "skew": (high + low - 2.0 * middle) / width}
    columns = {f"{name} of the model": values for name, values in summary.items()}
    if features is None:
        return pd.DataFrame(columns)
    return as_frame(features).reset_index(drop=True).assign(**columns)
