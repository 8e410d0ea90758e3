"""Ensembled likelihood (ELL): the spread across networks is the predicted spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.combine import PointSpread
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.objectives import points_nll
from calibrant.estimators.parameters import Constraints, count
from calibrant.estimators.plan import Recipe
from calibrant.networks import MemberNetworks, PointHead
from calibrant.persistence import savable_model
from calibrant.training import Rows, Stage


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class EnsembleLikelihoodRegressor(BodyParameters, NetworkRegressor):
    """k networks trained jointly by the likelihood of their mean and variance (ELL).

    With networks ``f_1 ... f_k``, the Gaussian likelihood of ``mu = mean f_j`` and
    ``sigma^2 = mean (f_j - mu)^2`` is maximised. Unlike in a deep ensemble the networks interact:
    their spread is trained to be that of the target.

    Parameters
    ----------
    members : int, default 5
        Number of networks k, at least 2.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`.
    """

    members: int = 5

    _parameter_constraints: ClassVar[Constraints] = {
        "members": [count(2)],
    }

    def _recipe(self, data: FitData) -> Recipe:
        return Recipe(
            network=self._spec(PointHead()),
            stages=self._stages,
            members=self.members,
            combine=PointSpread(),
        )

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        return [self._stage(rows, self._loss, self._loss, shared_loss=True)]

    def _loss(self, network: MemberNetworks, rows: Rows) -> Tensor:
        x = rows.x
        if rows.y.ndim == 2 and len(x) > 1:  # the members of a model share its rows
            x = x[:, None].expand(-1, self.members, *x.shape[1:]).flatten(0, 1)
        return points_nll(network.outputs(x).unflatten(0, (-1, self.members)), rows)
