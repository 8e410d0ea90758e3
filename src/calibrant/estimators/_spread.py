"""Methods whose networks predict points: the spread across networks or passes is the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from calibrant.distributions import Distribution, Normal
from calibrant.errors import ParameterError
from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators._moments import equal_mixture
from calibrant.losses import negative_log_likelihood
from calibrant.networks import Head, MixtureHead, PointHead, to_numpy
from calibrant.training import Rows

_LEAST_VARIANCE = 1e-8  # of the scaled target; predictions that agree have no spread at all


@dataclass(kw_only=True, repr=False, eq=False)
class SpreadRegressor(NetworkRegressor):
    """Base of the methods that read a distribution off k answers to a row.

    Parameters
    ----------
    head : {"point", "mixture"}, default "point"
        With points, as published, the answer is the normal of their mean and variance. With
        mixtures it is the equal mixture of all k: the same idea without the shape of a normal.
    components : int, default 5
        Gaussians of the mixture.
    """

    head: Literal["point", "mixture"] = "point"
    components: int = 5

    def _make_head(self) -> Head:
        return MixtureHead(self.components) if self.head == "mixture" else PointHead()

    def _likelihood(self, outputs: Tensor, rows: Rows) -> Tensor:
        """Likelihood of the distribution that k answers make, one number for each of G models.

        Parameters
        ----------
        outputs : tensor of shape (G, k, b, n_outputs)
        rows : Rows of shape (b,) or (G, b)
        """
        y, weight = (part.view(-1, rows.n_rows) for part in (rows.y, rows.weight))
        if self.head == "mixture":
            each = self._make_head().torch_distribution(outputs).log_prob(y[:, None])  # (G, k, b)
            loss = math.log(outputs.shape[1]) - torch.logsumexp(each, dim=1)
        else:
            loss = negative_log_likelihood(normal_of(outputs), y)
        return (weight * loss).mean(dim=-1)

    def _answer(self, outputs: Tensor) -> Distribution:
        if self.head == "mixture":
            return equal_mixture(self._make_head(), outputs)
        return normal_of_points(outputs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.head not in ("point", "mixture"):
            raise ParameterError(f'head must be "point" or "mixture", got {self.head!r}.')
        if self.components < 1:
            raise ParameterError(f"components must be at least 1, got {self.components}.")


def normal_of(points: Tensor) -> torch.distributions.Normal:
    """Normal of shape (..., n) from outputs of shape (..., k, n, 1): mean and variance over k."""
    values = points[..., 0]
    variance = values.var(dim=-2, correction=0) + _LEAST_VARIANCE
    return torch.distributions.Normal(values.mean(dim=-2), variance.sqrt(), validate_args=False)


def normal_of_points(points: Tensor) -> Normal:
    """The same for users, in units of the scaled target."""
    dist = normal_of(points)
    return Normal(to_numpy(dist.loc), to_numpy(dist.scale))
