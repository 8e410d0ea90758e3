"""Ensembled likelihood (ELL): the spread across networks is the predicted spread."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators._spread import normal_of_points, spread_likelihood
from calibrant.networks import Head, MemberNetworks, PointHead
from calibrant.training import Rows, Stage


@dataclass(kw_only=True, repr=False, eq=False)
class EnsembleLikelihoodRegressor(NetworkRegressor):
    """k networks trained jointly by the likelihood of their mean and variance (ELL).

    With ``f_1 ... f_k`` the networks, ``mu = mean f_j`` and ``sigma^2 = mean (f_j - mu)^2`` stand
    inside the Gaussian likelihood. Unlike in a deep ensemble the networks interact: they have
    to disagree by as much as the target varies.

    Parameters
    ----------
    members : int, default 5
        The k, at least 2.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`, `beta` excepted.
    """

    members: int = 5

    def _n_members(self) -> int:
        return self.members

    def _make_head(self) -> Head:
        return PointHead()

    def _stages(self, train: Rows, generator: torch.Generator) -> list[Stage]:
        return [self._one_stage(train, _loss, _loss, together=True)]

    def _answer(self, outputs: Tensor) -> Distribution:
        return normal_of_points(outputs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.members < 2:
            raise ParameterError(f"members must be at least 2, got {self.members}.")


def _loss(network: MemberNetworks, rows: Rows) -> Tensor:
    return spread_likelihood(network.outputs(rows.x), rows)
