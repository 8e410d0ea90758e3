"""Ensembled likelihood (ELL): the spread across networks is the predicted spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.estimators._spread import SpreadRegressor
from calibrant.networks import MemberNetworks
from calibrant.training import Rows, Stage


@dataclass(kw_only=True, repr=False, eq=False)
class EnsembleLikelihoodRegressor(SpreadRegressor):
    """k networks trained jointly by the likelihood of their mean and variance (ELL).

    With ``f_1 ... f_k`` the networks, ``mu = mean f_j`` and ``sigma^2 = mean (f_j - mu)^2`` stand
    inside the Gaussian likelihood. Unlike in a deep ensemble the networks interact: they have
    to disagree by as much as the target varies.

    Parameters
    ----------
    members : int, default 5
        The k, at least 2.
    head : {"point", "mixture"}, default "point"
        With "mixture" every network predicts a mixture of Gaussians, and the likelihood is that
        of the equal mixture of all networks.
    components : int, default 5
        Gaussians of the mixture.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`, `beta` excepted.
    """

    members: int = 5

    def _n_members(self) -> int:
        return self.members

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        return [self._one_stage(lots, self._loss, self._loss, together=True)]

    def _loss(self, network: MemberNetworks, rows: Rows) -> Tensor:
        x = rows.x
        if rows.y.ndim == 2 and len(x) > 1:  # a model's rows for each of its members
            x = x[:, None].expand(-1, self.members, *x.shape[1:]).flatten(0, 1)
        return self._likelihood(network.outputs(x).unflatten(0, (-1, self.members)), rows)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.members < 2:
            raise ParameterError(f"members must be at least 2, got {self.members}.")
