"""Marginal matching with wide kernels, in linear time: moments of positions and variances.

A wave that turns little over the range of the data is a short power series, so that the
characteristic functions at all frequencies follow from a few moments::

    sum_j c_j e^{i w m_j - w^2 v_j / 2}
        = sum_kl (i w)^k / k! (-w^2 / 2)^l / l! sum_j c_j m_j^k v_j^l

A moment costs a product a row, a wave a sine, a cosine and an exponential.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.special import gammaln
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.losses._difference import Difference
from calibrant.losses._spectral import ERROR, Array, Waves, as_tensors, by_chunks

_ELEMENTS = 1 << 18  # powers at a time: two megabytes, in few calls
_MOST = 128  # powers; within the limits below some sixty are the most


def has_few_moments(bandwidth: float, reach: float, variance: float) -> bool:
    """Whether the series of a kernel is short, and its terms are too small to cancel."""
    return reach <= 6.0 * math.sqrt(bandwidth) and variance <= 0.25 * bandwidth


def moments_v(
    difference: Difference, chosen: Sequence[Waves], reach: float, variance: float
) -> Tensor:
    """Squared MMD, V-statistic, (B,): the sum over the kernels that `chosen` stands for.

    Parameters
    ----------
    chosen : sequence of Waves
        Of kernels that have few moments.
    reach, variance : float
        Largest distance between two positions and largest variance.
    """
    y, share, means, variances, masses = (part.flatten(1).double() for part in difference)
    w, weight = as_tensors(chosen, y.device)
    highest = float(w.max())
    # Positions and variances in [-1, 1]; also where there is a single one of them.
    radius = max(0.5 * reach, 0.01 / highest)
    spread = max(0.5 * variance, 0.01 / highest**2)
    low, high = difference.ends()
    centre = (0.5 * (low + high)).double()[:, None]
    angle, decay = w * radius, 0.5 * spread * w.square()
    turning, damping = _series(angle, weight), _series(-decay, weight)  # (Q, K), (Q, L)
    damping = torch.exp(-decay)[:, None] * damping
    orders = turning.shape[1], damping.shape[1]
    with torch.no_grad():
        of_targets = _add_up((y - centre) / radius, torch.zeros_like(y), share, (orders[0], 1))
    of_normals: Tensor = _Moments.apply(  # type: ignore[no-untyped-call]
        (means - centre) / radius, variances / spread - 1.0, masses, orders
    )
    moments = of_targets[..., 0][:, None] + damping @ of_normals.mT  # (B, Q, K)
    # Powers of i: 1, i, -1, -i.
    real = torch.tensor([1.0, 0.0, -1.0, 0.0]).repeat(_MOST // 4)[: orders[0]].to(w)
    imaginary = torch.tensor([0.0, 1.0, 0.0, -1.0]).repeat(_MOST // 4)[: orders[0]].to(w)
    terms = turning * moments
    cosine, sine = terms @ real, terms @ imaginary
    return (weight * (cosine.square() + sine.square())).sum(dim=-1)


def _series(x: Tensor, weight: Tensor) -> Tensor:
    """``x^k / k!``, (Q, K), up to the K that makes the kernels exact to 2e-13."""
    size, mass = x.abs().cpu().numpy()[:, None], weight.cpu().numpy()
    k: Array = np.arange(float(_MOST))
    left = 4.0 * mass @ np.exp(k * np.log(size) - gammaln(k + 1.0))
    # The terms of one frequency may grow before they fall.
    order = max(2, int(np.flatnonzero(left > ERROR).max(initial=0)) + 1)
    exponents = torch.arange(order, dtype=x.dtype, device=x.device)
    return x[:, None] ** exponents / torch.exp(torch.lgamma(exponents + 1.0))


class _Moments(torch.autograd.Function):
    """``sum_j c_j x_j^k u_j^l``, (B, K, L), in chunks of rows, and again for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, u: Tensor, masses: Tensor, orders: tuple[int, int]) -> Tensor:
        ctx.save_for_backward(x, u, masses)
        return _add_up(x, u, masses, orders)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        x, u, masses = ctx.saved_tensors
        by_mass, by_x, by_u = _evaluate(x, u, upstream[0])
        return masses * by_x, masses * by_u, by_mass, None


def _add_up(x: Tensor, u: Tensor, masses: Tensor, orders: tuple[int, int]) -> Tensor:
    @torch.no_grad()
    def part(rows: slice) -> Tensor:
        right = _powers(u[:, rows], orders[1]).mul_(masses[:, None, rows])
        return _powers(x[:, rows], orders[0]) @ right.mT

    return torch.stack(by_chunks(part, x, _ELEMENTS // orders[0])).sum(dim=0)


def _evaluate(x: Tensor, u: Tensor, factors: Tensor) -> Tensor:
    """The polynomial ``sum_kl F_kl x^k u^l`` and its derivatives by x and u, (3, B, N)."""
    _, order, columns = factors.shape
    number = torch.arange(1.0, order, dtype=x.dtype, device=x.device)[:, None]
    slope = torch.zeros_like(factors)
    slope[:, :-1] = number * factors[:, 1:]
    both = torch.cat([factors, slope], dim=2).mT.contiguous()  # (B, 2 L, K)
    number = torch.arange(1.0, columns, dtype=x.dtype, device=x.device)[:, None]

    @torch.no_grad()
    def part(rows: slice) -> Tensor:
        value, by_x = (both @ _powers(x[:, rows], order)).chunk(2, dim=1)  # (B, L, chunk) each
        powers = _powers(u[:, rows], columns)
        by_u = (number * value[:, 1:] * powers[:, :-1]).sum(dim=1)
        return torch.stack([(value * powers).sum(dim=1), (by_x * powers).sum(dim=1), by_u])

    return torch.cat(by_chunks(part, x, _ELEMENTS // order), dim=-1)


def _powers(x: Tensor, count: int) -> Tensor:
    """``x^0`` to ``x^(count - 1)``, (B, count, chunk), twice as many with every product."""
    powers = x.new_empty(x.shape[0], count, x.shape[1])
    powers[:, 0] = 1.0
    if count > 1:
        powers[:, 1] = x
    known = 2
    while known < count:
        more = min(known - 1, count - known)
        top = powers[:, known - 1 : known]
        torch.mul(powers[:, 1 : more + 1], top, out=powers[:, known : known + more])
        known += more
    return powers
