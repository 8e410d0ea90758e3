"""Monte-Carlo dropout likelihood (MC NLL): the spread of dropout passes is the predicted one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from calibrant.estimators._spread import SpreadRegressor
from calibrant.estimators.mc_dropout import PASS_SEED, check_passes
from calibrant.networks import MemberNetworks
from calibrant.training import Rows, Stage


@dataclass(kw_only=True, repr=False, eq=False)
class MCDropoutLikelihoodRegressor(SpreadRegressor):
    """One network trained by the likelihood of its dropout passes (MC NLL).

    Before each step the batch passes through the network `training_passes` times with different
    units dropped; mean and variance of the passes stand inside the Gaussian likelihood.

    Parameters
    ----------
    dropout : float, default 0.3
        Share of hidden units dropped.
    training_passes : int, default 10
        Passes inside a training step.
    passes : int, default 100
        Passes at prediction.
    head : {"point", "mixture"}, default "point"
        With "mixture" every pass predicts a mixture of Gaussians, and the likelihood is that of
        the equal mixture of all passes.
    components : int, default 5
        Gaussians of the mixture.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`, `beta` excepted.
    """

    dropout: float = 0.3
    training_passes: int = 10
    passes: int = 100

    def _n_answers(self) -> int:
        return self.passes

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        stage = self._one_stage(lots, self._loss, self._score)
        return [replace(stage, recordable=("loss",))]  # the score's passes draw on the CPU

    def _loss(self, network: MemberNetworks, rows: Rows) -> Tensor:
        x, k = rows.x, self.training_passes  # (G, b, d) or (G, b, steps, d)
        repeated = network.outputs(x.repeat(1, k, *[1] * (x.ndim - 2)))  # (G, k b, n_outputs)
        return self._likelihood(repeated.unflatten(1, (k, -1)), rows)

    def _score(self, network: MemberNetworks, rows: Rows) -> Tensor:
        # As many passes as in training: more would cost more than the epoch that they judge.
        passes = network.passes(rows.x, self.training_passes, PASS_SEED)
        return self._likelihood(passes if network.size > 1 else passes[None], rows)

    def _forward(self, network: MemberNetworks, x: Tensor) -> Tensor:
        return network.passes(x, self.passes, PASS_SEED)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_passes(self.passes)
        check_passes(self.training_passes)
