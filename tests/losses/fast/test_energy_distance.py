"""The energy distance by sorting and frequencies."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.losses.twins import SIZES, batch, compare
from torch.distributions import Normal

from calibrant.kernels import EnergyKernel
from calibrant.losses import DistributionMatchingLoss
from calibrant.losses.fast import energy_distance


@pytest.mark.parametrize("statistic", ["u", "v"])
def test_energy_distance_of_draws_is_sorted(statistic: str) -> None:
    y, mu, sigma = (torch.tensor(a) for a in np.random.default_rng(0).random((3, 200)))
    mu.requires_grad_()
    results = []
    for method in ("pairwise", "linear"):
        loss = DistributionMatchingLoss(
            kernel=EnergyKernel(), expectation="sampled", statistic=statistic, method=method
        )
        value = loss(Normal(mu, sigma), y, generator=torch.Generator().manual_seed(0))
        results.append((value, *torch.autograd.grad(value, mu)))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("n", [*SIZES, 400])
@pytest.mark.parametrize("case", [{}, {"components": 2, "members": 3}])
def test_energy_distance_of_normals(n: int, case: dict) -> None:
    for statistic in ("u", "v"):
        options = {"kernel": EnergyKernel(), "statistic": statistic}
        compare("linear", n, value_error=1e-9, case=case, **options)


def test_energy_distance_of_normals_takes_frequencies_where_they_are_fewer(monkeypatch) -> None:
    monkeypatch.setattr(energy_distance, "fused_mmd", lambda *_, **__: torch.full((1,), -1.0))
    means, _, _, y, _, _ = batch(400)
    loss = DistributionMatchingLoss(kernel=EnergyKernel(), method="linear")
    assert loss(Normal(means[:, 0], 0.1), y) > 0
    assert loss(Normal(means[:, 0], 1e-5), y) == -1.0


def test_energy_distance_against_scipy() -> None:
    from scipy.stats import energy_distance

    a, b = np.random.default_rng(0).normal(size=(2, 500))
    points = Normal(torch.tensor(b), torch.full((500,), 1e-9, dtype=torch.float64))
    loss = DistributionMatchingLoss(kernel=EnergyKernel(), expectation="sampled")
    value = float(loss(points, torch.tensor(a), generator=torch.Generator().manual_seed(0)))
    assert value == pytest.approx(energy_distance(a, b) ** 2, rel=1e-6)
