"""Marginal matching in linear time against the reference."""

from __future__ import annotations

import pytest
import torch
from tests.losses.twins import BANDWIDTHS, SIZES, batch, compare, predict, value_and_gradients

from calibrant.losses import DistributionMatchingLoss


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("name", BANDWIDTHS)
def test_marginal_matching_in_linear_time(n: int, statistic: str, name: str) -> None:
    compare("linear", n, bandwidths=BANDWIDTHS[name], statistic=statistic, value_error=1e-9)


@pytest.mark.slow
def test_marginal_matching_of_many_rows() -> None:
    """4097 rows against the fused pass, and that against the matrix of pairs."""
    fused, linear, pairwise = (
        DistributionMatchingLoss(bandwidths=(1e-4, 1.0), method=method)
        for method in ("fused", "linear", "pairwise")
    )
    truth, gradients = value_and_gradients(fused, 4097)
    value, ours = value_and_gradients(linear, 4097)
    assert float((value / truth - 1).abs()) < 1e-9
    for mine, theirs in zip(ours, gradients, strict=True):
        assert (mine - theirs).norm() <= 1e-8 * theirs.norm()
    means, spreads, logits, y, x, weight = batch(4097)
    with torch.no_grad():
        matrix = pairwise(predict(means, spreads, logits), y, x, weight)
    assert float((truth / matrix - 1).abs()) < 1e-9


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_float32_input_keeps_five_digits(dtype: torch.dtype) -> None:
    """The rounding of the input itself is all that is left of float32."""
    for name in ("published", "adaptive"):
        compare(
            "linear", 500, bandwidths=BANDWIDTHS[name], statistic="v", dtype=dtype,
            value_error=1e-5,
        )  # fmt: skip


@pytest.mark.parametrize("method", ["linear", "fused"])
@pytest.mark.parametrize(
    "case", [{"components": 3}, {"members": 4}, {"components": 2, "members": 3}]
)
def test_mixtures_and_members(method: str, case: dict) -> None:
    for statistic in ("u", "v"):
        compare(
            method, 41, bandwidths=(1e-5, 1e-2, 1.0), statistic=statistic, case=case,
            value_error=1e-9,
        )  # fmt: skip
