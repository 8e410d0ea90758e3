"""The pass over all pairs as one Triton kernel: the GPU twin of `_fused.add_up_pairs`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from calibrant.kernels import GaussianKernel
from calibrant.losses._condition import Condition
from calibrant.losses._fused import Points, Sums

_BLOCK = 64  # points a program owns
_OTHERS = 64  # points it meets at a time


@triton.jit
def _less_one(t):
    """``exp(t) - 1`` for t <= 0, with its digits where t is small."""
    series = 1.0 + t * (1.0 / 5.0) * (1.0 + t * (1.0 / 6.0))
    series = 1.0 + t * (1.0 / 2.0) * (1.0 + t * (1.0 / 3.0) * (1.0 + t * (1.0 / 4.0) * series))
    return tl.where(t > -0.25, t * series, tl.exp(t) - 1.0)


@triton.jit
def _add_up(
    means, variances, z, other_means, other_variances, other_masses, other_z, bandwidths,
    half_inverse, value_out, mean_out, variance_out,
    n, n_others, rows, other_rows,
    K: tl.constexpr, OTHER_K: tl.constexpr, DIMENSIONS: tl.constexpr, BANDWIDTHS: tl.constexpr,
    BLOCK: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(1)
    own = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = own < n
    mean = tl.load(means + batch * n + own, mask=inside, other=0.0)
    variance = tl.load(variances + batch * n + own, mask=inside, other=0.0)
    value_sum = tl.zeros([BLOCK], dtype=tl.float64)
    mean_sum = tl.zeros([BLOCK], dtype=tl.float64)
    variance_sum = tl.zeros([BLOCK], dtype=tl.float64)
    for start in range(0, n_others, OTHERS):
        other = start + tl.arange(0, OTHERS)
        there = other < n_others
        other_mean = tl.load(other_means + batch * n_others + other, mask=there, other=0.0)
        other_variance = tl.load(other_variances + batch * n_others + other, mask=there, other=0.0)
        mass = tl.load(other_masses + batch * n_others + other, mask=there, other=0.0)
        # The condition belongs to the row; K points of a row follow each other.
        apart = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        for axis in range(DIMENSIONS):
            at = (batch * DIMENSIONS + axis) * rows + own // K
            other_at = (batch * DIMENSIONS + axis) * other_rows + other // OTHER_K
            mine = tl.load(z + at, mask=inside, other=0.0)
            theirs = tl.load(other_z + other_at, mask=there, other=0.0)
            apart += (mine[:, None] - theirs[None, :]) * (mine[:, None] - theirs[None, :])
        weight = tl.exp(-apart * tl.load(half_inverse)) * mass[None, :]
        distance = mean[:, None] - other_mean[None, :]
        both = variance[:, None] + other_variance[None, :]
        squared = distance * distance
        value = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        by_mean = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        by_variance = tl.zeros([BLOCK, OTHERS], dtype=tl.float32)
        for i in tl.static_range(BANDWIDTHS):
            inverse = tl.load(bandwidths + i)
            ratio = both * inverse
            r = tl.rsqrt(1.0 + ratio)
            r2 = r * r
            exponent = squared * r2 * inverse
            less_one = _less_one(-0.5 * exponent)
            value += r * less_one - ratio * r2 / (1.0 + r)
            density = (less_one + 1.0) * r * r2 * inverse
            by_mean -= density
            by_variance += density * (exponent - 1.0)
        value_sum += tl.sum(weight * value, axis=1).to(tl.float64)
        mean_sum += tl.sum(weight * by_mean * distance, axis=1).to(tl.float64)
        variance_sum += tl.sum(0.5 * weight * by_variance, axis=1).to(tl.float64)
    tl.store(value_out + batch * n + own, value_sum, mask=inside)
    tl.store(mean_out + batch * n + own, mean_sum, mask=inside)
    tl.store(variance_out + batch * n + own, variance_sum, mask=inside)


def add_up_pairs(
    left: Points, right: Points, kernel: GaussianKernel, condition: Condition | None
) -> Sums:
    """Sums over `right` for every point of `left`; values in float32, sums in float64."""
    batches, rows, k = left.means.shape
    _, other_rows, other_k = right.means.shape
    n, n_others = rows * k, other_rows * other_k
    device = left.means.device
    # Axis by axis, so that neighbouring rows lie side by side; without a condition no axis.
    z = left.means.new_zeros(1)
    dimensions, half_inverse = 0, 0.0
    if condition is not None:
        z = _ready(condition.z.mT)
        dimensions, half_inverse = condition.z.shape[-1], 0.5 / condition.bandwidth
    inverses = [1.0 / h for h in kernel.bandwidths]
    sums = [torch.empty(batches, rows, k, dtype=torch.float64, device=device) for _ in range(3)]
    _add_up[(triton.cdiv(n, _BLOCK), batches)](
        _ready(left.means), _ready(left.variances), z,
        _ready(right.means), _ready(right.variances), _ready(right.masses), z,
        torch.tensor(inverses, dtype=torch.float32, device=device),
        torch.tensor([half_inverse], dtype=torch.float32, device=device),
        *sums, n, n_others, rows, other_rows,
        K=k, OTHER_K=other_k, DIMENSIONS=dimensions, BANDWIDTHS=len(inverses),
        BLOCK=_BLOCK, OTHERS=_OTHERS,
    )  # fmt: skip
    return Sums(*sums)


def _ready(values: Tensor) -> Tensor:
    return values.detach().to(torch.float32).contiguous()
