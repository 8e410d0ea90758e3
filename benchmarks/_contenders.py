"""Squared MMDs that `matching.py` times: this library's and the alternatives.

Every contender is a function of (mean, variance, y, x) in float32 that returns the V-statistic of
Gaussian predictions in closed form, differentiable in mean and variance. For marginal matching x is
None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calibrant.losses import DistributionMatchingLoss

Objective = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
CONDITION = 0.2  # bandwidth of the kernel on x, uniform in four dimensions
FEATURES = 256


def contender(name: str, bandwidths: Sequence[float]) -> Objective:
    """Build a contender by name; raises ImportError if a package that it needs is missing."""
    if name in ("pairwise", "linear", "fused", "features"):
        return ours("linear" if name == "features" else name, bandwidths)
    if name == "exact":  # a path that does not approximate, in float64
        return in_float64(ours("auto", bandwidths))
    build = {
        "plain torch": plain,
        "three lines": three_lines,
        "torch.compile": compiled,
        "KeOps": keops,
    }[name]
    return build(bandwidths)


def ours(method: Any, bandwidths: Sequence[float]) -> Objective:
    losses = {
        match: DistributionMatchingLoss(
            match, bandwidths, condition_bandwidth=CONDITION, method=method, features=FEATURES
        )
        for match in ("marginal", "joint")
    }

    def objective(mean: Tensor, variance: Tensor, y: Tensor, x: Tensor | None) -> Tensor:
        dist = torch.distributions.Normal(mean, variance.sqrt(), validate_args=False)
        value: Tensor = losses["marginal" if x is None else "joint"](dist, y, x)
        return value

    return objective


def in_float64(objective: Objective) -> Objective:
    def wider(mean: Tensor, variance: Tensor, y: Tensor, x: Tensor | None) -> Tensor:
        parts = mean.double(), variance.double(), y.double()
        return objective(*parts, None if x is None else x.double())

    return wider


def plain(bandwidths: Sequence[float]) -> Objective:
    """All pairs as matrices, in float32."""

    def objective(mean: Tensor, variance: Tensor, y: Tensor, x: Tensor | None) -> Tensor:
        near = 1.0 if x is None else torch.exp(-0.5 / CONDITION * torch.cdist(x, x) ** 2)

        def kernel(a: Tensor, b: Tensor, wide: Tensor) -> Tensor:
            squared = (a[:, None] - b) ** 2
            terms = [
                torch.sqrt(h / (h + wide)) * torch.exp(-0.5 * squared / (h + wide))
                for h in bandwidths
            ]
            return (near * torch.stack(terms).sum(dim=0)).mean()

        mixed = kernel(mean, y, variance[:, None])
        return (
            kernel(y, y, y.new_zeros(()))
            - 2.0 * mixed
            + kernel(mean, mean, variance[:, None] + variance)
        )

    return objective


def three_lines(bandwidths: Sequence[float], nodes: int = 20) -> Objective:
    """Marginal matching in linear time, written naively with a fixed quadrature rule."""
    at, weights = np.polynomial.hermite.hermgauss(nodes)
    roots = np.sqrt(2.0 / np.asarray(bandwidths))
    w = torch.tensor(np.outer(roots, at).ravel(), dtype=torch.float32)
    a = torch.tensor(np.tile(weights / math.sqrt(math.pi), len(roots)), dtype=torch.float32)

    def objective(mean: Tensor, variance: Tensor, y: Tensor, x: Tensor | None) -> Tensor:
        q = w.to(y.device)[:, None]
        fade = torch.exp(-0.5 * q**2 * variance)
        real = (torch.cos(q * y) - fade * torch.cos(q * mean)).mean(dim=1)
        imaginary = (torch.sin(q * y) - fade * torch.sin(q * mean)).mean(dim=1)
        return (a.to(y.device) * (real**2 + imaginary**2)).sum()

    return objective


def compiled(bandwidths: Sequence[float]) -> Objective:
    result: Objective = torch.compile(three_lines(bandwidths), dynamic=True)
    return result


def keops(bandwidths: Sequence[float]) -> Objective:
    """All pairs with KeOps, which stores no matrix."""
    import pykeops
    from pykeops.torch import LazyTensor

    pykeops.set_verbose(False)

    def objective(mean: Tensor, variance: Tensor, y: Tensor, x: Tensor | None) -> Tensor:
        point = torch.zeros_like(y)

        def kernel(a: Tensor, v: Tensor, b: Tensor, u: Tensor) -> Tensor:
            squared = (LazyTensor(a[:, None, None]) - LazyTensor(b[None, :, None])) ** 2
            wide = LazyTensor(v[:, None, None]) + LazyTensor(u[None, :, None])
            terms = [
                (h / (wide + h)).sqrt() * (-0.5 * squared / (wide + h)).exp() for h in bandwidths
            ]
            total = sum(terms[1:], terms[0])
            if x is not None:
                apart = LazyTensor(x[:, None, :]).sqdist(LazyTensor(x[None, :, :]))
                total = total * (-0.5 / CONDITION * apart).exp()
            result: Tensor = total.sum(dim=1).sum() / len(y) ** 2
            return result

        mixed = kernel(mean, variance, y, point)
        return kernel(y, point, y, point) - 2.0 * mixed + kernel(mean, variance, mean, variance)

    return objective
