"""Kernel scores and the CRPS of torch distributions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.losses.twins import rows
from torch.distributions import Categorical, MixtureSameFamily, Normal

from calibrant import DistributionMatchingLoss, distributions
from calibrant.kernels import EnergyKernel, GaussianKernel
from calibrant.losses import crps, kernel_score


def test_kernel_score_is_the_diagonal_and_energy_gives_the_crps() -> None:
    mu, sigma, y, _ = rows()
    kernel = GaussianKernel([0.2, 1.0])
    single = DistributionMatchingLoss(bandwidths=[0.2, 1.0], statistic="v")
    alone = torch.stack(
        [single(Normal(mu[i : i + 1], sigma[i : i + 1]), y[i : i + 1]) for i in range(len(y))]
    )
    torch.testing.assert_close(kernel_score(Normal(mu, sigma), y, kernel), alone)
    truth = distributions.Normal(mu.numpy(), sigma.numpy()).crps(y.numpy())
    np.testing.assert_allclose(crps(Normal(mu, sigma), y), truth, rtol=1e-10)


def test_mixture_crps_matches_the_distribution() -> None:
    rng = np.random.default_rng(1)
    w, m, s = rng.dirichlet(np.ones(3), 8), rng.normal(size=(8, 3)), 0.1 + rng.random((8, 3))
    y = rng.normal(size=8)
    dist = MixtureSameFamily(
        Categorical(probs=torch.tensor(w)), Normal(torch.tensor(m), torch.tensor(s))
    )
    np.testing.assert_allclose(
        crps(dist, torch.tensor(y)), distributions.Mixture(w, m, s).crps(y), rtol=1e-9
    )


@pytest.mark.parametrize("kernel", [GaussianKernel([0.1, 1.0]), EnergyKernel()])
def test_kernel_score_is_proper(kernel) -> None:
    rng = np.random.default_rng(2)
    y = torch.tensor(rng.normal(size=20000))

    def mean_score(shift: float, factor: float) -> float:
        dist = Normal(torch.full_like(y, shift), torch.full_like(y, factor))
        return float(kernel_score(dist, y, kernel).mean())

    best = mean_score(0.0, 1.0)
    for shift, factor in [(0.3, 1.0), (-0.3, 1.0), (0.0, 0.7), (0.0, 1.4)]:
        assert mean_score(shift, factor) > best
