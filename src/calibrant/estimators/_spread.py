"""A normal whose mean and variance are those of several point predictions of a row."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant.distributions import Normal
from calibrant.losses import negative_log_likelihood
from calibrant.networks import to_numpy
from calibrant.training import Rows

_LEAST_VARIANCE = 1e-8  # of the scaled target; predictions that agree have no spread at all


def normal_of(points: Tensor) -> torch.distributions.Normal:
    """Normal of shape (n,) from outputs of shape (k, n, 1): mean and variance over k."""
    values = points[..., 0]
    variance = values.var(dim=0, correction=0) + _LEAST_VARIANCE
    return torch.distributions.Normal(values.mean(dim=0), variance.sqrt(), validate_args=False)


def spread_likelihood(points: Tensor, rows: Rows) -> Tensor:
    """Likelihood of mean and variance across k predictions, (1,): the k are one model.

    Parameters
    ----------
    points : tensor of shape (k, b, 1)
    rows : Rows of shape (b,) or (1, b)
    """
    loss = negative_log_likelihood(normal_of(points), rows.y.reshape(-1))
    return (rows.weight.reshape(-1) * loss).mean().reshape(1)


def normal_of_points(points: Tensor) -> Normal:
    """The same for users, in units of the scaled target."""
    dist = normal_of(points)
    return Normal(to_numpy(dist.loc), to_numpy(dist.scale))
