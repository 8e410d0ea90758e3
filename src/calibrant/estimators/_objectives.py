"""Objectives that several methods share."""

from __future__ import annotations

from torch import Tensor

from calibrant.losses import negative_log_likelihood
from calibrant.networks import MemberNetworks
from calibrant.training import Rows


def mean_nll(network: MemberNetworks, rows: Rows) -> Tensor:
    """Weighted negative log-likelihood of every member, (M,).

    With a `PointHead` it is half the mean squared error, up to a constant.
    """
    return (rows.weight * negative_log_likelihood(network(rows.x), rows.y)).mean(dim=-1)


def pit_values(network: MemberNetworks, rows: Rows) -> Tensor:
    """PIT values of the rows under every member, (M, n)."""
    values: Tensor = network(rows.x).cdf(rows.y)
    return values
