"""Marginal matching in Triton, run by its interpreter on a CPU (see tests/conftest.py)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.kernels import PUBLISHED_BANDWIDTHS, adaptive_bandwidths

triton = pytest.importorskip("triton", reason="Triton is not installed (Linux only)")
tl = triton.language
from calibrant.losses.fast.triton_marginal import _wave  # noqa: E402

pytestmark = pytest.mark.slow  # the interpreter takes its time
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def in_triton(monkeypatch):
    """Marginal matching in Triton also where the numbers are on a CPU."""
    from calibrant.losses.fast import switch, triton_marginal

    # Few programs, which an interpreter takes one by one, but more than one of each.
    for name, value in {"PROGRAMS": 4, "MOST_FREQUENCIES": 512}.items():
        monkeypatch.setattr(triton_marginal, f"_{name}", value)
    monkeypatch.setattr(switch, "triton_applies", lambda y: y.dtype != torch.float64)


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
def test_marginal_matching_is_the_exact_sum(in_triton, n, k, statistic, bandwidths) -> None:
    compare_marginal(n, k, statistic, bandwidths)


def test_marginal_matching_with_many_frequencies(in_triton) -> None:
    compare_marginal(127, 3, "u", adaptive_bandwidths(0.3))


def compare_marginal(n: int, k: int, statistic: str, bandwidths) -> None:
    truth = marginal(n, k, torch.float64, statistic, bandwidths)
    ours = marginal(n, k, torch.float32, statistic, bandwidths)
    for mine, theirs in zip(ours, truth, strict=True):
        # a U-statistic is a difference of terms of about 0.5 / n
        scale = theirs.norm() + (0.5 / n if statistic == "u" else 0.0)
        assert (mine.double() - theirs).norm() <= 1e-5 * scale


def test_wide_kernels_keep_their_digits(in_triton, monkeypatch) -> None:
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


def test_errors_of_waves_are_random() -> None:
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


def test_marginal_matching_of_one_row(in_triton) -> None:
    value, *gradients = marginal(1, 1, torch.float32, "v", PUBLISHED_BANDWIDTHS)
    truth, *exact = marginal(1, 1, torch.float64, "v", PUBLISHED_BANDWIDTHS)
    torch.testing.assert_close(value, truth, rtol=1e-5, atol=0)
    for mine, theirs in zip(gradients, exact, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=1e-5, atol=1e-7)


def test_members_of_different_range_do_not_meet(in_triton) -> None:
    """Each batch has frequencies of its own: one member does not affect the other."""
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


def test_more_frequencies_than_there_is_room_for_still_make_a_loss(in_triton) -> None:
    """Rows too far apart for the narrowest kernel: finite, not below zero, with a gradient."""
    from calibrant.losses import DistributionMatchingLoss

    y = torch.tensor([0.0, 0.1, 1e4], device=DEVICE)
    mean = torch.tensor([0.2, 0.1, 9.9e3], device=DEVICE).requires_grad_()
    loss = DistributionMatchingLoss(bandwidths=(1e-4,), method="linear")
    value = loss(torch.distributions.Normal(mean, 0.1), y)
    value.backward()
    assert 0 < float(value.detach()) < 1
    assert mean.grad.isfinite().all()
