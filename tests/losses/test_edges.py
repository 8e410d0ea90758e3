"""Matching at the edges: rows without weight, far from zero, far from each other, not finite."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from calibrant.errors import ParameterError
from calibrant.kernels import adaptive_bandwidths
from calibrant.losses import DistributionMatchingLoss

METHODS = ["linear", "fused"]


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


def test_very_many_targets_far_from_zero(monkeypatch) -> None:
    """Waves in float32 see distances from the middle, not from zero."""
    from calibrant.losses import _spectral

    monkeypatch.setattr(_spectral, "_MANY", 10)
    near = evaluate("linear", *rows(500))
    far = evaluate("linear", *rows(500, shift=1e6))
    for ours, theirs in zip(far, near, strict=True):
        assert (ours - theirs).norm() <= 1e-5 * theirs.norm()


@pytest.mark.parametrize("method", ["pairwise", "fused"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_conditions_far_from_zero(method: str, dtype: torch.dtype) -> None:
    mu, sigma, y, x = rows(60)
    truth = evaluate("pairwise", mu, sigma, y, x, match="joint")
    moved = [each.to(dtype) for each in (mu, sigma, y)]
    value = evaluate(method, *moved, x + 1e6, match="joint")[0]
    assert float(value) == pytest.approx(float(truth[0]), rel=1e-5)


@pytest.fixture
def cells(monkeypatch) -> list[float]:
    """Periods of the grids that are made, in roots of the narrowest bandwidth."""
    from calibrant.losses import _gridded

    found: list[float] = []
    one_batch = _gridded._one_batch

    def watched(d, h, period):
        found.append(period / min(h) ** 0.5)
        return one_batch(d, h, period)

    monkeypatch.setattr(_gridded, "_one_batch", watched)
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


@pytest.mark.parametrize("method", ["fused", "linear"])
def test_the_first_target_may_be_the_far_one(method: str) -> None:
    """Positions are told from amidst the targets, so that those in float32 keep their digits."""
    mu, sigma, y, x = rows(200)
    y[0] = 1e6
    assert_twins(method, *(each.float() for each in (mu, sigma, y)), x.float(), rtol=1e-4)


def test_waves_beside_a_grid_are_exact_for_very_many_rows(monkeypatch) -> None:
    """Targets lie on the grid in float64: waves in float32 would not cancel with them."""
    from calibrant.losses import _spectral

    monkeypatch.setattr(_spectral, "_MANY", 10)
    rng = np.random.default_rng(0)
    mu = torch.tensor(0.2525 * rng.integers(0, 5, 500) + 0.123)
    sigma = torch.full_like(mu, 0.0025)
    y = mu + sigma * torch.tensor(rng.normal(size=500))
    assert_twins("linear", mu, sigma, y, mu[:, None], rtol=1e-8, spread=1e-2)


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


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200])
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("spread", [1.0, 1e-3])  # kernels through waves, and through a grid
def test_a_member_that_explodes_leaves_the_others_alone(bad, part: int, spread: float) -> None:
    mu, sigma, y, x = data = [torch.stack([each, each]) for each in rows()]
    data[part][0, 5] = bad
    for method in METHODS:
        value, by_mean, by_spread = evaluate(method, mu, sigma, y, x, spread=spread)
        alone = evaluate(method, *(each[1] for each in data), spread=spread)
        torch.testing.assert_close((value[1], by_mean[1], by_spread[1]), alone, rtol=1e-8, atol=0)


def test_random_features_refuse_a_kernel_that_they_cannot_resolve() -> None:
    mu, sigma, y, x = rows()
    mu[3] = 1e6
    with pytest.raises(ParameterError, match=r'can\'t resolve .* use method="fused"'):
        evaluate("linear", mu, sigma, y, x, match="joint")


def test_weights_with_a_gradient_take_the_reference() -> None:
    mu, sigma, y, _ = rows()
    gradients = []
    for method in ("auto", "pairwise"):
        weight = torch.linspace(0.5, 1.0, 40, dtype=torch.float64).requires_grad_()
        DistributionMatchingLoss(method=method)(Normal(mu, sigma), y, None, weight).backward()
        gradients.append(weight.grad)
    torch.testing.assert_close(*gradients)
