"""Marginal matching in linear time, through characteristic functions.

With frequencies w and weights A of a kernel the squared MMD is a weighted sum of squared
differences between the characteristic functions of targets and predictions::

    MMD^2 = sum_q A_q | sum_j c_j e^{i w y_j} - sum_j c_j e^{i w mu_j - w^2 s_j^2 / 2} |^2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.losses.fast.chunks import CPU_ELEMENTS, GPU_ELEMENTS, Chunks, over_chunks
from calibrant.losses.fast.frequencies import Frequencies, as_tensors
from calibrant.losses.fast.signed_measure import SignedMeasure

_KEPT = 1 << 21  # waves of rows, 32 MiB, up to which they are kept for the backward pass


def characteristic_mmd(measure: SignedMeasure, rules: Sequence[Frequencies]) -> Tensor:
    """Squared MMD, V-statistic, (B,), of the sum of the kernels that `rules` are for."""
    y, y_masses, means, variances, masses = (part.flatten(1).double() for part in measure)
    w, weights = as_tensors(rules, y.device)
    with torch.no_grad():
        of_targets = _transform(y, None, y_masses, w, None)
    of_normals = characteristic_of_normals(means, variances, masses, w)
    cosine, sine = (a + b for a, b in zip(of_targets, of_normals, strict=True))
    return (weights * (cosine.square() + sine.square())).sum(dim=-1)


def characteristic_of_normals(
    means: Tensor, variances: Tensor, masses: Tensor, w: Tensor
) -> tuple[Tensor, Tensor]:
    """Cosine and sine parts for weighted normals (B, N), each (B, Q)."""
    parts: tuple[Tensor, Tensor] = _Characteristic.apply(means, variances, masses, w)  # type: ignore[no-untyped-call]
    return parts


def waves(positions: Tensor, variances: Tensor | None, w: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine parts of ``E e^{i w Y}``, each (B, Q, N)."""
    angle = w[:, None] * positions[:, None, :]
    cosine, sine = torch.cos(angle), torch.sin(angle)
    if variances is None:
        return cosine, sine
    damping = torch.exp((-0.5 * w.square())[:, None] * variances[:, None, :])
    return damping * cosine, damping * sine


class _Characteristic(torch.autograd.Function):
    """Two passes in chunks: one sums the waves, one computes the gradient of every row.

    A few waves are kept for the second pass; many are computed again.
    """

    @staticmethod
    def forward(
        ctx: Any, means: Tensor, variances: Tensor, masses: Tensor, w: Tensor
    ) -> tuple[Tensor, Tensor]:
        kept: list[Tensor] = []
        keep = any(ctx.needs_input_grad) and means.numel() * len(w) <= _KEPT
        sums = _transform(means, variances, masses, w, kept if keep else None)
        ctx.save_for_backward(means, variances, masses, w, *kept)
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cosine: Tensor, sine: Tensor) -> tuple[Tensor | None, ...]:
        means, variances, masses, w, *kept = ctx.saved_tensors
        return *_gradients(means, variances, masses, w, cosine, sine, kept), None


def _transform(
    positions: Tensor,
    variances: Tensor | None,
    masses: Tensor,
    w: Tensor,
    kept: list[Tensor] | None,
) -> tuple[Tensor, Tensor]:
    """Both parts, each (B, Q); appends the waves of the chunks to `kept`."""

    def transform(rows: slice) -> Tensor:
        spread = None if variances is None else variances[:, rows]
        chunk = waves(positions[:, rows], spread, w)
        if kept is not None:
            kept.extend(chunk)
        return torch.stack([(each @ masses[:, rows, None])[..., 0] for each in chunk])

    batches, rows = positions.shape
    parts = over_chunks(transform, rows, _chunks("waves", batches, w))
    cosine, sine = torch.stack(parts).sum(dim=0)
    return cosine, sine


def _gradients(
    means: Tensor,
    variances: Tensor,
    masses: Tensor,
    w: Tensor,
    cosine: Tensor,
    sine: Tensor,
    kept: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of means, variances and masses, given those of the two parts."""
    stored = iter(kept)
    curvature = -0.5 * w.square()
    # Factors of the waves in the derivatives with respect to mass, mean and variance.
    with_cosine = torch.stack([cosine, w * sine, curvature * cosine], dim=1)
    with_sine = torch.stack([sine, -w * cosine, curvature * sine], dim=1)

    def gradient(rows: slice) -> Tensor:
        if kept:
            c, s = next(stored), next(stored)
        else:
            c, s = waves(means[:, rows], variances[:, rows], w)
        return torch.baddbmm(with_cosine @ c, with_sine, s)

    batches, rows = means.shape
    parts = over_chunks(gradient, rows, _chunks("waves, gradient", batches, w))
    sums = torch.cat(parts, dim=-1)  # (B, 3, N)
    return masses * sums[:, 1], masses * sums[:, 2], sums[:, 0]


def _chunks(name: str, batches: int, w: Tensor) -> Chunks:
    elements = CPU_ELEMENTS if w.device.type == "cpu" else GPU_ELEMENTS
    return Chunks(name, batches * len(w), elements)
