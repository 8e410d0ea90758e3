"""Monte-Carlo dropout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.combine import PointSpread
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.objectives import mean_nll
from calibrant.estimators.parameters import Constraints, count
from calibrant.estimators.plan import Plan, Recipe
from calibrant.estimators.predictor import Predictor
from calibrant.networks import PointHead
from calibrant.persistence import savable_model
from calibrant.training import Rows, Stage

_LEAST_NOISE = 0.01  # as a share of the squared error on held-out rows


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class MCDropoutRegressor(BodyParameters, NetworkRegressor):
    """Squared-error network whose dropout stays on at prediction (Gal and Ghahramani 2016).

    The mean over passes is the prediction, their variance the epistemic uncertainty.

    Parameters
    ----------
    dropout : float, default 0.3
        Share of hidden units dropped, in training and in every pass.
    passes : int, default 100
        Monte-Carlo passes at prediction.
    noise : {"residual", "none"}, default "residual"
        "residual" adds the variance of the target around the prediction, estimated on the
        held-out rows, which an interval for the target needs. "none" is the Gaussian of the
        passes alone, as published: its intervals are for the mean, and far too narrow for the
        target.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`. With noise, the
    distributions have ``aleatoric`` and ``epistemic`` parts.
    """

    dropout: float = 0.3
    passes: int = 100
    noise: Literal["residual", "none"] = "residual"

    _parameter_constraints: ClassVar[Constraints] = {
        "passes": [count(2)],
        "noise": [StrOptions({"residual", "none"})],
    }

    def _recipe(self, data: FitData) -> Recipe:
        return Recipe(
            network=self._spec(PointHead()),
            stages=self._stages,
            combine=PointSpread(self.passes, noise=0.0),
            calibrate=add_residual_noise if self.noise == "residual" else None,
        )

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        return [self._stage(rows, mean_nll, mean_nll)]


def add_residual_noise(plan: Plan, predictor: Predictor) -> Predictor:
    """Estimate the variance of the target around the prediction on the held-out rows."""
    held_out, combine = plan.held_out, predictor.combine
    assert held_out is not None
    assert isinstance(combine, PointSpread)
    dist = predictor.uncalibrated(held_out.x)
    unit = float(plan.target.scale) ** 2
    error = np.average((held_out.y - dist.mean) ** 2, weights=held_out.weight) / unit
    known = np.average(dist.variance, weights=held_out.weight) / unit
    noise = float(max(error - known, _LEAST_NOISE * error))
    return replace(predictor, combine=PointSpread(combine.passes, noise))
