"""Predictive distributions as ``torch.distributions``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, constraints
from torch.distributions import Distribution as TorchDistribution
from torch.distributions import Normal as TorchNormal

from calibrant.checks import Array
from calibrant.distributions._base import Distribution
from calibrant.distributions.mixture import Mixture
from calibrant.distributions.normal import Normal


def to_torch(dist: Distribution) -> TorchDistribution:
    """Return a float64 torch distribution of batch shape (n,); see `Distribution.to_torch`."""
    if isinstance(dist, Normal):
        return TorchNormal(torch.from_numpy(dist.loc.copy()), torch.from_numpy(dist.scale.copy()))
    if isinstance(dist, Mixture):
        weights, locs, scales = (
            torch.from_numpy(part.copy()) for part in (dist.weights, dist.locs, dist.scales)
        )
        return MixtureSameFamily(Categorical(probs=weights), TorchNormal(locs, scales))
    return TorchRows(dist)


class TorchRows(TorchDistribution):
    """Any distribution of n rows behind the interface of torch, without gradients.

    Parameters
    ----------
    dist : Distribution of n rows
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    support = constraints.real

    def __init__(self, dist: Distribution) -> None:
        self.rows = dist
        super().__init__(batch_shape=torch.Size([len(dist)]), validate_args=False)

    @property
    def mean(self) -> Tensor:
        """Expectation of each row, (n,)."""
        return torch.from_numpy(self.rows.mean)

    @property
    def variance(self) -> Tensor:
        """Variance of each row, (n,)."""
        return torch.from_numpy(self.rows.variance)

    def cdf(self, value: Tensor) -> Tensor:
        """P(Y <= value) for values that broadcast with (n,)."""
        return self._each(self.rows.cdf, value)

    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the density, or of the mass on an atom."""
        return self._each(self.rows.log_prob, value)

    def icdf(self, value: Tensor) -> Tensor:
        """Quantiles at levels that broadcast with (n,)."""
        return self._each(self.rows.ppf, value)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw from every row, (*sample_shape, n), with the random numbers of torch."""
        level = torch.rand(self._extended_shape(torch.Size(sample_shape)), dtype=torch.float64)
        return self.icdf(level.clamp(min=2.0**-54))

    def _each(self, method: Any, value: Tensor) -> Tensor:
        """Evaluate a method of (n, k) values at (..., n) of them."""
        shape = torch.broadcast_shapes(value.shape, self.batch_shape)
        values: Array = value.detach().cpu().double().expand(shape).numpy()
        columns = values.reshape(-1, len(self.rows)).T  # (n, k)
        found: Array = method(columns)
        return torch.from_numpy(np.ascontiguousarray(found.T).reshape(shape))
