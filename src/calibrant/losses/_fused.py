"""Matching of all pairs without a matrix of pairs: values and gradients in one pass.

For every target and every normal P of a prediction the pass adds up over all targets and normals::

    S_P = sum_Q a_Q K(z_P, z_Q) E k(P, Q)

for normals with the derivatives by the mean and the variance of P. The squared MMD is
``sum_P a_P S_P``, and by symmetry its derivative by anything of P is twice ``a_P`` times that of
S_P.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.kernels import GaussianKernel, Kernel, condition_kernel
from calibrant.losses._device import in_triton
from calibrant.losses._difference import Difference

_CPU_ELEMENTS = 1 << 16  # pairs at a time: temporaries of a quarter to half a megabyte
_GPU_ELEMENTS = 1 << 22


class Sums(NamedTuple):
    """What a pass adds up, in float64."""

    targets: Tensor  # (B,), sum of a_P S_P over the targets
    normals: tuple[Tensor, Tensor, Tensor]  # S_P of the normals, its derivatives, each (B, n, K)


def fused_v(
    difference: Difference, kernel: Kernel, condition: Tensor | None, *, diagonal: bool
) -> Tensor:
    """Sum over pairs of rows, with or without i = j, (B,), in memory linear in n.

    In blocks of pairs, which stay in the cache of a CPU; in Triton on a CUDA device, for Gaussian
    kernels and numbers that are not in float64.
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
        add_up = _choose(kernel, means)
        difference = Difference(y, share, means, variances, masses)
        targets, normals = add_up(difference, kernel, condition, diagonal)
        ctx.save_for_backward(masses, *normals)
        value: Tensor = targets + (masses * normals[0]).sum(dim=(1, 2))
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        masses, value, by_mean, by_variance = ctx.saved_tensors
        twice = 2.0 * upstream[0][:, None, None]
        factors = twice * masses, twice * masses, twice
        gradients = [
            (factor * each).to(masses.dtype) if needed else None
            for factor, each, needed in zip(
                factors, (by_mean, by_variance, value), ctx.needs_input_grad, strict=False
            )
        ]
        return (*gradients, None, None, None, None, None)


def _choose(kernel: Kernel, means: Tensor) -> Any:
    if isinstance(kernel, GaussianKernel) and in_triton(means):
        from calibrant.losses._triton import add_up_pairs as on_gpu

        return on_gpu
    return add_up_pairs


def add_up_pairs(
    difference: Difference, kernel: Kernel, condition: Tensor | None, diagonal: bool
) -> Sums:
    """All sums, block of rows by block of rows."""
    y, share, means, variances, masses = difference
    nothing = y.new_zeros(())
    targets, normals = [], []
    for some, weight in _blocks(difference, condition, diagonal):
        # (B, block, n) for targets; (B, block, K, n, K') for normals, K' = 1 against targets
        of_targets = weight * share[:, None]
        values = kernel.expectation(y[:, some, None] - y[:, None], nothing)
        of_rows = (share[:, some] * (of_targets * values).sum(dim=-1)).double().sum(dim=-1)
        mean, variance = means[:, some, :, None, None], variances[:, some, :, None, None]
        slopes = kernel.slopes(mean - y[:, None, None, :, None], variance)
        mixed = _weighted(slopes, of_targets[:, :, None, :, None])
        slopes = kernel.slopes(mean - means[:, None, None], variance + variances[:, None, None])
        among = _weighted(slopes, weight[:, :, None, :, None] * masses[:, None, None])
        targets.append(of_rows + (masses[:, some] * mixed[0]).sum(dim=(1, 2)))
        normals.append([m + a for m, a in zip(mixed, among, strict=True)])
    value, by_mean, by_variance = (torch.cat(each, dim=1) for each in zip(*normals, strict=True))
    return Sums(torch.stack(targets).sum(dim=0), (value, by_mean, by_variance))


def _blocks(
    difference: Difference, condition: Tensor | None, diagonal: bool
) -> Iterator[tuple[slice, Tensor]]:
    """Slices of the rows with the weights of their pairs, (B, block, n)."""
    batches, rows, k = difference.means.shape
    elements = _CPU_ELEMENTS if difference.y.device.type == "cpu" else _GPU_ELEMENTS
    block = max(1, elements // (batches * rows * k * k))
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
