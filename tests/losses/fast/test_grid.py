"""Narrow kernels on a grid against the reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.losses.twins import assert_twins, rows
from torch.distributions import Normal

from calibrant.losses import DistributionMatchingLoss
from calibrant.losses.fast import grid


@pytest.fixture
def cells(monkeypatch) -> list[float]:
    """Periods of the grids that are made, in roots of the narrowest bandwidth."""
    found: list[float] = []
    one_batch = grid._one_batch

    def watched(measure, h, period):
        found.append(period / min(h) ** 0.5)
        return one_batch(measure, h, period)

    monkeypatch.setattr(grid, "_one_batch", watched)
    return found


@pytest.mark.parametrize("far", [30.0, 1e3, 1e5])
def test_a_row_far_away_does_not_make_the_grid_large(far: float, cells) -> None:
    mu, sigma, y, x = rows()
    mu[7] = far
    assert_twins("linear", mu, 0.1 * sigma, y, x, rtol=1e-8)
    assert max(cells, default=0.0) < 3000


@pytest.mark.parametrize("sigma", [1e3, 1e6])
def test_predictions_far_wider_than_a_kernel(sigma: float) -> None:
    mu, _, y, x = rows()
    spreads = torch.full_like(mu, 1.0)
    spreads[3] = sigma
    assert_twins("linear", mu, spreads, y, x, rtol=1e-8, spread=1e-2)


def test_one_far_row_needs_no_vast_grid(cells) -> None:
    """Gaps that no kernel value crosses are closed, without a change of the value."""
    mu, sigma, y, x = rows()
    mu[3], y[7] = 1e9, -3e12
    assert_twins("linear", mu, sigma, y, x, rtol=1e-9)
    assert max(cells) < 2000


@pytest.mark.parametrize(
    "bandwidths", [(1e-4, 4e-4, 1.6e-3, 0.1), (1e-8, 1e-3, 64.0), (1e-5, 1e-5)]
)
@pytest.mark.parametrize("narrowest", [1e-6, 1e-2])
def test_kernels_that_share_a_grid(bandwidths, narrowest: float) -> None:
    """Of any width, with predictions from points to wide ones."""
    mu, _, y, _ = rows(200)
    sigma = torch.logspace(np.log10(narrowest), 0, 200, dtype=torch.float64)
    found = []
    for method in ("linear", "pairwise"):
        loss = DistributionMatchingLoss("marginal", bandwidths, method=method)
        given = [each.clone().requires_grad_() for each in (mu, sigma)]
        value = loss(Normal(*given, validate_args=False), y)
        found.append([value.detach(), *torch.autograd.grad(value, given)])
    for ours, theirs in zip(*found, strict=True):
        assert (ours - theirs).norm() <= 1e-8 * theirs.norm()
