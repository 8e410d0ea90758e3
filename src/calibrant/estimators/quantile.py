"""Quantile regression at all levels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from calibrant.checks import check_quantile_levels
from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators._objectives import pit_values
from calibrant.estimators._validation import Sample
from calibrant.networks import Head, LogisticLines, MemberNetworks, QuantileHead
from calibrant.training import Rows, Stage


@dataclass(kw_only=True, repr=False, eq=False)
class QuantileNetworkRegressor(NetworkRegressor):
    """Network whose quantile function has any shape and never crosses.

    It predicts the quantile at the middle level and, through softplus, the slopes between
    neighbouring levels; straight lines in the log-odds of the level join them and go on into
    the tails (`Quantiles`). Training minimises the CRPS, twice the pinball loss integrated over
    all levels,

        CRPS(y) = 2 int_0^1 (1{y < Q(p)} - p) (Q(p) - y) dp,

    in closed form, and keeps the epoch with the best CRPS on the held-out rows.

    Parameters
    ----------
    levels : sequence of float, default (0.05, 0.25, 0.5, 0.75, 0.95)
        Levels at which the quantile function may bend, strictly increasing inside (0, 1). More
        of them can follow more shapes and need more rows.
    recalibrate : bool, default True
        Learn a final monotone map from the held-out rows: the CRPS alone leaves quantiles of
        training rows that are too close together.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`, `beta` excepted. The CRPS says
    little about the tails: beyond the outermost levels they are what two levels teach.

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

    def _make_head(self) -> Head:
        return QuantileHead(self.levels)

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        return [
            self._one_stage(
                lots,
                _mean_crps,
                _mean_crps,
                name="quantiles",
                score_name="CRPS",
                pit=pit_values,
            )
        ]

    def _learn(self, train: Sample, held_out: Sample) -> None:
        if self.recalibrate:
            self._learn_map(held_out)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_quantile_levels(self.levels)


def _mean_crps(network: MemberNetworks, rows: Rows) -> Tensor:
    dist = cast(LogisticLines, network(rows.x))
    return (rows.weight * dist.crps(rows.y)).mean(dim=-1)
