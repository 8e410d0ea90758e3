"""Marginal matching in linear time, through characteristic functions.

A Gaussian kernel is a mixture of waves, so the squared MMD is a weighted sum over frequencies of
the squared difference between the characteristic functions of targets and predictions::

    MMD^2 = sum_q A_q | sum_j c_j e^{i w y_j} - sum_j c_j e^{i w mu_j - w^2 s_j^2 / 2} |^2
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.losses._difference import Difference

Array = NDArray[np.float64]

ERROR = 2e-13  # of a kernel value; two measures of mass 1 make it at most four times that
TAIL = math.sqrt(-2.0 * math.log(ERROR))  # where exp(-x^2 / 2) falls below it
_MOST_HERMITE = 40
_CPU_ELEMENTS = 1 << 16  # of one temporary: half a megabyte stays in a core's cache
_GPU_ELEMENTS = 1 << 22
_MANY = 1 << 17  # rows from which on waves are computed in float32
_KEPT = 1 << 21  # waves of rows, 32 MiB, up to which the backward pass need not make them again


class Waves(NamedTuple):
    """Positive frequencies and weights with ``k(d) - k(0) = sum_q A_q (cos(w_q d) - 1)``."""

    frequencies: Array
    weights: Array


def waves(bandwidth: float, reach: float, variance: float) -> Waves:
    """Frequencies for one Gaussian kernel, exact to 2e-13 for the data at hand.

    Gauss-Hermite nodes where the kernel is wide, the trapezoidal rule where it is narrow,
    whichever needs fewer.

    Parameters
    ----------
    bandwidth : float
        The h of ``exp(-d^2 / (2 h))``.
    reach : float
        Largest distance between two positions.
    variance : float
        Largest variance of a prediction.
    """
    root = math.sqrt(bandwidth)
    # Rounded up, so that batches of nearly the same range share their nodes.
    distance, ratio = _round_up(reach / root), _round_up(2.0 * variance / bandwidth)
    unit = _unit_waves(distance, ratio)
    return Waves(unit.frequencies / root, unit.weights)


def count_waves(bandwidth: float, reach: float, variance: float) -> float:
    """About how many waves a kernel needs; narrow ones need many."""
    return _period(reach / math.sqrt(bandwidth), 2.0 * variance / bandwidth) * TAIL / math.tau


def _round_up(value: float) -> float:
    return float(2.0 ** (math.ceil(4.0 * math.log2(value)) / 4.0)) if value > 1e-3 else 1e-3


@lru_cache(maxsize=256)
def _unit_waves(distance: float, ratio: float) -> Waves:
    """Waves for h = 1, distances up to `distance` and variances of a pair up to `ratio`."""
    trapezoid = _trapezoid(distance, ratio)
    most = min(_MOST_HERMITE, 2 * len(trapezoid.frequencies))
    for count in range(2, most):
        hermite = _hermite(count)
        if _error(hermite, distance, ratio) <= ERROR:
            return hermite
    return trapezoid


@lru_cache(maxsize=_MOST_HERMITE)
def _hermite(count: int) -> Waves:
    nodes, weights = (np.asarray(each, float) for each in np.polynomial.hermite.hermgauss(count))
    positive = nodes > 1e-9  # -w mirrors w, and at w = 0 all masses add up to nothing
    return Waves(math.sqrt(2.0) * nodes[positive], 2.0 * weights[positive] / math.sqrt(math.pi))


def _trapezoid(distance: float, ratio: float) -> Waves:
    """Equal steps: the kernel is repeated with a period that keeps its copies out of reach."""
    step = math.tau / _period(distance, ratio)
    w: Array = step * np.arange(1.0, math.ceil(TAIL / step) + 1.0)
    density: Array = np.exp(-0.5 * w**2) / math.sqrt(2.0 * math.pi)
    return Waves(w, 2.0 * step * density)


def _period(distance: float, ratio: float) -> float:
    return distance + TAIL * math.sqrt(1.0 + ratio)


def _error(candidate: Waves, distance: float, ratio: float) -> float:
    """Largest error of ``E k(D) - 1`` over distances and variances."""
    w, weight = candidate
    d = np.linspace(0.0, distance, 65)[:, None]
    v = np.array([0.0, 0.5 * ratio, ratio])
    truth = np.exp(-0.5 * d**2 / (1.0 + v)) / np.sqrt(1.0 + v) - 1.0
    damped = np.exp(-0.5 * np.multiply.outer(w**2, v))
    sums = np.einsum("q,qd,qv->dv", weight, np.cos(np.outer(w, d)), damped) - weight.sum()
    return float(np.abs(sums - truth).max())


def as_tensors(chosen: Sequence[Waves], device: torch.device) -> tuple[Tensor, Tensor]:
    """Frequencies and weights of several kernels, (Q,) each, in float64."""
    columns = zip(*chosen, strict=True)
    w, weight = (torch.as_tensor(np.concatenate(each), device=device) for each in columns)
    return w, weight


def spectral_v(difference: Difference, chosen: Sequence[Waves]) -> Tensor:
    """Squared MMD, V-statistic, (B,): the sum over the kernels that `chosen` stands for."""
    y, share, means, variances, masses = (part.flatten(1).double() for part in difference)
    w, weight = as_tensors(chosen, y.device)
    # One rounding of a wave among very many, added up in float64, is of no account.
    working = torch.float32 if means.shape[1] >= _MANY else torch.float64
    cosine, sine = transform(y.to(working), None, share, w)
    more = characteristic(means, variances, masses, w, working)
    power = (cosine + more[0]).square() + (sine + more[1]).square()
    return (weight * power).sum(dim=-1)


def characteristic(
    means: Tensor,
    variances: Tensor,
    masses: Tensor,
    w: Tensor,
    working: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor]:
    """Cosine and sine parts of the characteristic function of normals (B, N), each (B, Q)."""
    parts: tuple[Tensor, Tensor] = _Characteristic.apply(means, variances, masses, w, working)  # type: ignore[no-untyped-call]
    return parts


class _Characteristic(torch.autograd.Function):
    """Two passes in chunks: one adds up the waves, one gathers the gradient of every row.

    Waves are kept for the second pass where they are few, and made again where they are many.
    """

    @staticmethod
    def forward(
        ctx: Any,
        means: Tensor,
        variances: Tensor,
        masses: Tensor,
        w: Tensor,
        working: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        means, variances = means.to(working), variances.to(working)
        kept: list[Tensor] = []
        keeps = any(ctx.needs_input_grad) and means.numel() * len(w) <= _KEPT
        sums = transform(means, variances, masses, w, kept if keeps else None)
        ctx.save_for_backward(means, variances, masses, w, *kept)
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cosine: Tensor, sine: Tensor) -> tuple[Tensor | None, ...]:
        means, variances, masses, w, *kept = ctx.saved_tensors
        return (*_gather(means, variances, masses, w, cosine, sine, kept), None, None)


def transform(
    positions: Tensor,
    variances: Tensor | None,
    masses: Tensor,
    w: Tensor,
    kept: list[Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Cosine and sine parts of the characteristic function, each (B, Q).

    The waves of the chunks are added to `kept`, cosine and sine in turn.
    """

    @torch.no_grad()
    def part(rows: slice) -> Tensor:
        spread = None if variances is None else variances[:, rows]
        mass = masses[:, rows, None]
        waves = waves_at(positions[:, rows], spread, w)
        if kept is not None:
            kept.extend(waves)
        return torch.stack([(each.double() @ mass)[..., 0] for each in waves])

    cosine, sine = torch.stack(by_chunks(part, positions, _elements(w) // len(w))).sum(dim=0)
    return cosine, sine


def waves_at(positions: Tensor, variances: Tensor | None, w: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine parts of ``E e^{i w Y}``, each (B, Q, chunk)."""
    w = w.to(positions.dtype)
    angle = w[:, None] * positions[:, None, :]
    cosine, sine = torch.cos(angle), torch.sin(angle)
    if variances is None:
        return cosine, sine
    damping = torch.exp((-0.5 * w.square())[:, None] * variances[:, None, :])
    return damping * cosine, damping * sine


def _gather(
    means: Tensor,
    variances: Tensor,
    masses: Tensor,
    w: Tensor,
    cosine: Tensor,
    sine: Tensor,
    kept: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by means, variances and masses; those by the sums are `cosine` and `sine`."""
    waves = iter(kept)
    curvature = -0.5 * w.square()
    # Rows: what multiplies the waves in the derivative by mass, mean and variance.
    with_cosine = torch.stack([cosine, w * sine, curvature * cosine], dim=1).to(means.dtype)
    with_sine = torch.stack([sine, -w * cosine, curvature * sine], dim=1).to(means.dtype)

    @torch.no_grad()
    def part(rows: slice) -> Tensor:
        if kept:
            c, s = next(waves), next(waves)
        else:
            c, s = waves_at(means[:, rows], variances[:, rows], w)
        return torch.baddbmm(with_cosine @ c, with_sine, s)

    sums = torch.cat(by_chunks(part, means, _elements(w) // len(w)), dim=-1).double()  # (B, 3, N)
    return masses * sums[:, 1], masses * sums[:, 2], sums[:, 0]


def _elements(w: Tensor) -> int:
    return _CPU_ELEMENTS if w.device.type == "cpu" else _GPU_ELEMENTS


def by_chunks(part: Callable[[slice], Tensor], values: Tensor, at_once: int) -> list[Tensor]:
    """Results of `part` for slices of the rows, (B, N), of about `at_once` rows of all batches.

    One after another: threads of our own, each with torch's behind it, were slower than none.
    """
    batches, rows = values.shape
    size = max(16, at_once // batches)
    return [part(slice(start, start + size)) for start in range(0, rows, size)]
