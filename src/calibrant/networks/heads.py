"""From the outputs of a network to a distribution: one for training, one for users."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Distribution as TorchDistribution

from calibrant.distributions import Distribution, Normal

# Bounds of the log-variance in units of the scaled target: a standard deviation of 1e-5 to
# 150. They are approached smoothly, so that a gradient back inside always exists.
_LOWEST, _HIGHEST = -23.0, 10.0


class Head(Protocol):
    """How `n_outputs` numbers a row become a distribution."""

    n_outputs: int

    def torch_distribution(self, outputs: Tensor) -> TorchDistribution:
        """Distribution for the loss, with gradients."""
        ...

    def distribution(self, outputs: Tensor) -> Distribution:
        """Distribution for the user, NumPy in float64."""
        ...


class GaussianHead:
    """Mean and log-variance, ``s = log sigma^2``, as in the paper."""

    n_outputs = 2

    def torch_distribution(self, outputs: Tensor) -> torch.distributions.Normal:
        """Normal of shape (n,) from outputs of shape (n, 2)."""
        mean, log_variance = outputs.unbind(dim=-1)
        bounded = _HIGHEST - nn.functional.softplus(_HIGHEST - log_variance)
        bounded = _LOWEST + nn.functional.softplus(bounded - _LOWEST)
        return torch.distributions.Normal(mean, torch.exp(0.5 * bounded), validate_args=False)

    def distribution(self, outputs: Tensor) -> Normal:
        """Normal distribution of n rows."""
        dist = self.torch_distribution(outputs)
        loc, scale = (np.asarray(t.cpu(), dtype=np.float64) for t in (dist.loc, dist.scale))
        return Normal(loc, scale)
