"""The pass over all pairs in Triton: the GPU twin of `_fused.add_up_pairs`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from calibrant.kernels import GaussianKernel
from calibrant.losses._difference import Difference
from calibrant.losses._fused import Sums

_BLOCK = 64  # points a program owns
_OTHERS = 64  # points it meets at a time


@triton.jit
def _add_up(
    means, variances, other_means, other_variances, other_masses, z, bandwidths,
    value_out, mean_out, variance_out, n, n_others, rows,
    K: tl.constexpr, OTHER_K: tl.constexpr, DIMENSIONS: tl.constexpr, BANDWIDTHS: tl.constexpr,
    SPREAD: tl.constexpr, OTHERS_SPREAD: tl.constexpr, DIAGONAL: tl.constexpr,
    BLOCK: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    """Sums over the others for a block of points; K points of a row follow each other.

    A pair costs one exponential for the condition and, for each bandwidth, one exponential and,
    where there is variance, one reciprocal and one square root.
    """
    batch = tl.program_id(1)
    own = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = own < n
    mean = tl.load(means + batch * n + own, mask=inside, other=0.0)
    variance = tl.zeros([BLOCK], dtype=tl.float32)
    if SPREAD:
        variance = tl.load(variances + batch * n + own, mask=inside, other=1.0)
    value_sum = tl.zeros([BLOCK], dtype=tl.float64)
    mean_sum = tl.zeros([BLOCK], dtype=tl.float64)
    variance_sum = tl.zeros([BLOCK], dtype=tl.float64)
    for start in range(0, n_others, OTHERS):
        other = start + tl.arange(0, OTHERS)
        there = other < n_others
        other_mean = tl.load(other_means + batch * n_others + other, mask=there, other=0.0)
        mass = tl.load(other_masses + batch * n_others + other, mask=there, other=0.0)
        apart = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        for axis in range(DIMENSIONS):
            column = z + (batch * DIMENSIONS + axis) * rows
            mine = tl.load(column + own // K, mask=inside, other=0.0)
            theirs = tl.load(column + other // OTHER_K, mask=there, other=0.0)
            apart += (mine[:, None] - theirs[None, :]) * (mine[:, None] - theirs[None, :])
        weight = tl.exp(-0.5 * apart) * mass[None, :]
        if not DIAGONAL:
            same = (own // K)[:, None] == (other // OTHER_K)[None, :]
            weight = tl.where(same, 0.0, weight)
        distance = mean[:, None] - other_mean[None, :]
        squared = distance * distance
        both = variance[:, None]
        if OTHERS_SPREAD:
            spread = tl.load(other_variances + batch * n_others + other, mask=there, other=1.0)
            both = both + spread[None, :]
        value = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        steep = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        curved = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        for i in tl.static_range(BANDWIDTHS):
            h = tl.load(bandwidths + i)
            q = 1.0 / (h + both)  # one number a row against points
            exponent = squared * q
            e = tl.exp(-0.5 * exponent) * tl.sqrt(h * q)
            value += e
            e *= q
            steep += e
            curved += e * exponent
        # In float32 within a block, in float64 over the blocks: a wide kernel's sums are large
        # numbers that nearly cancel.
        value_sum += tl.sum(weight * value, axis=1).to(tl.float64)
        if SPREAD:
            mean_sum -= tl.sum(weight * steep * distance, axis=1).to(tl.float64)
            variance_sum += tl.sum(0.5 * weight * (curved - steep), axis=1).to(tl.float64)
    tl.store(value_out + batch * n + own, value_sum, mask=inside)
    if SPREAD:
        tl.store(mean_out + batch * n + own, mean_sum, mask=inside)
        tl.store(variance_out + batch * n + own, variance_sum, mask=inside)


def add_up_pairs(
    difference: Difference, kernel: GaussianKernel, condition: Tensor | None, diagonal: bool
) -> Sums:
    """All sums; kernel values in float32, sums in float64."""
    y, share, means, variances, masses = (_ready(part) for part in difference)
    device = y.device
    bandwidths = torch.tensor(kernel.bandwidths, dtype=torch.float32, device=device)
    # Axis by axis, so that neighbouring rows lie side by side; without a condition no axis.
    z = y if condition is None else _ready(condition.mT)
    dimensions = 0 if condition is None else condition.shape[-1]

    def over(
        own: Tensor, spread: Tensor | None, other: Tensor, other_spread: Tensor | None, mass: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        batches, rows, k = own.shape
        n, n_others = rows * k, other.shape[1] * other.shape[2]
        sums = [torch.zeros(own.shape, dtype=torch.float64, device=device) for _ in range(3)]
        _add_up[(triton.cdiv(n, _BLOCK), batches)](
            own, own if spread is None else spread,
            other, other if other_spread is None else other_spread, mass,
            z, bandwidths, *sums, n, n_others, rows,
            K=k, OTHER_K=other.shape[2], DIMENSIONS=dimensions, BANDWIDTHS=len(bandwidths),
            SPREAD=spread is not None, OTHERS_SPREAD=other_spread is not None, DIAGONAL=diagonal,
            BLOCK=_BLOCK, OTHERS=_OTHERS,
        )  # fmt: skip
        return sums[0], sums[1], sums[2]

    points, weights = y[..., None], share[..., None]
    alone = over(points, None, points, None, weights)[0][..., 0]
    mixed = over(means, variances, points, None, weights)
    among = over(means, variances, means, variances, masses)
    return Sums((share.double() * alone).sum(dim=1), mixed, among)


def _ready(values: Tensor) -> Tensor:
    return values.detach().to(torch.float32).contiguous()
