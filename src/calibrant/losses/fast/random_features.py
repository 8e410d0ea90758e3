"""Matching given a condition in time linear in n: random features of the condition."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.kernels import GaussianKernel
from calibrant.losses.fast.characteristic import waves
from calibrant.losses.fast.chunks import Chunks, sum_over_chunks
from calibrant.losses.fast.frequencies import as_tensors, count_frequencies, gaussian_frequencies
from calibrant.losses.fast.signed_measure import SignedMeasure

_ELEMENTS = 1 << 18  # of one temporary
_MOST_FREQUENCIES = 10_000  # of all kernels; each costs as much as `features` rows of a matrix


def random_features_mmd(
    measure: SignedMeasure, kernel: GaussianKernel, condition: Tensor, features: int
) -> Tensor:
    """Squared joint MMD, V-statistic, (B,), with ``K(z, z') ~ mean_f cos(w_f (z - z'))``.

    The F frequencies follow the spectrum of K, a normal, so the value is unbiased over draws;
    its error is that of a mean of F terms, a relative standard error of at most ``sqrt(2 / F)``.
    A feature rotates the mass of each row by its wave, which reduces the task to marginal matching.
    """
    extent = measure.extent()
    if sum(count_frequencies(h, extent) for h in kernel.bandwidths) > _MOST_FREQUENCIES:
        raise ParameterError(
            f'method="linear" given a condition can\'t resolve bandwidths as small as '
            f"{min(kernel.bandwidths):.3g} for rows up to {extent.distance:.3g} apart with "
            f"variances up to {extent.variance:.3g}; widen the bandwidths or use "
            'method="fused".'
        )
    rules = [gaussian_frequencies(h, extent) for h in kernel.bandwidths]
    w, weights = as_tensors(rules, measure.y.device)
    directions = _directions(condition, features)
    batches, _, k = measure.means.shape

    def part(
        y: Tensor, y_masses: Tensor, means: Tensor, variances: Tensor, masses: Tensor, z: Tensor
    ) -> Tensor:
        angle = z @ directions
        rotation = torch.cat([torch.cos(angle), torch.sin(angle)], dim=-1) / math.sqrt(features)
        of_targets = waves(y, None, w)
        of_normals = waves(means.flatten(1), variances.flatten(1), w)
        sums = []
        for target, normal in zip(of_targets, of_normals, strict=True):  # cosine, then sine
            predicted = normal.unflatten(-1, (-1, k)) * masses[:, None]
            sums.append((target * y_masses[:, None] + predicted.sum(dim=-1)) @ rotation)
        return torch.stack(sums)  # (2, B, Q, 2 F)

    columns = tuple(each.double() for each in (*measure, condition))
    chunks = Chunks("random features", batches * len(w) * k, _ELEMENTS, fewest=64)
    total = sum_over_chunks(part, columns, chunks)
    return (weights[:, None] * total.square()).sum(dim=(0, 2, 3))


def _directions(condition: Tensor, features: int) -> Tensor:
    """Draws from the spectrum of the kernel on the condition, (d, F)."""
    # The same in every call and on every device: a loss must not change between steps.
    generator = torch.Generator().manual_seed(0)
    shape = condition.shape[-1], features
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    return normal.to(condition.device)
