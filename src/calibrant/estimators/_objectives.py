"""Objectives that several methods share."""

from __future__ import annotations

from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.losses import crps, negative_log_likelihood
from calibrant.networks import MemberNetworks
from calibrant.training import Rows


def mean_nll(network: MemberNetworks, rows: Rows, beta: float = 0.0) -> Tensor:
    """Weighted negative log-likelihood of every member, (M,); see `losses` for beta.

    With a `PointHead` it is half the mean squared error, up to a constant.
    """
    loss = negative_log_likelihood(network(rows.x), rows.y, beta=beta)
    return (rows.weight * loss).mean(dim=-1)


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
