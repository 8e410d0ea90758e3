"""Objectives that several methods share."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from calibrant.errors import ParameterError
from calibrant.losses import crps, negative_log_likelihood, normal_likelihood
from calibrant.networks import GaussianHead, MemberNetworks, scale_and_slope
from calibrant.training import Rows


def mean_nll(network: MemberNetworks, rows: Rows, beta: float = 0.0) -> Tensor:
    """Weighted negative log-likelihood of every member, (M,); see `losses` for beta.

    With a `PointHead` it is half the mean squared error, up to a constant.
    """
    outputs = network.outputs(rows.x)
    if isinstance(network.head, GaussianHead) and outputs.requires_grad:
        value = _MeanNormalLikelihood.apply(outputs, rows, beta)  # type: ignore[no-untyped-call]
        return cast(Tensor, value)
    dist = network.head.torch_distribution(outputs)
    return (rows.weight * negative_log_likelihood(dist, rows.y, beta=beta)).mean(dim=-1)


def normal_slope(outputs: Tensor, rows: Rows, beta: float = 0.0) -> tuple[Tensor, Tensor]:
    """`mean_nll` of normals, (M,), and its slope by their outputs (M, b, 2), without autograd."""
    mean, log_variance = outputs.unbind(dim=-1)
    scale, slope = scale_and_slope(log_variance)
    value, to_mean, to_scale = normal_likelihood(mean, scale, rows.y, beta, rows.weight)
    by_outputs = torch.stack([to_mean, to_scale * slope], dim=-1)
    return value.mean(dim=-1), by_outputs.div_(outputs.shape[1])


class _MeanNormalLikelihood(Function):
    """From outputs (M, b, 2) to losses (M,) as one node: the graph of the formula has ten."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, rows: Rows, beta: float) -> Tensor:
        value, slope = normal_slope(outputs, rows, beta)
        ctx.save_for_backward(slope)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        (own,) = ctx.saved_tensors
        return own * slope[:, None, None], None, None


def mean_crps(network: MemberNetworks, rows: Rows) -> Tensor:
    """Weighted CRPS of every member, (M,); of normals and mixtures of them."""
    return (rows.weight * crps(network(rows.x), rows.y)).mean(dim=-1)


def pit_values(network: MemberNetworks, rows: Rows) -> Tensor:
    """PIT values of the rows under every member, (M, n)."""
    values: Tensor = network(rows.x).cdf(rows.y)
    return values


def check_beta(beta: float) -> None:
    """Complain about a power of the variance that is none."""
    if not 0 <= beta <= 1:
        raise ParameterError(f"beta must lie in [0, 1], got {beta}.")
