"""The kernel score of the energy kernel in Triton: the GPU twin of `pairwise.row_scores`.

A few hundred rows of a few normals are little work for a GPU: a training step pays per launch. One
launch computes the score and all its derivatives, which the backward pass only has to multiply.
"""

from __future__ import annotations

from typing import Any, cast

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

MOST_NORMALS = 32  # per row; a program visits their pairs in an unrolled loop
_BLOCK = 128  # normals per program, one for each of its threads
_WARPS = 4
_TINY = 1e-30  # smallest variance, as in `EnergyKernel`


@triton.jit
def _value_and_grad(distance, variance, TINY: tl.constexpr):
    """``E|D|`` and its derivatives in distance and variance, as in `EnergyKernel`."""
    scale = tl.sqrt(tl.maximum(variance, TINY))
    z = distance / scale
    density = 0.3989422804014327 * tl.exp(-0.5 * z * z)
    spread = tl.erf(0.7071067811865476 * z)
    return distance * spread + 2.0 * scale * density, spread, density / scale


@triton.jit(do_not_specialize=["rows"])
def _score(
    y, weights, means, scales, scores, grads, rows,
    weights_row, weights_normal, means_row, means_normal, scales_row, scales_normal,
    K: tl.constexpr, ROWS: tl.constexpr, NORMALS: tl.constexpr, TINY: tl.constexpr,
):  # fmt: skip
    """Scores of some rows, and their derivatives in weight, mean and scale of every normal."""
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
    away, target_by_distance, target_by_var = _value_and_grad(mean - target, variance, TINY)

    # How much farther from the target than from the prediction: in differences it does no harm
    # that weights add up to 1 only up to rounding.
    farther = tl.zeros_like(mean)
    by_mean = tl.zeros_like(mean)
    by_variance = tl.zeros_like(mean)
    for other in tl.static_range(K):
        share = tl.load(weights + other * weights_normal, mask=row, other=0.0)
        distance = mean - tl.load(means + other * means_normal, mask=row, other=0.0)
        spread = tl.load(scales + other * scales_normal, mask=row, other=1.0)
        apart, pair_by_distance, pair_by_var = _value_and_grad(
            distance, variance + spread * spread, TINY
        )
        farther += share * (away - apart)
        by_mean += share * (target_by_distance - pair_by_distance)
        by_variance += share * (target_by_var - pair_by_var)

    # E|Y - y| once more than in `farther`: 2 E|Y - y| - E|Y - Y'| in all.
    expected = tl.sum(weight * away, axis=1, keep_dims=True)
    tl.store(scores + i, tl.sum(weight * (farther + expected), axis=1, keep_dims=True), mask=row)
    grads += i * K + k
    plane = rows.to(tl.int64) * K
    tl.store(grads, 2.0 * farther, mask=here)
    tl.store(grads + plane, 2.0 * weight * by_mean, mask=here)
    tl.store(grads + 2 * plane, 4.0 * weight * scale * by_variance, mask=here)


def energy_score(weights: Tensor, means: Tensor, scales: Tensor, y: Tensor) -> Tensor:
    """``2 E|Y - y| - E|Y - Y'|`` per row, (..., n), in float32.

    Parameters
    ----------
    weights, means, scales : tensors of shape (..., n, K), K at most `MOST_NORMALS`
        Mixtures of K normals; the weights of a row add up to 1, and may be shared, (K,).
    y : tensor of shape (..., n) or (n,)
    """
    return cast(Tensor, _EnergyScore.apply(weights.expand_as(means), means, scales, y))


class _EnergyScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, means: Tensor, scales: Tensor, y: Tensor) -> Tensor:
        *batch, k = means.shape
        # The parts of one network output are interleaved: strides avoid copies.
        parts = [part.float().reshape(-1, k) for part in (weights, means, scales)]
        targets = y.float().expand(batch).contiguous()
        scores, grads = torch.empty_like(targets), targets.new_empty(3, *means.shape)
        normals = triton.next_power_of_2(k)
        rows = _BLOCK // normals
        _score[(triton.cdiv(targets.numel(), rows),)](
            targets, *parts, scores, grads, targets.numel(),
            *(stride for part in parts for stride in part.stride()),
            K=k, ROWS=rows, NORMALS=normals, TINY=_TINY, num_warps=_WARPS,
        )  # fmt: skip
        ctx.save_for_backward(grads)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (grads,) = ctx.saved_tensors
        return *(grads * upstream[..., None]).unbind(), None
