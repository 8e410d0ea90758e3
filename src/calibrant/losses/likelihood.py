"""Likelihood of a heteroscedastic prediction, the objective of stage 1."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.distributions import Distribution as TorchDistribution
from torch.distributions import Normal


def negative_log_likelihood(dist: TorchDistribution, y: Tensor, *, beta: float = 0.0) -> Tensor:
    """Negative log-likelihood per row, (n,).

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
    if isinstance(dist, Normal) and not y.requires_grad:
        value = _NormalLikelihood.apply(dist.loc, dist.scale, y, beta)  # type: ignore[no-untyped-call]
        return cast(Tensor, value)
    loss = -dist.log_prob(y)
    return loss * dist.variance.detach() ** beta if beta else loss


class _NormalLikelihood(Function):
    """Negative log-likelihood of normals, with its gradients in closed form.

    With ``z = (mu - y) / sigma`` the value is ``log sigma + z^2 / 2 + log(2 pi) / 2``, its
    derivatives with respect to mu and sigma are ``z / sigma`` and ``(1 - z^2) / sigma``, all times
    ``sigma^(2 beta)``. The time of a small batch is that of its operations, and these are few.
    """

    @staticmethod
    def forward(ctx: Any, loc: Tensor, scale: Tensor, y: Tensor, beta: float) -> Tensor:
        inverse = scale.reciprocal()
        z = (loc - y) * inverse
        value = torch.addcmul(scale.log(), z, z, value=0.5) + 0.5 * math.log(math.tau)
        if beta:
            weight = scale ** (2.0 * beta)
            value, inverse = value * weight, inverse * weight
        by_loc = z * inverse
        ctx.save_for_backward(by_loc, torch.addcmul(inverse, z, by_loc, value=-1.0))
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None, None]:
        by_loc, by_scale = ctx.saved_tensors
        return upstream * by_loc, upstream * by_scale, None, None
