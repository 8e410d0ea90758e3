"""Matching of all pairs without a matrix of pairs: values and gradients in one pass.

For every particle P, a target or a normal of a prediction, the pass adds up over the others::

    S_P = sum_Q a_Q K(z_P, z_Q) E k(P, Q)

and its derivatives by the mean and the variance of P. The squared MMD is ``sum_P a_P S_P``, and
by symmetry its derivative by anything of P is twice ``a_P`` times that of S_P.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.kernels import GaussianKernel, Kernel, condition_kernel
from calibrant.losses._condition import Condition
from calibrant.losses._difference import Difference

_ELEMENTS = 1 << 16  # pairs at a time: temporaries of a quarter to half a megabyte


class Points(NamedTuple):
    """K normals in each of n rows; targets are one normal of no variance."""

    means: Tensor  # (B, n, K)
    variances: Tensor  # (B, n, K)
    masses: Tensor  # (B, n, K)


class Sums(NamedTuple):
    """Sums over the others for each of n rows and K normals, (B, n, K), in float64."""

    value: Tensor
    by_mean: Tensor
    by_variance: Tensor


def fused_v(difference: Difference, kernel: Kernel, condition: Condition | None) -> Tensor:
    """Squared MMD, V-statistic, (B,), in memory linear in n.

    On a CPU in blocks of pairs that stay in the cache; on a CUDA device, for Gaussian kernels,
    in one Triton kernel.
    """
    y, share, means, variances, masses = difference
    arguments = means, variances, masses, y, share, kernel, condition
    value: Tensor = _Fused.apply(*arguments)  # type: ignore[no-untyped-call]
    return value


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        means: Tensor,
        variances: Tensor,
        masses: Tensor,
        y: Tensor,
        share: Tensor,
        kernel: Kernel,
        condition: Condition | None,
    ) -> Tensor:
        targets = Points(y[..., None], torch.zeros_like(y)[..., None], share[..., None])
        predicted = Points(means, variances, masses)
        add_up = _choose(kernel, means.device)
        alone = add_up(targets, targets, kernel, condition).value
        mixed = add_up(predicted, targets, kernel, condition)
        among = add_up(predicted, predicted, kernel, condition)
        # a_P S_P of the predictions holds each target-prediction pair once, and it counts twice.
        value = _total(targets.masses, alone) + _total(masses, 2.0 * mixed.value + among.value)
        if any(ctx.needs_input_grad[:3]):
            sums = [2.0 * (m + a) for m, a in zip(mixed, among, strict=True)]
            ctx.save_for_backward(masses * sums[1], masses * sums[2], sums[0])
        ctx.dtype = means.dtype
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [(upstream[0][:, None, None] * g).to(ctx.dtype) for g in ctx.saved_tensors]
        return (*gradients, None, None, None, None)


def _total(masses: Tensor, sums: Tensor) -> Tensor:
    return (masses.double() * sums).sum(dim=(1, 2))


def _choose(kernel: Kernel, device: torch.device) -> Any:
    if device.type == "cuda" and isinstance(kernel, GaussianKernel):
        try:
            from calibrant.losses._triton import add_up_pairs as on_gpu
        except ImportError:  # torch without Triton
            return add_up_pairs
        return on_gpu
    return add_up_pairs


def add_up_pairs(left: Points, right: Points, kernel: Kernel, condition: Condition | None) -> Sums:
    """Sums over `right` for every point of `left`, block by block."""
    batches, rows, k_left = left.means.shape
    _, others, k_right = right.means.shape
    block = max(1, _ELEMENTS // (batches * others * k_left * k_right))
    parts = []
    for start in range(0, rows, block):
        some = slice(start, start + block)
        # (B, block, K, 1, 1) against (B, 1, 1, n, K')
        distance = left.means[:, some, :, None, None] - right.means[:, None, None]
        variance = left.variances[:, some, :, None, None] + right.variances[:, None, None]
        weight = right.masses[:, None, None]
        if condition is not None:
            nearness = condition_kernel(condition.z, condition.bandwidth, rows=some)
            weight = weight * nearness[:, :, None, :, None]
        slopes = kernel.slopes(distance, variance)
        parts.append([(weight * each).sum(dim=(3, 4), dtype=torch.float64) for each in slopes])
    return Sums(*(torch.cat(each, dim=1) for each in zip(*parts, strict=True)))
