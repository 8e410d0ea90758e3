"""Bandwidths of the kernel on the condition."""

from __future__ import annotations

import pytest
import torch
from tests.losses.twins import batch, evaluate, rows
from torch.distributions import Normal

from calibrant.errors import ParameterError
from calibrant.losses import DistributionMatchingLoss


@pytest.mark.parametrize("method", ["pairwise", "fused", "linear"])
@pytest.mark.parametrize("match", ["joint", "distribution"])
@pytest.mark.parametrize("bandwidth", [torch.tensor([0.03, 0.4, 2.0]), None])
def test_each_member_has_a_bandwidth_of_its_own(method: str, match: str, bandwidth) -> None:
    """Three members at once are three calls, whose inputs differ in scale."""
    means, spreads, _, y, x, weight = batch(23, members=3)
    x = x * torch.tensor([0.2, 1.0, 5.0])[:, None, None]
    means.requires_grad_()

    def evaluate(own, members):
        loss = DistributionMatchingLoss(match, (0.02, 0.3), condition_bandwidth=own, method=method)
        parts = (each[members] for each in (means, spreads, y, x, weight))
        mean, spread, target, given, count = parts
        value = loss(Normal(mean[..., 0], spread[..., 0]), target, given, count)
        return value.detach(), torch.autograd.grad(value.sum(), means)[0]

    values, gradient = evaluate(bandwidth, slice(None))
    alone = [evaluate(None if bandwidth is None else float(bandwidth[m]), m) for m in range(3)]
    # float32 bandwidths are exact, their roots are not
    torch.testing.assert_close(values, torch.stack([each for each, _ in alone]))
    torch.testing.assert_close(gradient, sum(each for _, each in alone))


def test_members_share_an_input_under_bandwidths_of_their_own() -> None:
    means, spreads, _, y, x, _ = batch(19, members=2)
    own = torch.tensor([0.1, 0.7])
    dist = Normal(means[..., 0], spreads[..., 0])
    together = DistributionMatchingLoss("joint", condition_bandwidth=own)(dist, y, x[0])
    for m in range(2):
        loss = DistributionMatchingLoss("joint", condition_bandwidth=float(own[m]))
        alone = loss(Normal(means[m, :, 0], spreads[m, :, 0]), y[m], x[0])
        torch.testing.assert_close(together[m], alone)


def test_bandwidths_must_match_the_members() -> None:
    loss = DistributionMatchingLoss("joint", condition_bandwidth=torch.ones(3))
    means, spreads, _, y, x, _ = batch(5, members=2)
    with pytest.raises(ParameterError, match=r"one number for each batch, of shape \(2,\)"):
        loss(Normal(means[..., 0], spreads[..., 0]), y, x)
    with pytest.raises(ParameterError, match="must be > 0"):
        DistributionMatchingLoss("joint", condition_bandwidth=torch.tensor([1.0, 0.0]))


@pytest.mark.parametrize("method", ["pairwise", "fused"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_conditions_far_from_zero(method: str, dtype: torch.dtype) -> None:
    mu, sigma, y, x = rows(60)
    truth = evaluate("pairwise", mu, sigma, y, x, match="joint")
    moved = [each.to(dtype) for each in (mu, sigma, y)]
    value = evaluate(method, *moved, x + 1e6, match="joint")[0]
    assert float(value) == pytest.approx(float(truth[0]), rel=1e-5)
