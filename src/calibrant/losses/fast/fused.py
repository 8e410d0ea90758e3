"""Matching of all pairs without a matrix of pairs: values and gradients in one pass.

For every target and every normal P of a prediction the pass sums over all targets and normals::

    S_P = sum_Q a_Q K(z_P, z_Q) E k(P, Q)

and, if P is a normal, the derivatives of S_P with respect to its mean and variance. The squared
MMD is ``sum_P a_P S_P``, and by symmetry its derivative with respect to any parameter of P is twice
``a_P`` times that of S_P.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.kernels import Kernel, condition_kernel
from calibrant.losses.fast.chunks import CPU_ELEMENTS, GPU_ELEMENTS, Chunks, over_chunks
from calibrant.losses.fast.signed_measure import SignedMeasure


class Sums(NamedTuple):
    """The sums of a pass, in float64."""

    targets: Tensor  # (B,), sum of a_P S_P over the targets
    normals: tuple[Tensor, ...]  # S_P of the normals and its derivatives, (B, n, K) each


SumPairs = Callable[[SignedMeasure, Any, Tensor | None, bool], Sums]


def sum_pairs(
    measure: SignedMeasure, kernel: Kernel, condition: Tensor | None, diagonal: bool
) -> Sums:
    """Sum over all pairs in plain torch, a block of rows at a time."""
    y, y_masses, means, variances, masses = measure
    batches, n, k = means.shape
    zero = y.new_zeros(())

    def block(rows: slice) -> tuple[Tensor, ...]:
        # (B, block, n) for targets; (B, block, K, n, K') for normals, K' = 1 against targets
        weight = _pair_weights(measure, condition, rows, diagonal)
        of_targets = weight * y_masses[:, None]
        values = kernel.expectation(y[:, rows, None] - y[:, None], zero)
        targets = (y_masses[:, rows] * (of_targets * values).sum(dim=-1)).double().sum(dim=-1)
        mean, variance = means[:, rows, :, None, None], variances[:, rows, :, None, None]
        grads = kernel.value_and_grad(mean - y[:, None, None, :, None], variance)
        mixed = _weighted(grads, of_targets[:, :, None, :, None])
        grads = kernel.value_and_grad(
            mean - means[:, None, None], variance + variances[:, None, None]
        )
        among = _weighted(grads, weight[:, :, None, :, None] * masses[:, None, None])
        targets = targets + (masses[:, rows] * mixed[0]).sum(dim=(1, 2))
        return targets, *(m + a for m, a in zip(mixed, among, strict=True))

    elements = CPU_ELEMENTS if y.device.type == "cpu" else GPU_ELEMENTS
    blocks = over_chunks(block, n, Chunks("pairs", batches * n * k * k, elements, fewest=1))
    targets, *normals = zip(*blocks, strict=True)
    return Sums(torch.stack(targets).sum(dim=0), tuple(torch.cat(each, dim=1) for each in normals))


def fused_mmd(
    measure: SignedMeasure,
    kernel: Kernel,
    condition: Tensor | None,
    *,
    diagonal: bool,
    sum_pairs: SumPairs = sum_pairs,
) -> Tensor:
    """Sum over pairs of rows, with or without i = j, (B,), in memory linear in n.

    Parameters
    ----------
    condition : tensor of shape (B, n, d), in units of the root of its bandwidth, or None
    sum_pairs : callable
        The pass; `triton_pairs` has one for a GPU.
    """
    means, variances, masses = measure.means, measure.variances, measure.masses
    constants = measure.y, measure.y_masses, kernel, condition, diagonal, sum_pairs
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
        y_masses: Tensor,
        kernel: Kernel,
        condition: Tensor | None,
        diagonal: bool,
        sum_pairs: SumPairs,
    ) -> Tensor:
        measure = SignedMeasure(y, y_masses, means, variances, masses)
        targets, normals = sum_pairs(measure, kernel, condition, diagonal)
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
        return (*gradients, *(None for _ in range(6)))


def _pair_weights(
    measure: SignedMeasure, condition: Tensor | None, rows: slice, diagonal: bool
) -> Tensor:
    """Weights of the pairs of some rows with all rows, (B, block, n)."""
    batches, n = measure.y.shape
    if condition is None:
        weight = measure.y.new_ones(batches, rows.stop - rows.start, n)
    else:
        weight = condition_kernel(condition, rows=rows)
    if not diagonal:
        weight.diagonal(rows.start, 1, 2).zero_()
    return weight


def _weighted(grads: tuple[Tensor, Tensor, Tensor], weight: Tensor) -> list[Tensor]:
    return [(weight * each).flatten(3).sum(dim=3).double() for each in grads]
