"""Likelihood of a heteroscedastic prediction: stage 1."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.distributions import Distribution as TorchDistribution
from torch.distributions import Normal


def negative_log_likelihood(dist: TorchDistribution, y: Tensor, *, beta: float = 0.0) -> Tensor:
    """Negative log-likelihood of every row, (n,).

    For a normal this is the stable form of the paper, ``exp(-s) (y - mu)^2 / 2 + s / 2`` with
    ``s = log sigma^2`` the output of the network, plus ``log(2 pi) / 2``.

    Parameters
    ----------
    dist : torch Distribution of batch shape (n,)
    y : tensor of shape (n,)
    beta : float, default 0
        Weight each row by its predicted variance to this power, held constant (beta-NLL,
        Seitzer et al. 2022). With 0 rows that already have a small variance dominate the
        gradient and the mean of the others stops learning: the variance collapses on the easy
        rows. 0.5 is a good compromise, 1 gives the mean the gradient of least squares.
    """
    loss = _of_normal(dist, y) if isinstance(dist, Normal) else -dist.log_prob(y)
    if beta == 0:
        return loss
    return loss * dist.variance.detach() ** beta


def _of_normal(dist: Normal, y: Tensor) -> Tensor:
    """``log sigma + z^2 / 2 + log(2 pi) / 2``, in fewer operations than `log_prob` takes."""
    z = (y - dist.loc) / dist.scale
    return torch.addcmul(dist.scale.log() + 0.5 * math.log(math.tau), z, z, value=0.5)
