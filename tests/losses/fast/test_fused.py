"""The fused pass over all pairs against the reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import energy_distance
from tests.losses.twins import BANDWIDTHS, SIZES, batch, compare
from torch.distributions import Normal

from calibrant.kernels import EnergyKernel, GaussianKernel, adaptive_bandwidths
from calibrant.losses import DistributionMatchingLoss


@pytest.mark.parametrize("match", ["marginal", "joint", "distribution"])
@pytest.mark.parametrize("n", SIZES[:4])
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("kernel", [GaussianKernel(adaptive_bandwidths(0.27)), EnergyKernel()])
def test_fused(match: str, n: int, statistic: str, kernel) -> None:
    compare(
        "fused", n, match=match, statistic=statistic, kernel=kernel, condition_bandwidth=0.2,
        value_error=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "error"), [("published", 6e-4), ("adaptive", 2e-5)])
def test_fused_in_float32(name: str, error: float) -> None:
    compare(
        "fused", 300, match="joint", bandwidths=BANDWIDTHS[name], condition_bandwidth=0.2,
        dtype=torch.float32, value_error=error,
    )  # fmt: skip


def test_energy_distance_against_scipy() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 500))
    points = Normal(torch.tensor(b), torch.full((500,), 1e-9, dtype=torch.float64))
    loss = DistributionMatchingLoss(kernel=EnergyKernel(), expectation="sampled")
    value = float(loss(points, torch.tensor(a), generator=torch.Generator().manual_seed(0)))
    assert value == pytest.approx(energy_distance(a, b) ** 2, rel=1e-6)


def test_no_matrix_of_pairs_is_kept() -> None:
    """What the fused pass keeps for the gradient grows with n, not with its square."""
    mu, sigma, _, y, x, _ = batch(3000)
    mu.requires_grad_()
    loss = DistributionMatchingLoss(match="joint", bandwidths=(0.01,), condition_bandwidth=0.2)
    sizes: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.append(t.numel()) or t, lambda t: t
    ):
        loss(Normal(mu[:, 0], sigma[:, 0]), y, x)
    assert max(sizes) <= 3000
