"""Proper scoring rules as objectives: a row's distribution against its own observation."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Distribution as TorchDistribution

from calibrant.kernels import EnergyKernel, Kernel
from calibrant.losses.fast import switch
from calibrant.losses.pairwise import row_scores
from calibrant.losses.prediction import Prediction, normals_of

_PAIRS_AT_ONCE = 1 << 24  # pairs of normals whose terms are in memory at once


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
    prediction = Prediction.of(weights, means, scales, dtype)
    pairs = means.numel() * means.shape[-1]
    if pairs <= _PAIRS_AT_ONCE or means.requires_grad:
        return row_scores(prediction, y, kernel)
    # The pairs of normals of a large ensemble would fill the memory: some rows at a time.
    target = y.expand(means.shape[:-1])
    some = max(1, means.shape[-2] * _PAIRS_AT_ONCE // pairs)
    parts = zip(*(part.split(some, dim=-2) for part in prediction), strict=True)
    each = zip(parts, target.split(some, dim=-1), strict=True)
    return torch.cat([row_scores(Prediction(*part), own, kernel) for part, own in each], dim=-1)


def crps(dist: TorchDistribution, y: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
    """Continuous ranked probability score per row, (n,), in closed form."""
    return 0.5 * kernel_score(dist, y, EnergyKernel(), dtype)
