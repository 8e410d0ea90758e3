"""Proper scoring rules as objectives: the terms i = j of the kernel calibration family."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Distribution as TorchDistribution

from calibrant.kernels import EnergyKernel, Kernel
from calibrant.losses._device import in_triton
from calibrant.losses._prediction import Prediction, normals_of, score_rows


def kernel_score(
    dist: TorchDistribution, y: Tensor, kernel: Kernel, dtype: torch.dtype = torch.float64
) -> Tensor:
    """``k(y, y) - 2 E k(Y, y) + E k(Y, Y')`` of every row, (n,): squared MMD given the row.

    It is a proper scoring rule: the true distribution minimises its expectation.

    Parameters
    ----------
    dist : torch Normal of shape (n,), or MixtureSameFamily of normals
    y : tensor of shape (n,)
    dtype : torch.dtype
        Precision to compute in; half of it is enough for a gradient.
    """
    single = dtype == torch.float32 and not y.requires_grad
    if single and isinstance(kernel, EnergyKernel) and in_triton(y):
        from calibrant.losses._triton_score import MOST_NORMALS, energy_score

        weights, means, scales = normals_of(dist, y)
        if means.shape[-1] <= MOST_NORMALS:
            return energy_score(weights, means, scales, y)
    return score_rows(Prediction.of(dist, y, dtype), y, kernel)


def crps(dist: TorchDistribution, y: Tensor) -> Tensor:
    """Continuous ranked probability score of every row, (n,), in closed form."""
    return 0.5 * kernel_score(dist, y, EnergyKernel())
