"""Marginal matching with wide kernels, in linear time: moments of positions and variances.

A wave that turns little over the range of the data is a short power series, so that the
characteristic function at all frequencies follows from a few moments::

    sum_j c_j e^{i w m_j - w^2 v_j / 2}
        = sum_kl (i w)^k / k! (-w^2 / 2)^l / l! sum_j c_j m_j^k v_j^l

A moment costs one product per row, a wave a sine, a cosine and an exponential.
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

from calibrant.checks import Array
from calibrant.losses.fast.chunks import Chunks, over_chunks
from calibrant.losses.fast.frequencies import ERROR, Frequencies, as_tensors
from calibrant.losses.fast.signed_measure import Extent, SignedMeasure

_ELEMENTS = 1 << 18  # powers at a time: two megabytes, in few calls
_MOST = 128  # powers; about sixty are needed at the limits of `has_short_series`


def has_short_series(bandwidth: float, extent: Extent) -> bool:
    """Whether the series of a kernel is short, and its terms are too small to cancel."""
    near = extent.distance <= 6.0 * math.sqrt(bandwidth)
    return near and extent.variance <= 0.25 * bandwidth


def power_series_mmd(
    measure: SignedMeasure, rules: Sequence[Frequencies], extent: Extent
) -> Tensor:
    """Squared MMD, V-statistic, (B,), of the sum of the kernels that `rules` are for.

    All of them must have short series.
    """
    y, y_masses, means, variances, masses = (part.flatten(1).double() for part in measure)
    w, weights = as_tensors(rules, y.device)
    highest = float(w.max())
    # Positions and variances in [-1, 1], also where all of them are equal.
    radius = max(0.5 * extent.distance, 0.01 / highest)
    spread = max(0.5 * extent.variance, 0.01 / highest**2)
    low, high = measure.limits()
    centre = (0.5 * (low + high)).double()[:, None]
    angle, decay = w * radius, 0.5 * spread * w.square()
    turning, damping = _series(angle, weights), _series(-decay, weights)  # (Q, K), (Q, L)
    damping = torch.exp(-decay)[:, None] * damping
    orders = turning.shape[1], damping.shape[1]
    with torch.no_grad():
        of_targets = _moments((y - centre) / radius, torch.zeros_like(y), y_masses, (orders[0], 1))
    of_normals: Tensor = _Moments.apply(  # type: ignore[no-untyped-call]
        (means - centre) / radius, variances / spread - 1.0, masses, orders
    )
    moments = of_targets[..., 0][:, None] + damping @ of_normals.mT  # (B, Q, K)
    # Powers of i: 1, i, -1, -i.
    real = torch.tensor([1.0, 0.0, -1.0, 0.0]).repeat(_MOST // 4)[: orders[0]].to(w)
    imaginary = torch.tensor([0.0, 1.0, 0.0, -1.0]).repeat(_MOST // 4)[: orders[0]].to(w)
    terms = turning * moments
    cosine, sine = terms @ real, terms @ imaginary
    return (weights * (cosine.square() + sine.square())).sum(dim=-1)


def _series(x: Tensor, weights: Tensor) -> Tensor:
    """``x^k / k!``, (Q, K), up to the K that makes the kernels exact to 2e-13."""
    size, mass = x.abs().cpu().numpy()[:, None], weights.cpu().numpy()
    k: Array = np.arange(float(_MOST))
    left = 4.0 * mass @ np.exp(k * np.log(size) - gammaln(k + 1.0))
    # The terms of one frequency may grow before they fall.
    order = max(2, int(np.flatnonzero(left > ERROR).max(initial=0)) + 1)
    exponents = torch.arange(order, dtype=x.dtype, device=x.device)
    return x[:, None] ** exponents / torch.exp(torch.lgamma(exponents + 1.0))


class _Moments(torch.autograd.Function):
    """``sum_j c_j x_j^k u_j^l``, (B, K, L); its gradient computes the powers again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, u: Tensor, masses: Tensor, orders: tuple[int, int]) -> Tensor:
        ctx.save_for_backward(x, u, masses)
        return _moments(x, u, masses, orders)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        x, u, masses = ctx.saved_tensors
        by_mass, by_x, by_u = _polynomial(x, u, upstream[0])
        return masses * by_x, masses * by_u, by_mass, None


def _moments(x: Tensor, u: Tensor, masses: Tensor, orders: tuple[int, int]) -> Tensor:
    batches, rows = x.shape

    def moments(some: slice) -> Tensor:
        right = _powers(u[:, some], orders[1]).mul_(masses[:, None, some])
        return _powers(x[:, some], orders[0]) @ right.mT

    chunks = Chunks("moments", batches * orders[0], _ELEMENTS)
    return torch.stack(over_chunks(moments, rows, chunks)).sum(dim=0)


def _polynomial(x: Tensor, u: Tensor, factors: Tensor) -> Tensor:
    """``sum_kl F_kl x^k u^l`` and its partial derivatives in x and u, (3, B, N)."""
    batches, order, columns = factors.shape
    exponents = torch.arange(1.0, order, dtype=x.dtype, device=x.device)[:, None]
    derivative = torch.zeros_like(factors)
    derivative[:, :-1] = exponents * factors[:, 1:]
    both = torch.cat([factors, derivative], dim=2).mT.contiguous()  # (B, 2 L, K)
    exponents = torch.arange(1.0, columns, dtype=x.dtype, device=x.device)[:, None]

    def polynomial(some: slice) -> Tensor:
        value, by_x = (both @ _powers(x[:, some], order)).chunk(2, dim=1)  # (B, L, chunk) each
        powers = _powers(u[:, some], columns)
        by_u = (exponents * value[:, 1:] * powers[:, :-1]).sum(dim=1)
        return torch.stack([(value * powers).sum(dim=1), (by_x * powers).sum(dim=1), by_u])

    chunks = Chunks("polynomial", batches * order, _ELEMENTS)
    return torch.cat(over_chunks(polynomial, x.shape[1], chunks), dim=-1)


def _powers(x: Tensor, count: int) -> Tensor:
    """``x^0`` to ``x^(count - 1)``, (B, count, chunk), in a logarithmic number of products."""
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
