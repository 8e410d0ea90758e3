"""Matching at the edges: rows without weight, far from zero, far from each other, not finite."""

from __future__ import annotations

import pytest
import torch
from tests.losses.twins import METHODS, assert_twins, evaluate, rows


@pytest.mark.parametrize("method", ["pairwise", *METHODS])
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("match", ["marginal", "joint"])
def test_rows_without_weight_are_as_if_absent(method: str, statistic: str, match: str) -> None:
    mu, sigma, y, x = rows()
    weight = torch.ones(40, dtype=torch.float64)
    weight[25:] = 0.0
    options = {"statistic": statistic, "match": match}
    all_rows = evaluate(method, mu, sigma, y, x, weight=weight, **options)
    some = evaluate(method, mu[:25], sigma[:25], y[:25], x[:25], **options)
    # Random features do not change with the rows, so they agree as well.
    torch.testing.assert_close(all_rows[0], some[0])
    for ours, theirs in zip(all_rows[1:], some[1:], strict=True):
        torch.testing.assert_close(ours[:25], theirs)
        assert not ours[25:].any()


@pytest.mark.parametrize("method", ["pairwise", *METHODS])
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("match", ["marginal", "joint"])
def test_a_batch_without_weight_has_no_loss(method: str, statistic: str, match: str) -> None:
    weight = torch.zeros(40, dtype=torch.float64)
    for each in evaluate(method, *rows(), weight=weight, statistic=statistic, match=match):
        assert not each.any()


@pytest.mark.parametrize("method", METHODS)
def test_equal_targets(method: str) -> None:
    mu, sigma, y, x = rows()
    assert_twins(method, mu, sigma, torch.full_like(y, 0.3), x, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("statistic", ["u", "v"])
def test_units_do_not_matter(method: str, scale: float, statistic: str) -> None:
    data = rows(scale=scale)
    assert_twins(method, *data, rtol=1e-9, spread=scale, statistic=statistic)
    one = [each.float() for each in data]
    assert_twins(method, *one, rtol=2e-5, spread=scale, statistic=statistic)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_targets_far_from_zero(method: str, dtype: torch.dtype) -> None:
    """Against the reference on the same numbers: what float32 input has lost is not ours."""
    data = [each.to(dtype) for each in rows(shift=1e6)]
    assert_twins(method, *data, rtol=1e-5 if dtype == torch.float32 else 1e-9)


@pytest.mark.parametrize("method", ["fused", "linear"])
def test_the_first_target_may_be_the_far_one(method: str) -> None:
    """Positions are told from amidst the targets, so that those in float32 keep their digits."""
    mu, sigma, y, x = rows(200)
    y[0] = 1e6
    assert_twins(method, *(each.float() for each in (mu, sigma, y)), x.float(), rtol=1e-4)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200])
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("spread", [1.0, 1e-3])  # kernels through frequencies, and through a grid
def test_a_member_that_explodes_leaves_the_others_alone(bad, part: int, spread: float) -> None:
    mu, sigma, y, x = data = [torch.stack([each, each]) for each in rows()]
    data[part][0, 5] = bad
    for method in METHODS:
        value, by_mean, by_spread = evaluate(method, mu, sigma, y, x, spread=spread)
        alone = evaluate(method, *(each[1] for each in data), spread=spread)
        torch.testing.assert_close((value[1], by_mean[1], by_spread[1]), alone, rtol=1e-8, atol=0)
