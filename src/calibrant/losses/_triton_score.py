"""The kernel score of the energy kernel in Triton: the GPU twin of `score_rows`.

A few hundred rows of a few normals are nothing to a GPU: a step of training pays by the launch. One
launch gives the score and all its slopes, which the gradient only has to multiply.
"""

from __future__ import annotations

from typing import Any, cast

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

MOST_NORMALS = 32  # of a row; a program goes through their pairs in a loop written out
_BLOCK = 128  # normals of a program, one for each of its threads
_WARPS = 4
_TINY = 1e-30  # least variance, as in `EnergyKernel`


@triton.jit
def _slopes(distance, variance, TINY: tl.constexpr):
    """``E|D|`` and its derivatives by distance and by variance, as in `EnergyKernel.slopes`."""
    scale = tl.sqrt(tl.maximum(variance, TINY))
    z = distance / scale
    density = 0.3989422804014327 * tl.exp(-0.5 * z * z)
    spread = tl.erf(0.7071067811865476 * z)
    return distance * spread + 2.0 * scale * density, spread, density / scale


@triton.jit(do_not_specialize=["rows"])
def _score(
    y, weights, means, scales, scores, slopes, rows,
    weights_row, weights_normal, means_row, means_normal, scales_row, scales_normal,
    K: tl.constexpr, ROWS: tl.constexpr, NORMALS: tl.constexpr, TINY: tl.constexpr,
):  # fmt: skip
    """Scores of some rows, and their slopes by weight, mean and scale of every normal."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    k = tl.arange(0, NORMALS)[None, :]
    row = i < rows
    here = row & (k < K)
    weights += i * weights_row
    means += i * means_row
    scales += i * scales_row
    weight = tl.load(weights + k * weights_normal, mask=here, other=0.0)
    mean = tl.load(means + k * means_normal, mask=here, other=0.0)
    scale = tl.load(scales + k * scales_normal, mask=here, other=1.0)
    variance = scale * scale
    target = tl.load(y + i, mask=row, other=0.0)
    away, steep, curved = _slopes(mean - target, variance, TINY)

    # How much farther from the target than from the prediction: weights that add up to 1 but for
    # rounding do no harm to differences.
    farther = tl.zeros_like(mean)
    by_mean = tl.zeros_like(mean)
    by_variance = tl.zeros_like(mean)
    for other in tl.static_range(K):
        share = tl.load(weights + other * weights_normal, mask=row, other=0.0)
        distance = mean - tl.load(means + other * means_normal, mask=row, other=0.0)
        spread = tl.load(scales + other * scales_normal, mask=row, other=1.0)
        apart, pair_steep, pair_curved = _slopes(distance, variance + spread * spread, TINY)
        farther += share * (away - apart)
        by_mean += share * (steep - pair_steep)
        by_variance += share * (curved - pair_curved)

    # E|Y - y| once more than in `farther`: 2 E|Y - y| - E|Y - Y'| in all.
    expected = tl.sum(weight * away, axis=1, keep_dims=True)
    tl.store(scores + i, tl.sum(weight * (farther + expected), axis=1, keep_dims=True), mask=row)
    slopes += i * K + k
    plane = rows.to(tl.int64) * K
    tl.store(slopes, 2.0 * farther, mask=here)
    tl.store(slopes + plane, 2.0 * weight * by_mean, mask=here)
    tl.store(slopes + 2 * plane, 4.0 * weight * scale * by_variance, mask=here)


def energy_score(weights: Tensor, means: Tensor, scales: Tensor, y: Tensor) -> Tensor:
    """``2 E|Y - y| - E|Y - Y'|`` of every row, (..., n), in float32.

    Parameters
    ----------
    weights, means, scales : tensors of shape (..., n, K), K at most `MOST_NORMALS`
        Mixtures of K normals; the weights of a row add up to 1, and may be those of all rows, (K,).
    y : tensor of shape (..., n) or (n,)
    """
    return cast(Tensor, _EnergyScore.apply(weights.expand_as(means), means, scales, y))


class _EnergyScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, means: Tensor, scales: Tensor, y: Tensor) -> Tensor:
        *batch, k = means.shape
        # Parts of one output of a network lie between each other: strides, not copies.
        parts = [part.float().reshape(-1, k) for part in (weights, means, scales)]
        targets = y.float().expand(batch).contiguous()
        scores, slopes = torch.empty_like(targets), targets.new_empty(3, *means.shape)
        normals = triton.next_power_of_2(k)
        rows = _BLOCK // normals
        _score[(triton.cdiv(targets.numel(), rows),)](
            targets, *parts, scores, slopes, targets.numel(),
            *(stride for part in parts for stride in part.stride()),
            K=k, ROWS=rows, NORMALS=normals, TINY=_TINY, num_warps=_WARPS,
        )  # fmt: skip
        ctx.save_for_backward(slopes)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (slopes,) = ctx.saved_tensors
        return *(slopes * upstream[..., None]).unbind(), None
