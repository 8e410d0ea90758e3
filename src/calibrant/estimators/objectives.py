"""Objectives that several methods share, with one value per member."""

from __future__ import annotations

from torch import Tensor

from calibrant.estimators.combine import normal_of_points
from calibrant.losses import crps, negative_log_likelihood
from calibrant.networks import MemberNetworks
from calibrant.training import Rows


def mean_nll(network: MemberNetworks, rows: Rows, beta: float = 0.0) -> Tensor:
    """Weighted mean negative log-likelihood of every member, (M,); see `losses` for beta.

    With a `PointHead` it is half the mean squared error, up to a constant.
    """
    dist = network(rows.x)
    return (rows.weight * negative_log_likelihood(dist, rows.y, beta=beta)).mean(dim=-1)


def mean_crps(network: MemberNetworks, rows: Rows) -> Tensor:
    """Weighted mean CRPS of every member, (M,), for normals and mixtures of normals."""
    return (rows.weight * crps(network(rows.x), rows.y)).mean(dim=-1)


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
