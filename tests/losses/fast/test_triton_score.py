"""The kernel score in Triton, run by Triton's interpreter on a CPU (see tests/conftest.py)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from calibrant.kernels import EnergyKernel
from calibrant.losses import kernel_score
from calibrant.losses.fast import switch
from calibrant.networks import GaussianHead, MixtureHead

pytest.importorskip("triton", reason="Triton is not installed (Linux only)")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def in_triton(monkeypatch):
    """Float32 goes through Triton also where the numbers are on a CPU; float64 never does."""
    monkeypatch.setattr(switch, "triton_applies", lambda y: y.dtype == torch.float32)


def normals(members: int, n: int, k: int) -> list[np.ndarray]:
    """Logits, means, scales and targets."""
    rng = np.random.default_rng(100 * members + 10 * n + k)
    shape = (members, n, k)
    scale = 0.05 + rng.random(shape)
    return [rng.normal(size=shape), rng.normal(size=shape), scale, rng.normal(size=shape[:2])]


def score(arrays: list[np.ndarray], dtype: torch.dtype) -> list[torch.Tensor]:
    """Scores and the gradients of their weighted sum by logits, means and scales."""
    # rounded alike: what float32 input has lost is not the kernel's
    tensors = [torch.tensor(a, dtype=torch.float32, device=DEVICE).to(dtype) for a in arrays]
    *leaves, y = tensors
    for each in leaves:
        each.requires_grad_()
    logits, means, scales = leaves
    if means.shape[-1] == 1:
        dist = Normal(means[..., 0], scales[..., 0], validate_args=False)
    else:
        parts = Normal(means, scales, validate_args=False)
        dist = MixtureSameFamily(Categorical(logits=logits), parts, validate_args=False)
    value = kernel_score(dist, y, EnergyKernel(), dtype)
    counts = torch.linspace(0.5, 1.5, y.numel(), dtype=dtype, device=DEVICE).view(y.shape)
    (counts * value).sum().backward()
    return [value.detach().double()] + [e.grad.double() for e in leaves if e.grad is not None]


def assert_alike(arrays: list[np.ndarray], rtol: float = 1e-5) -> None:
    """Value and gradients are those in float64, row by row and of all rows together."""
    ours, truth = score(arrays, torch.float32), score(arrays, torch.float64)
    # points count as normals of scale 1e-15
    torch.testing.assert_close(ours[0], truth[0], rtol=rtol, atol=1e-14)
    assert len(ours) == len(truth)
    for mine, theirs in zip(ours[1:], truth[1:], strict=True):
        assert mine.isfinite().all()
        assert (mine - theirs).norm() <= rtol * theirs.norm()
        # of a row, beside its largest: where derivatives cancel only rounding is left
        largest = theirs.abs().amax(dim=-1, keepdim=True)
        assert ((mine - theirs).abs() <= 10 * rtol * largest + 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("members", [1, 4])
@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("n", [1, 2, 3, 127, 257])
def test_the_score_is_that_in_float64(members, n, k) -> None:
    assert_alike(normals(members, n, k))


@pytest.mark.parametrize("k", [8, 32])
def test_many_normals(k) -> None:
    assert_alike(normals(2, 5, k))


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("k", [1, 5])
def test_units_do_not_matter(factor, k) -> None:
    logits, means, scales, y = normals(2, 20, k)
    arrays = [logits, factor * means, factor * scales, factor * y]
    ours, truth = score(arrays, torch.float32), score(arrays, torch.float64)
    for mine, theirs in zip(ours, truth, strict=True):
        assert (mine - theirs).norm() <= 1e-5 * theirs.norm()


@pytest.mark.parametrize("k", [1, 5])
def test_scales_of_all_sizes_beside_each_other(k) -> None:
    logits, means, _, y = normals(2, 50, k)
    scales = 10.0 ** np.random.default_rng(0).uniform(-10, 3, means.shape)
    means[:, ::2] = y[:, ::2, None]  # in the middle of them, or far from the narrow ones
    assert_alike([logits, means, scales, y])


def test_a_normal_that_nearly_has_all_weight() -> None:
    logits, means, scales, y = normals(2, 50, 4)
    logits[..., 1] = 30.0
    means[..., 2] = 1e3  # hardly weighs anything, but is far away
    assert_alike([logits, means, scales, y])


def test_points_and_nothing_between_them() -> None:
    """Scales of 0 and means on the target have a score and finite gradients."""
    logits, means, scales, y = normals(1, 6, 3)
    scales[:, ::2] = 0.0
    means[:, :4, 0] = y[:, :4]
    assert_alike([logits, means, scales, y])


def test_gradients_against_finite_differences() -> None:
    logits, means, scales, y = normals(1, 1, 3)
    _, *gradients = score([logits, means, scales, y], torch.float32)
    step = 1e-2
    for which, gradient in enumerate(gradients):
        for k in range(3):
            ends = []
            for sign in (1, -1):
                arrays = [each.copy() for each in (logits, means, scales, y)]
                arrays[which][0, 0, k] += sign * step
                ends.append(0.5 * float(score(arrays, torch.float32)[0]))  # counts start at 0.5
            difference = (ends[0] - ends[1]) / (2 * step)
            assert difference == pytest.approx(float(gradient[0, 0, k]), abs=1e-3)


@pytest.mark.parametrize("head", [GaussianHead(), MixtureHead(3)])
def test_the_outputs_of_a_network_need_no_copies(head) -> None:
    """Parts of one tensor, targets for all members, and the gradient by the outputs."""
    rng = np.random.default_rng(0)
    y = torch.tensor(rng.normal(size=7), dtype=torch.float32, device=DEVICE)
    outputs = torch.tensor(rng.normal(size=(2, 7, head.n_outputs)), device=DEVICE)
    results = []
    for dtype in (torch.float32, torch.float64):
        leaf = outputs.to(dtype).requires_grad_()
        value = kernel_score(head.torch_distribution(leaf), y.to(dtype), EnergyKernel(), dtype)
        assert value.shape == (2, 7)
        value.mean(dim=-1).sum().backward()
        results.append((value.detach().double(), leaf.grad.double()))
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)


def test_weights_of_all_rows() -> None:
    _, means, scales, y = normals(1, 5, 3)
    results = []
    for dtype in (torch.float32, torch.float64):
        loc, scale, target = (
            torch.tensor(a[0], dtype=dtype, device=DEVICE) for a in (means, scales, y)
        )
        logits = torch.tensor([0.0, 1.0, 2.0], dtype=dtype, device=DEVICE, requires_grad=True)
        dist = MixtureSameFamily(Categorical(logits=logits), Normal(loc, scale))
        kernel_score(dist, target, EnergyKernel(), dtype).sum().backward()
        results.append(logits.grad.double())
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)


def test_the_same_bits_again() -> None:
    arrays = normals(4, 127, 5)
    for first, second in zip(*(score(arrays, torch.float32) for _ in range(2)), strict=True):
        assert torch.equal(first, second)


def test_a_row_that_is_no_number_leaves_the_others_alone() -> None:
    arrays = normals(1, 9, 3)
    alone = score(arrays, torch.float32)
    arrays[1][0, 4, 1] = np.nan
    spoilt = score(arrays, torch.float32)
    others = np.arange(9) != 4
    assert spoilt[0][0, 4].isnan()
    for mine, theirs in zip(spoilt, alone, strict=True):
        assert torch.equal(mine[:, others], theirs[:, others])


def test_what_the_kernel_does_not_do_is_done_without_it() -> None:
    """More normals than a program takes, and gradients by the target."""
    assert_alike(normals(1, 2, 33))
    y = torch.zeros(2, device=DEVICE, requires_grad=True)
    dist = Normal(torch.ones(2, device=DEVICE), torch.ones(2, device=DEVICE))
    kernel_score(dist, y, EnergyKernel(), torch.float32).sum().backward()
    assert (y.grad < 0).all()
