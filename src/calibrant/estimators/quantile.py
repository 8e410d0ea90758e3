"""Quantile regression at all levels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from torch import Tensor

from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.calibration_map import LEAST_HELD_OUT, CalibrationMap
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.objectives import pit_values
from calibrant.estimators.parameters import Constraints
from calibrant.estimators.plan import Plan, Recipe
from calibrant.estimators.predictor import Predictor
from calibrant.metrics import pit
from calibrant.networks import LogisticSpline, MemberNetworks, QuantileHead
from calibrant.persistence import savable_model
from calibrant.training import Rows, Stage


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class QuantileNetworkRegressor(BodyParameters, NetworkRegressor):
    """Quantile regression network for all levels, whose quantiles never cross.

    It predicts the quantile at the middle level and, through softplus, the slopes between
    neighbouring levels. The quantile function is linear in the log-odds of the level between them
    and beyond the outermost ones (`Quantiles`). Training minimises the CRPS, twice the pinball
    loss integrated over all levels,

        CRPS(y) = 2 int_0^1 (1{y < Q(p)} - p) (Q(p) - y) dp,

    in closed form, and keeps the epoch with the best CRPS on the held-out rows.

    Parameters
    ----------
    levels : sequence of float, default (0.05, 0.25, 0.5, 0.75, 0.95)
        Knots of the quantile function, strictly increasing inside (0, 1). More of them can fit
        more shapes and need more rows.
    recalibrate : bool, default True
        Learn a final monotone map from the held-out rows: trained by the CRPS alone, quantiles
        are too close to each other.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`, except `components` and
    `mc_passes`. The CRPS says little about the tails: beyond the outermost levels they are
    extrapolated from the two nearest ones.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import QuantileNetworkRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> y = X[:, 0] + rng.exponential(0.2, 200)
    >>> model = QuantileNetworkRegressor(random_state=0).fit(X, y)
    >>> quantiles = model.predict_quantiles(X, alpha=np.linspace(0.001, 0.999, 99))
    >>> bool((np.diff(quantiles, axis=1) > 0).all())
    True
    """

    levels: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
    recalibrate: bool = True

    _parameter_constraints: ClassVar[Constraints] = {
        "levels": ["array-like"],
        "recalibrate": ["boolean"],
    }

    def _recipe(self, data: FitData) -> Recipe:
        return Recipe(
            network=self._spec(QuantileHead(tuple(self.levels))),
            stages=self._stages,
            calibrate=add_map if self.recalibrate else None,
        )

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        stage = self._stage(rows, _mean_crps, _mean_crps, pit=pit_values)
        return [replace(stage, name="quantiles", score_name="CRPS")]


def add_map(plan: Plan, predictor: Predictor) -> Predictor:
    """Learn one monotone map of the distribution functions from the held-out rows."""
    held_out = plan.held_out
    assert held_out is not None
    if len(held_out.y) < LEAST_HELD_OUT:
        return predictor
    values = pit(predictor.predict(held_out.x), held_out.y)
    return replace(predictor, map=CalibrationMap.fit(values, values, held_out.weight))


def _mean_crps(network: MemberNetworks, rows: Rows) -> Tensor:
    dist = cast(LogisticSpline, network(rows.x))
    return (rows.weight * dist.crps(rows.y)).mean(dim=-1)
