"""Matching of all pairs without a matrix of pairs: values and gradients in one pass.

For every normal P of a prediction the pass adds up over the targets, and over the predictions::

    S_P = sum_Q a_Q K(z_P, z_Q) E k(P, Q)

with its derivatives by the mean and the variance of P. The squared MMD is ``sum_P a_P S_P`` over
targets and predictions alike, and by symmetry its derivative by anything of P is twice ``a_P``
times that of S_P.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.kernels import GaussianKernel, Kernel, condition_kernel
from calibrant.losses._difference import Difference

_ELEMENTS = 1 << 16  # pairs at a time: temporaries of a quarter to half a megabyte


class Sums(NamedTuple):
    """What a pass adds up, in float64."""

    targets: Tensor  # (B,), over pairs of targets, masses of both included
    mixed: tuple[Tensor, Tensor, Tensor]  # S_P over targets, its two derivatives, each (B, n, K)
    among: tuple[Tensor, Tensor, Tensor]  # the same over predictions


def fused_v(
    difference: Difference, kernel: Kernel, condition: Tensor | None, *, diagonal: bool
) -> Tensor:
    """Sum over pairs of rows, with or without i = j, (B,), in memory linear in n.

    On a CPU in blocks of pairs that stay in the cache; on a CUDA device, for Gaussian kernels,
    in Triton.
    """
    means, variances, masses = difference.means, difference.variances, difference.masses
    constants = difference.y, difference.share, kernel, condition, diagonal
    value: Tensor = _Fused.apply(means, variances, masses, *constants)  # type: ignore[no-untyped-call]
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
        condition: Tensor | None,
        diagonal: bool,
    ) -> Tensor:
        add_up = _choose(kernel, means.device)
        difference = Difference(y, share, means, variances, masses)
        targets, mixed, among = add_up(difference, kernel, condition, diagonal)
        # a_P S_P of the predictions holds each target-prediction pair once, and it counts twice.
        value: Tensor = targets + (masses.double() * (2.0 * mixed[0] + among[0])).sum(dim=(1, 2))
        if any(ctx.needs_input_grad[:3]):
            sums = [2.0 * (m + a) for m, a in zip(mixed, among, strict=True)]
            ctx.save_for_backward(masses * sums[1], masses * sums[2], sums[0])
        ctx.dtype = means.dtype
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [(upstream[0][:, None, None] * g).to(ctx.dtype) for g in ctx.saved_tensors]
        return (*gradients, None, None, None, None, None)


def _choose(kernel: Kernel, device: torch.device) -> Any:
    if device.type == "cuda" and isinstance(kernel, GaussianKernel):
        try:
            from calibrant.losses._triton import add_up_pairs as on_gpu
        except ImportError:  # torch without Triton
            return add_up_pairs
        return on_gpu
    return add_up_pairs


def add_up_pairs(
    difference: Difference, kernel: Kernel, condition: Tensor | None, diagonal: bool
) -> Sums:
    """All sums, block of rows by block of rows."""
    y, share, means, variances, masses = difference
    nothing = y.new_zeros(())
    targets, mixed, among = [], [], []
    for some, weight in _blocks(difference, condition, diagonal):
        # (B, block, n) for targets; (B, block, K, n, K') for normals, K' = 1 against targets
        of_targets = weight * share[:, None]
        values = kernel.expectation(y[:, some, None] - y[:, None], nothing)
        targets.append((share[:, some] * (of_targets * values).sum(dim=-1)).double().sum(dim=-1))
        mean, variance = means[:, some, :, None, None], variances[:, some, :, None, None]
        slopes = kernel.slopes(mean - y[:, None, None, :, None], variance)
        mixed.append(_weighted(slopes, of_targets[:, :, None, :, None]))
        slopes = kernel.slopes(mean - means[:, None, None], variance + variances[:, None, None])
        among.append(_weighted(slopes, weight[:, :, None, :, None] * masses[:, None, None]))
    return Sums(torch.stack(targets).sum(dim=0), _joined(mixed), _joined(among))


def _blocks(
    difference: Difference, condition: Tensor | None, diagonal: bool
) -> Iterator[tuple[slice, Tensor]]:
    """Slices of the rows with the weights of their pairs, (B, block, n)."""
    batches, rows, k = difference.means.shape
    block = max(1, _ELEMENTS // (batches * rows * k * k))
    for start in range(0, rows, block):
        some = slice(start, min(start + block, rows))
        if condition is None:
            weight = difference.y.new_ones(batches, some.stop - start, rows)
        else:
            weight = condition_kernel(condition, rows=some)
        if not diagonal:
            weight.diagonal(start, 1, 2).zero_()
        yield some, weight


def _weighted(slopes: tuple[Tensor, Tensor, Tensor], weight: Tensor) -> list[Tensor]:
    return [(weight * each).flatten(3).sum(dim=3).double() for each in slopes]


def _joined(parts: list[list[Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    value, by_mean, by_variance = (torch.cat(each, dim=1) for each in zip(*parts, strict=True))
    return value, by_mean, by_variance
