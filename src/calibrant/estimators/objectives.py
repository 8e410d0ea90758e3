"""Objectives that several methods share, with one value per member."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeGuard

import torch
from torch import Tensor
from torch.distributions import Distribution as TorchDistribution

from calibrant.estimators.combine import normal_of_points
from calibrant.losses import crps, negative_log_likelihood
from calibrant.networks import Head, MemberNetworks, MixtureHead
from calibrant.training import Rows


def mean_loss(
    loss: Callable[[TorchDistribution, Tensor], Tensor], head: Head, outputs: Tensor, rows: Rows
) -> Tensor:
    """Weighted mean of a loss per row for every member, (M,).

    With submodels it is the mean of their losses: the loss of their mixture would let them
    specialise, and the mixture would be no better than one of them.
    """
    if not has_submodels(head):
        return (rows.weight * loss(head.torch_distribution(outputs), rows.y)).mean(dim=-1)
    dist = head.submodel_distribution(outputs)  # (M, K, n)
    y, weight = (part.unsqueeze(-2).expand(dist.batch_shape) for part in (rows.y, rows.weight))
    return (weight * loss(dist, y)).mean(dim=(-2, -1))


def has_submodels(head: Head) -> TypeGuard[MixtureHead]:
    """Whether networks with this head consist of several submodels."""
    return isinstance(head, MixtureHead) and head.submodels > 1


def mean_nll(network: MemberNetworks, rows: Rows, beta: float = 0.0) -> Tensor:
    """Weighted mean negative log-likelihood of every member, (M,).

    With a `PointHead` it is half the mean squared error, up to a constant. For `beta` see
    `negative_log_likelihood`.
    """
    loss = partial(negative_log_likelihood, beta=beta)
    return mean_loss(loss, network.head, network.outputs(rows.x), rows)


def mean_crps(network: MemberNetworks, rows: Rows) -> Tensor:
    """Weighted mean CRPS of every member, (M,), for normals and mixtures of normals."""
    dist = network(rows.x)
    # With many normals per row, float32 is faster, and precise enough to choose an epoch.
    dtype = torch.float32 if has_submodels(network.head) else torch.float64
    score = crps(dist, rows.y, dtype)
    return (rows.weight * score).mean(dim=-1)


def pit_values(network: MemberNetworks, rows: Rows) -> Tensor:
    """PIT values of the rows under every member, (M, n)."""
    values: Tensor = network(rows.x).cdf(rows.y)
    return values


def points_nll(points: Tensor, rows: Rows) -> Tensor:
    """Negative log-likelihood of the normal with the mean and variance of k points, (G,).

    Parameters
    ----------
    points : tensor of shape (G, k, b, 1)
    rows : Rows of shape (b,) or (G, b)
    """
    y, weight = (part.view(-1, rows.n_rows) for part in (rows.y, rows.weight))
    return (weight * negative_log_likelihood(normal_of_points(points), y)).mean(dim=-1)
