"""Proper scoring rules as objectives: a row's distribution against its own observation."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Distribution as TorchDistribution

from calibrant.kernels import EnergyKernel, Kernel
from calibrant.losses.fast import switch
from calibrant.losses.pairwise import row_scores
from calibrant.losses.prediction import Prediction, normals_of


def kernel_score(
    dist: TorchDistribution, y: Tensor, kernel: Kernel, dtype: torch.dtype = torch.float64
) -> Tensor:
    """``k(y, y) - 2 E k(Y, y) + E k(Y, Y')`` per row, (n,): the squared MMD to the observation.

    It is a proper scoring rule: the true distribution minimises its expectation.

    Parameters
    ----------
    dist : torch Normal of shape (n,), or MixtureSameFamily of normals
    y : tensor of shape (n,)
    dtype : torch.dtype
        Precision to compute in; float32 is enough for a gradient.
    """
    weights, means, scales = normals_of(dist, y)
    single = dtype == torch.float32 and not y.requires_grad
    if single and isinstance(kernel, EnergyKernel) and switch.triton_applies(y):
        from calibrant.losses.fast.triton_score import MOST_NORMALS, energy_score

        if means.shape[-1] <= MOST_NORMALS:
            return energy_score(weights, means, scales, y)
    return row_scores(Prediction.of(weights, means, scales, dtype), y, kernel)


def crps(dist: TorchDistribution, y: Tensor) -> Tensor:
    """Continuous ranked probability score per row, (n,), in closed form."""
    return 0.5 * kernel_score(dist, y, EnergyKernel())
