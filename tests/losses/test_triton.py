"""The Triton kernel, run by Triton's interpreter on a CPU (see the conftest beside)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.kernels import GaussianKernel, adaptive_bandwidths
from calibrant.losses._difference import Difference
from calibrant.losses._fused import add_up_pairs

pytest.importorskip("triton", reason="Triton is not installed (Linux only)")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def kernel_module(monkeypatch):
    from calibrant.losses import _triton

    # Small blocks, so that few rows already fill several.
    monkeypatch.setattr(_triton, "_BLOCK", 32)
    monkeypatch.setattr(_triton, "_OTHERS", 32)
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
    pairs = [(ours.targets, truth.targets), *zip(ours.mixed, truth.mixed, strict=True)]
    for mine, theirs in [*pairs, *zip(ours.among, truth.among, strict=True)]:
        assert mine.dtype == torch.float64
        allowed = 2e-6 * float(theirs.abs().max())
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
