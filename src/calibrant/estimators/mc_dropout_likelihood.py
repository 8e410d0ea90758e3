"""Monte-Carlo dropout likelihood (MC NLL): the predicted spread is that of dropout passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.combine import PASS_SEED, PointSpread
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.objectives import points_nll
from calibrant.estimators.parameters import Constraints, count
from calibrant.estimators.plan import Recipe
from calibrant.networks import MemberNetworks, PointHead
from calibrant.persistence import savable_model
from calibrant.training import Rows, Stage


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class MCDropoutLikelihoodRegressor(BodyParameters, NetworkRegressor):
    """One network trained by the likelihood of its dropout passes (MC NLL).

    In each training step the batch passes through the network `training_passes` times with
    different units dropped; the loss is the Gaussian likelihood with the mean and variance of the
    passes.

    Parameters
    ----------
    dropout : float, default 0.3
        Share of hidden units dropped.
    training_passes : int, default 10
        Passes in a training step.
    passes : int, default 100
        Passes at prediction.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`.
    """

    dropout: float = 0.3
    training_passes: int = 10
    passes: int = 100

    _parameter_constraints: ClassVar[Constraints] = {
        "training_passes": [count(2)],
        "passes": [count(2)],
    }

    def _recipe(self, data: FitData) -> Recipe:
        return Recipe(
            network=self._spec(PointHead()),
            stages=self._stages,
            combine=PointSpread(self.passes),
        )

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        # The passes of the score draw on the CPU, which a CUDA graph can't capture.
        return [self._stage(rows, self._loss, self._score, recordable=("loss",))]

    def _loss(self, network: MemberNetworks, rows: Rows) -> Tensor:
        x, k = rows.x, self.training_passes  # (G, b, d) or (G, b, steps, d)
        repeated = network.outputs(x.repeat(1, k, *[1] * (x.ndim - 2)))  # (G, k b, 1)
        return points_nll(repeated.unflatten(1, (k, -1)), rows)

    def _score(self, network: MemberNetworks, rows: Rows) -> Tensor:
        # As many passes as in training: more would take longer than the epoch itself.
        passes = network.passes(rows.x, self.training_passes, PASS_SEED)
        return points_nll(passes if network.size > 1 else passes[None], rows)
