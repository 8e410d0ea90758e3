"""Joint matching linear in n: random features of the condition."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from calibrant.errors import ParameterError
from calibrant.kernels import GaussianKernel, Kernel
from calibrant.losses._condition import Condition
from calibrant.losses._difference import Difference
from calibrant.losses._spectral import as_tensors, waves, waves_at

_ELEMENTS = 1 << 18  # of one temporary


def random_features_v(
    difference: Difference, kernel: Kernel, condition: Condition, features: int
) -> Tensor:
    """Squared joint MMD, V-statistic, (B,), with ``K(z, z') ~ mean_f cos(w_f (z - z'))``.

    The F frequencies follow the spectrum of K, a normal, so the value is unbiased over draws;
    its error is that of a mean of F terms, a relative standard error of at most ``sqrt(2 / F)``.
    A feature turns the mass of each row by its wave: what is left is marginal matching.
    """
    if not isinstance(kernel, GaussianKernel):
        raise ParameterError(
            f'method="linear" given a condition needs Gaussian kernels, got '
            f'{type(kernel).__name__}; use method="fused".'
        )
    turn = _turns(condition, features)
    reach = difference.reach()
    chosen = [waves(h, *reach) for h in kernel.bandwidths]
    w, weight = as_tensors(chosen, turn.device)
    k = difference.means.shape[-1]
    size = max(64, _ELEMENTS // (len(turn) * len(w) * k))

    def part(
        y: Tensor, share: Tensor, means: Tensor, variances: Tensor, masses: Tensor, turn: Tensor
    ) -> Tensor:
        of_targets = waves_at(y, None, w)
        of_normals = waves_at(means.flatten(1), variances.flatten(1), w)
        sums = []
        for target, normal in zip(of_targets, of_normals, strict=True):  # cosine, then sine
            predicted = normal.unflatten(-1, (-1, k)) * masses[:, None]
            sums.append((target * share[:, None] + predicted.sum(dim=-1)) @ turn)
        return torch.stack(sums)  # (2, B, Q, 2 F)

    total = torch.zeros((), dtype=torch.float64, device=w.device)
    rows = [each.double().split(size, dim=1) for each in (*difference, turn)]
    for chunk in zip(*rows, strict=True):
        total = total + checkpoint(part, *chunk, use_reentrant=False)
    return (weight[:, None] * total.square()).sum(dim=(0, 2, 3))


def _turns(condition: Condition, features: int) -> Tensor:
    """Cosines and sines of the random waves at every row, (B, n, 2 F), over sqrt(F)."""
    z = condition.z.double()
    # The same waves in every call: a loss that is minimised must not change under the steps.
    generator = torch.Generator(z.device).manual_seed(0)
    shape = z.shape[-1], features
    normal = torch.randn(shape, generator=generator, dtype=torch.float64, device=z.device)
    angle = z @ (normal / math.sqrt(condition.bandwidth))
    return torch.cat([torch.cos(angle), torch.sin(angle)], dim=-1) / math.sqrt(features)
