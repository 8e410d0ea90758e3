"""The Triton kernel, run by Triton's interpreter on a CPU (see tests/conftest.py)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.kernels import PUBLISHED_BANDWIDTHS, GaussianKernel, adaptive_bandwidths
from calibrant.losses._difference import Difference
from calibrant.losses._fused import add_up_pairs

triton = pytest.importorskip("triton", reason="Triton is not installed (Linux only)")
tl = triton.language
from calibrant.losses._triton_waves import _wave  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def kernel_module(monkeypatch):
    from calibrant.losses import _triton

    # Small blocks, so that few rows already fill several.
    monkeypatch.setattr(_triton, "_SMALL", _triton.Tiles(columns=32, rows=16, each=32, warps=1))
    return _triton


def difference(batches: int, n: int, k: int) -> Difference:
    rng = np.random.default_rng(n + k)
    y, means = rng.random((batches, n)), rng.random((batches, n, k))
    share = rng.dirichlet(np.ones(n), batches)
    weights = rng.dirichlet(np.ones(k), (batches, n))
    variances, masses = 0.05 * rng.random((batches, n, k)), -share[..., None] * weights
    parts = (y, share, means, variances, masses)
    return Difference(*(torch.tensor(a, dtype=torch.float32, device=DEVICE) for a in parts))


@pytest.mark.parametrize("n", [1, 3, 37])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("bandwidths", [adaptive_bandwidths(0.3), (1.0, 64.0)])
def test_the_kernel_is_the_blockwise_pass(kernel_module, n, k, conditional, bandwidths) -> None:
    data = difference(2, n, k)
    z = torch.tensor(np.random.default_rng(0).random((2, n, 4)), dtype=torch.float32, device=DEVICE)
    condition = z / 0.3**0.5 if conditional else None
    exact = condition.double() if conditional else None
    kernel = GaussianKernel(bandwidths)
    diagonal = n != 3
    truth = add_up_pairs(Difference(*(p.double() for p in data)), kernel, exact, diagonal)
    ours = kernel_module.add_up_pairs(data, kernel, condition, diagonal)
    pairs = zip(ours.normals, truth.normals, strict=True)
    for mine, theirs in [(ours.targets, truth.targets), *pairs]:
        assert mine.dtype == torch.float64
        allowed = 1e-5 * float(theirs.abs().max())
        torch.testing.assert_close(mine, theirs, rtol=2e-5, atol=allowed)


def test_each_member_has_a_bandwidth_of_its_own(kernel_module, monkeypatch) -> None:
    from calibrant.losses import DistributionMatchingLoss, _fused

    monkeypatch.setattr(_fused, "_choose", lambda *_: kernel_module.add_up_pairs)
    rng = np.random.default_rng(0)
    y, mean, x = (
        torch.tensor(rng.random(shape), dtype=torch.float32, device=DEVICE)
        for shape in ((2, 40), (2, 40), (2, 40, 3))
    )
    mean.requires_grad_()
    own = torch.tensor([0.05, 1.0], device=DEVICE)

    def evaluate(bandwidth, members):
        loss = DistributionMatchingLoss("joint", (0.1, 1.0), condition_bandwidth=bandwidth)
        dist = torch.distributions.Normal(mean[members], torch.full_like(y[members], 0.1))
        value = loss(dist, y[members], x[members])
        return value.detach(), torch.autograd.grad(value.sum(), mean)[0]

    values, gradient = evaluate(own, slice(None))
    alone = [evaluate(float(own[m]), m) for m in range(2)]
    torch.testing.assert_close(values, torch.stack([each for each, _ in alone]), rtol=1e-5, atol=0)
    torch.testing.assert_close(gradient, alone[0][1] + alone[1][1])


@pytest.fixture
def waves_module(monkeypatch):
    """Marginal matching in Triton also where the numbers are on a CPU."""
    from calibrant.losses import _linear, _triton_waves, matching

    # Few programs, which an interpreter takes one by one, but more than one of each.
    for name, value in {"PROGRAMS": 4, "MOST_WAVES": 512}.items():
        monkeypatch.setattr(_triton_waves, f"_{name}", value)
    for module in (_linear, matching):
        monkeypatch.setattr(module, "in_triton", lambda y: y.dtype != torch.float64)
    return _triton_waves


def marginal(n: int, k: int, dtype: torch.dtype, statistic: str, bandwidths):
    """Value and gradients of two members, n rows and k components."""
    from calibrant.losses import DistributionMatchingLoss

    rng = np.random.default_rng(n + k)
    arrays = rng.random((2, n, k)), 0.05 + 0.1 * rng.random((2, n, k)), rng.random((2, n, k))
    # rounded alike: what float32 input has lost is not the kernel's
    leaves = [torch.tensor(a, dtype=torch.float32, device=DEVICE).to(dtype) for a in arrays]
    y, weight = (
        torch.tensor(rng.random((2, n)), dtype=torch.float32, device=DEVICE).to(dtype)
        for _ in range(2)
    )
    for each in leaves:
        each.requires_grad_()
    mean, scale, logits = leaves
    dist = torch.distributions.Normal(mean[..., 0], scale[..., 0])
    if k > 1:
        dist = torch.distributions.MixtureSameFamily(
            torch.distributions.Categorical(logits=logits), torch.distributions.Normal(mean, scale)
        )
    loss = DistributionMatchingLoss(bandwidths=bandwidths, statistic=statistic, method="linear")
    value = loss(dist, y, sample_weight=weight)
    # members count differently in the gradient
    (value * torch.tensor([1.0, 3.0], dtype=value.dtype, device=DEVICE)).sum().backward()
    return [value.detach()] + [each.grad for each in leaves if each.grad is not None]


@pytest.mark.parametrize("n", [2, 3, 127])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("statistic", ["u", "v"])
@pytest.mark.parametrize("bandwidths", [(0.01, 0.1), PUBLISHED_BANDWIDTHS])
def test_marginal_matching_is_the_exact_sum(waves_module, n, k, statistic, bandwidths) -> None:
    compare_marginal(n, k, statistic, bandwidths)


def test_marginal_matching_with_many_waves(waves_module) -> None:
    compare_marginal(127, 3, "u", adaptive_bandwidths(0.3))


def compare_marginal(n: int, k: int, statistic: str, bandwidths) -> None:
    truth = marginal(n, k, torch.float64, statistic, bandwidths)
    ours = marginal(n, k, torch.float32, statistic, bandwidths)
    for mine, theirs in zip(ours, truth, strict=True):
        # a U-statistic is a difference of terms of about 0.5 / n
        scale = theirs.norm() + (0.5 / n if statistic == "u" else 0.0)
        assert (mine.double() - theirs).norm() <= 1e-5 * scale


def test_wide_kernels_keep_their_digits(waves_module, monkeypatch) -> None:
    """Waves that hardly differ from 1, with an exponential as inexact as that of a GPU."""
    from triton.runtime.interpreter import InterpreterBuilder

    from calibrant.losses import DistributionMatchingLoss

    exact = InterpreterBuilder.create_exp2

    def rough(self, argument):
        result = exact(self, argument)
        result.data = (result.data * (1.0 + 2.0**-23)).astype(result.data.dtype)
        return result

    monkeypatch.setattr(InterpreterBuilder, "create_exp2", rough)
    rng = np.random.default_rng(0)
    mean, scale = rng.random(2000), 0.05 + 0.1 * rng.random(2000)
    y = mean + scale * rng.standard_normal(2000)  # predicted well: a small difference is left
    loss = DistributionMatchingLoss(method="linear")
    results = []
    for dtype in (torch.float64, torch.float32):
        parts = (torch.tensor(a, dtype=torch.float32, device=DEVICE) for a in (mean, scale, y))
        loc, spread, target = (part.to(dtype) for part in parts)
        loc.requires_grad_()
        value = loss(torch.distributions.Normal(loc, spread), target)
        value.backward()
        results.append((value.detach(), loc.grad.double()))
    for theirs, mine in zip(*results, strict=True):
        assert (mine - theirs).norm() <= 4e-6 * theirs.norm()


@triton.jit
def evaluate_waves(turns, cosines, sines, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    cosine, sine = _wave(tl.load(turns + at))
    tl.store(cosines + at, cosine)
    tl.store(sines + at, sine)


def test_waves_are_off_by_chance_alone() -> None:
    """Angles all round: errors of one sign would not average out over the rows."""
    turns = torch.linspace(-3.0, 3.0, 1 << 14, dtype=torch.float64, device=DEVICE)
    cosines, sines = (torch.empty(1 << 14, device=DEVICE) for _ in range(2))
    evaluate_waves[(1,)](turns, cosines, sines, SIZE=1 << 14)
    angle = torch.pi * turns
    for ours, exact in ((cosines, -2.0 * angle.sin() ** 2), (sines, (2.0 * angle).sin())):
        error = ours.double() - exact
        assert error.abs().max() < 5e-7  # of at most 2
        for shape in (torch.ones_like(angle), (2.0 * angle).cos(), (2.0 * angle).sin()):
            assert (error * shape).mean().abs() < 5e-9


def test_marginal_matching_of_one_row(waves_module) -> None:
    value, *gradients = marginal(1, 1, torch.float32, "v", PUBLISHED_BANDWIDTHS)
    truth, *exact = marginal(1, 1, torch.float64, "v", PUBLISHED_BANDWIDTHS)
    torch.testing.assert_close(value, truth, rtol=1e-5, atol=0)
    for mine, theirs in zip(gradients, exact, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=1e-5, atol=1e-7)


def test_members_of_different_range_do_not_meet(waves_module) -> None:
    """Each batch has waves of its own: what one member does, the other does not notice."""
    from calibrant.losses import DistributionMatchingLoss

    rng = np.random.default_rng(0)
    y = torch.tensor(rng.random((2, 50)), dtype=torch.float32, device=DEVICE)
    mean = y.flip(1) ** 2
    loss = DistributionMatchingLoss(bandwidths=(0.01, 1.0), method="linear")
    alone = loss(torch.distributions.Normal(mean[1], 0.1), y[1])
    for bad in (1e6, float("inf"), float("nan")):
        mean[0, 3] = bad
        dist = torch.distributions.Normal(mean, 0.1, validate_args=False)
        assert loss(dist, y)[1] == alone


def test_more_waves_than_there_is_room_for_still_are_a_loss(waves_module) -> None:
    """Rows too far apart for the narrowest kernel: finite, not below zero, with a gradient."""
    from calibrant.losses import DistributionMatchingLoss

    y = torch.tensor([0.0, 0.1, 1e4], device=DEVICE)
    mean = torch.tensor([0.2, 0.1, 9.9e3], device=DEVICE).requires_grad_()
    loss = DistributionMatchingLoss(bandwidths=(1e-4,), method="linear")
    value = loss(torch.distributions.Normal(mean, 0.1), y)
    value.backward()
    assert 0 < float(value.detach()) < 1
    assert mean.grad.isfinite().all()
