"""Batches, and comparisons of fast paths with the pairwise reference."""

from __future__ import annotations

import numpy as np
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from calibrant.kernels import PUBLISHED_BANDWIDTHS, adaptive_bandwidths
from calibrant.losses import DistributionMatchingLoss

SIZES = [1, 2, 3, 127]


BANDWIDTHS = {
    "published": PUBLISHED_BANDWIDTHS,
    "adaptive": adaptive_bandwidths(0.27),
    "narrow": (1e-7, 1e-5),
}


METHODS = ["linear", "fused"]


def batch(n: int, *, components: int = 1, members: int = 0, seed: int = 0):
    """Means, spreads, logits (requiring gradients), targets in [0, 1], inputs and weights."""
    rng = np.random.default_rng(seed)
    lead = (members,) if members else ()
    x = rng.random((*lead, n, 3))
    centre = 0.15 + 0.7 * x[..., :1]
    means = centre + 0.1 * rng.standard_normal((*lead, n, components)) * (components > 1)
    spreads = 0.03 + 0.1 * rng.random((*lead, n, components))
    logits = rng.standard_normal((*lead, n, components))
    y = centre[..., 0] + 0.12 * rng.standard_normal((*lead, n))
    weight = 0.2 + rng.random((*lead, n))
    return [torch.tensor(each) for each in (means, spreads, logits, y, x, weight)]


def predict(means, spreads, logits):
    if means.shape[-1] == 1:
        return Normal(means[..., 0], spreads[..., 0])
    return MixtureSameFamily(Categorical(logits=logits), Normal(means, spreads))


def value_and_gradients(loss, n, dtype=torch.float64, **options):
    *parameters, y, x, weight = (each.to(dtype) for each in batch(n, **options))
    for each in parameters:
        each.requires_grad_()
    value = loss(predict(*parameters), y, x, weight)
    value.sum().backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return value.detach(), [g.double() for g in gradients]


def compare(method: str, n: int, *, value_error: float, dtype=torch.float64, case=None, **options):
    truth = value_and_gradients(
        DistributionMatchingLoss(method="pairwise", **options), n, **(case or {})
    )
    twin = value_and_gradients(
        DistributionMatchingLoss(method=method, **options), n, dtype, **(case or {})
    )
    assert twin[0].dtype == torch.float64
    # The U-statistic of few rows is a difference of larger numbers: errors count against those.
    scale = truth[0].abs().clamp_min(1e-3 / n)
    assert ((twin[0] - truth[0]).abs() / scale).max() < value_error
    for ours, theirs in zip(twin[1], truth[1], strict=True):
        assert (ours - theirs).norm() <= 10 * value_error * theirs.norm() + 1e-9 * value_error


def rows(n: int = 40, *, scale: float = 1.0, shift: float = 0.0):
    """Means, spreads, targets and inputs."""
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(size=n), 0.2 + rng.random(n)
    y = mu + sigma * rng.normal(size=n)
    arrays = scale * mu + shift, scale * sigma, scale * y + shift, rng.random((n, 2))
    return [torch.tensor(each) for each in arrays]


def evaluate(method, mu, sigma, y, x, *, weight=None, match="marginal", spread=1.0, **options):
    """Value, and its gradients by mean and spread."""
    mu, sigma = mu.clone().requires_grad_(), sigma.clone().requires_grad_()
    loss = DistributionMatchingLoss(
        match, adaptive_bandwidths(spread), condition_bandwidth=0.3, method=method, **options
    )
    value = loss(Normal(mu, sigma, validate_args=False), y, x, weight)
    value.sum().backward()
    return value.detach(), mu.grad, sigma.grad


def assert_twins(method, *data, rtol: float, **options) -> None:
    truth = evaluate("pairwise", *(each.double() for each in data), **options)
    for ours, theirs in zip(evaluate(method, *data, **options), truth, strict=True):
        error = (ours.double() - theirs).norm()
        assert error <= rtol * theirs.norm() + 1e-12
