"""The Triton kernel, run by Triton's interpreter on a CPU (see the conftest beside)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.kernels import GaussianKernel, adaptive_bandwidths
from calibrant.losses._condition import Condition
from calibrant.losses._fused import Points, add_up_pairs

pytest.importorskip("triton", reason="Triton is not installed (Linux only)")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def kernel_module(monkeypatch):
    from calibrant.losses import _triton

    # Small blocks, so that few rows already fill several.
    monkeypatch.setattr(_triton, "_BLOCK", 32)
    monkeypatch.setattr(_triton, "_OTHERS", 32)
    return _triton


def points(batches: int, n: int, k: int, *, points_only: bool = False) -> Points:
    rng = np.random.default_rng(n + k)
    means, masses = rng.random((batches, n, k)), rng.standard_normal((batches, n, k))
    variances = np.zeros_like(means) if points_only else 0.05 * rng.random((batches, n, k))
    return Points(
        *(
            torch.tensor(a, dtype=torch.float32, device=DEVICE)
            for a in (means, variances, masses / n)
        )
    )


@pytest.mark.parametrize("n", [1, 3, 37])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("bandwidths", [adaptive_bandwidths(0.3), (1.0, 64.0)])
def test_the_kernel_is_the_blockwise_pass(kernel_module, n, k, conditional, bandwidths) -> None:
    left, right = points(2, n, k), points(2, n, 1, points_only=True)
    z = torch.tensor(np.random.default_rng(0).random((2, n, 4)), dtype=torch.float32, device=DEVICE)
    condition = Condition(z, 0.3) if conditional else None
    kernel = GaussianKernel(bandwidths)
    for others in (right, left):
        doubled = [Points(*(each.double() for each in some)) for some in (left, others)]
        exact = condition and Condition(z.double(), 0.3)
        truth = add_up_pairs(*doubled, kernel, exact)
        ours = kernel_module.add_up_pairs(left, others, kernel, condition)
        for mine, theirs in zip(ours, truth, strict=True):
            assert mine.dtype == torch.float64
            torch.testing.assert_close(
                mine, theirs, rtol=2e-5, atol=2e-6 * float(theirs.abs().max())
            )
