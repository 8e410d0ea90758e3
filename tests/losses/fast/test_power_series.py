"""Power series of wide kernels against the reference."""

from __future__ import annotations

import pytest
import torch
from tests.losses.twins import SIZES, batch, compare
from torch.distributions import Normal

from calibrant.kernels import PUBLISHED_BANDWIDTHS
from calibrant.losses import DistributionMatchingLoss
from calibrant.losses.fast import characteristic, linear, power_series


@pytest.fixture
def few_rows_suffice(monkeypatch):
    """Power series for any number of rows, in several chunks."""
    monkeypatch.setattr(linear, "_MANY", 1)
    monkeypatch.setattr(power_series, "_ELEMENTS", 1 << 10)
    # What the series replace must not be computed otherwise.
    monkeypatch.setattr(
        characteristic._Characteristic, "apply", lambda *_: pytest.fail("waves were taken")
    )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("bandwidths", [PUBLISHED_BANDWIDTHS, (0.07, 3.0)])
@pytest.mark.parametrize("case", [{}, {"components": 2, "members": 3}])
def test_power_series(few_rows_suffice, n: int, bandwidths, case: dict) -> None:
    for statistic in ("u", "v"):
        compare(
            "linear", n, bandwidths=bandwidths, statistic=statistic, case=case, value_error=1e-9
        )


def test_power_series_of_equal_rows(few_rows_suffice) -> None:
    """No range and no variance to divide by: the loss is 0, and so is its gradient."""
    mean = torch.full((5,), 0.3, dtype=torch.float64).requires_grad_()
    dist = Normal(mean, torch.zeros(5), validate_args=False)
    value = DistributionMatchingLoss(method="linear")(dist, mean.detach())
    value.backward()
    assert abs(float(value.detach())) < 1e-20
    assert mean.grad.abs().max() < 1e-12


def test_a_member_without_a_number_keeps_to_itself(few_rows_suffice) -> None:
    means, spreads, _, y, _, _ = batch(50, members=2)
    loss = DistributionMatchingLoss(method="linear")
    alone = loss(Normal(means[1, :, 0], spreads[1, :, 0]), y[1])
    means[0, 3] = torch.nan
    together = loss(Normal(means[..., 0], spreads[..., 0], validate_args=False), y)
    assert together[0].isnan()
    torch.testing.assert_close(together[1], alone, rtol=1e-9, atol=0)
