"""Joint matching linear in n: random features of the condition."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from calibrant.errors import ParameterError
from calibrant.kernels import GaussianKernel, Kernel
from calibrant.losses._difference import Difference
from calibrant.losses._spectral import as_tensors, count_waves, waves, waves_at

_ELEMENTS = 1 << 18  # of one temporary
_MOST_WAVES = 10_000  # of all kernels; each costs as much as `features` rows of a matrix


def random_features_v(
    difference: Difference, kernel: Kernel, condition: Tensor, features: int
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
    reach = difference.reach()
    if sum(count_waves(h, *reach) for h in kernel.bandwidths) > _MOST_WAVES:
        raise ParameterError(
            f'method="linear" given a condition can\'t resolve bandwidths as small as '
            f"{min(kernel.bandwidths):.3g} for rows up to {reach[0]:.3g} apart with variances up "
            f'to {reach[1]:.3g}; widen the bandwidths or use method="fused".'
        )
    chosen = [waves(h, *reach) for h in kernel.bandwidths]
    w, weight = as_tensors(chosen, difference.y.device)
    frequencies = _frequencies(condition, features)
    batches, _, k = difference.means.shape
    size = max(64, _ELEMENTS // (batches * len(w) * k))

    def part(
        y: Tensor, share: Tensor, means: Tensor, variances: Tensor, masses: Tensor, z: Tensor
    ) -> Tensor:
        angle = z @ frequencies
        turn = torch.cat([torch.cos(angle), torch.sin(angle)], dim=-1) / math.sqrt(features)
        of_targets = waves_at(y, None, w)
        of_normals = waves_at(means.flatten(1), variances.flatten(1), w)
        sums = []
        for target, normal in zip(of_targets, of_normals, strict=True):  # cosine, then sine
            predicted = normal.unflatten(-1, (-1, k)) * masses[:, None]
            sums.append((target * share[:, None] + predicted.sum(dim=-1)) @ turn)
        return torch.stack(sums)  # (2, B, Q, 2 F)

    total = torch.zeros((), dtype=torch.float64, device=w.device)
    rows = [each.double().split(size, dim=1) for each in (*difference, condition)]
    for chunk in zip(*rows, strict=True):
        total = total + checkpoint(part, *chunk, use_reentrant=False)
    return (weight[:, None] * total.square()).sum(dim=(0, 2, 3))


def _frequencies(condition: Tensor, features: int) -> Tensor:
    """Draws from the spectrum of the kernel on the condition, (d, F)."""
    # The same in every call and on every device: a loss must not change under the steps.
    generator = torch.Generator().manual_seed(0)
    shape = condition.shape[-1], features
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    return normal.to(condition.device)
