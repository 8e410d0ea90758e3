"""Proper scoring rules as objectives: the terms i = j of the kernel calibration family."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Distribution as TorchDistribution

from calibrant.kernels import EnergyKernel, Kernel
from calibrant.losses._prediction import Prediction, score_rows


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
    return score_rows(Prediction.of(dist, y, dtype), y, kernel)


def crps(dist: TorchDistribution, y: Tensor) -> Tensor:
    """Continuous ranked probability score of every row, (n,), in closed form."""
    return 0.5 * kernel_score(dist, y, EnergyKernel())
