"""The pass over pairs in Triton, run by its interpreter on a CPU (see tests/conftest.py)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.kernels import GaussianKernel, adaptive_bandwidths
from calibrant.losses.fast.fused import sum_pairs
from calibrant.losses.fast.signed_measure import SignedMeasure

pytest.importorskip("triton", reason="Triton is not installed (Linux only)")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def kernel_module(monkeypatch):
    from calibrant.losses.fast import triton_pairs

    # Small blocks, so that few rows already fill several.
    monkeypatch.setattr(
        triton_pairs, "_SMALL", triton_pairs.Tiles(columns=32, rows=16, each=32, warps=1)
    )
    return triton_pairs


def make_measure(batches: int, n: int, k: int) -> SignedMeasure:
    rng = np.random.default_rng(n + k)
    y, means = rng.random((batches, n)), rng.random((batches, n, k))
    share = rng.dirichlet(np.ones(n), batches)
    weights = rng.dirichlet(np.ones(k), (batches, n))
    variances, masses = 0.05 * rng.random((batches, n, k)), -share[..., None] * weights
    parts = (y, share, means, variances, masses)
    return SignedMeasure(*(torch.tensor(a, dtype=torch.float32, device=DEVICE) for a in parts))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 37])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("bandwidths", [adaptive_bandwidths(0.3), (1.0, 64.0)])
def test_the_kernel_is_the_blockwise_pass(kernel_module, n, k, conditional, bandwidths) -> None:
    data = make_measure(2, n, k)
    z = torch.tensor(np.random.default_rng(0).random((2, n, 4)), dtype=torch.float32, device=DEVICE)
    condition = z / 0.3**0.5 if conditional else None
    exact = condition.double() if conditional else None
    kernel = GaussianKernel(bandwidths)
    diagonal = n != 3
    truth = sum_pairs(SignedMeasure(*(p.double() for p in data)), kernel, exact, diagonal)
    ours = kernel_module.sum_pairs(data, kernel, condition, diagonal)
    pairs = zip(ours.normals, truth.normals, strict=True)
    for mine, theirs in [(ours.targets, truth.targets), *pairs]:
        assert mine.dtype == torch.float64
        allowed = 1e-5 * float(theirs.abs().max())
        torch.testing.assert_close(mine, theirs, rtol=2e-5, atol=allowed)


def test_each_member_has_a_bandwidth_of_its_own(kernel_module, monkeypatch) -> None:
    from calibrant.losses import DistributionMatchingLoss
    from calibrant.losses.fast import switch

    monkeypatch.setattr(switch, "triton_applies", lambda _: True)
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
