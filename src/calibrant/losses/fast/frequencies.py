"""Frequencies whose waves add up to a Gaussian kernel.

By Bochner's theorem a Gaussian kernel is a mixture of waves. A quadrature rule picks the
frequencies: Gauss-Hermite nodes where the kernel is wide for the data, the trapezoidal rule where
it is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from calibrant.checks import Array
from calibrant.losses.fast.signed_measure import Extent

ERROR = 2e-13  # of a kernel value; two measures of mass 1 make it at most four times that
TAIL = math.sqrt(-2.0 * math.log(ERROR))  # where exp(-x^2 / 2) falls below it
_MOST_HERMITE = 40


class Frequencies(NamedTuple):
    """Positive frequencies and weights with ``k(d) - k(0) = sum_q A_q (cos(w_q d) - 1)``."""

    w: Array
    weights: Array


def gaussian_frequencies(bandwidth: float, extent: Extent) -> Frequencies:
    """Frequencies of the kernel ``exp(-d^2 / (2 h))``, exact to 2e-13 for data of that extent."""
    root = math.sqrt(bandwidth)
    # Rounded up, so that batches of nearly the same extent share their nodes.
    distance, ratio = _round_up(extent.distance / root), _round_up(2 * extent.variance / bandwidth)
    unit = _unit_frequencies(distance, ratio)
    return Frequencies(unit.w / root, unit.weights)


def count_frequencies(bandwidth: float, extent: Extent) -> float:
    """Approximate number of frequencies that a kernel needs; narrow ones need many."""
    period = _period(extent.distance / math.sqrt(bandwidth), 2.0 * extent.variance / bandwidth)
    return period * TAIL / math.tau


def as_tensors(rules: Sequence[Frequencies], device: torch.device) -> tuple[Tensor, Tensor]:
    """Frequencies and weights of several kernels, (Q,) each, in float64."""
    columns = zip(*rules, strict=True)
    w, weights = (torch.as_tensor(np.concatenate(each), device=device) for each in columns)
    return w, weights


def _round_up(value: float) -> float:
    return float(2.0 ** (math.ceil(4.0 * math.log2(value)) / 4.0)) if value > 1e-3 else 1e-3


@lru_cache(maxsize=256)
def _unit_frequencies(distance: float, ratio: float) -> Frequencies:
    """Rule for h = 1, distances up to `distance` and variances of a pair up to `ratio`."""
    trapezoid = _trapezoid(distance, ratio)
    most = min(_MOST_HERMITE, 2 * len(trapezoid.w))
    for count in range(2, most):
        hermite = _hermite(count)
        if _error(hermite, distance, ratio) <= ERROR:
            return hermite
    return trapezoid


@lru_cache(maxsize=_MOST_HERMITE)
def _hermite(count: int) -> Frequencies:
    nodes, weights = (np.asarray(each, float) for each in np.polynomial.hermite.hermgauss(count))
    positive = nodes > 1e-9  # -w mirrors w, and at w = 0 the masses add up to 0
    w = math.sqrt(2.0) * nodes[positive]
    return Frequencies(w, 2.0 * weights[positive] / math.sqrt(math.pi))


def _trapezoid(distance: float, ratio: float) -> Frequencies:
    """Equal steps: the kernel is repeated with a period that keeps its copies out of reach."""
    step = math.tau / _period(distance, ratio)
    w: Array = step * np.arange(1.0, math.ceil(TAIL / step) + 1.0)
    density: Array = np.exp(-0.5 * w**2) / math.sqrt(2.0 * math.pi)
    return Frequencies(w, 2.0 * step * density)


def _period(distance: float, ratio: float) -> float:
    return distance + TAIL * math.sqrt(1.0 + ratio)


def _error(rule: Frequencies, distance: float, ratio: float) -> float:
    """Largest error of ``E k(D) - 1`` over distances and variances."""
    w, weights = rule
    d = np.linspace(0.0, distance, 65)[:, None]
    v = np.array([0.0, 0.5 * ratio, ratio])
    truth = np.exp(-0.5 * d**2 / (1.0 + v)) / np.sqrt(1.0 + v) - 1.0
    damped = np.exp(-0.5 * np.multiply.outer(w**2, v))
    sums = np.einsum("q,qd,qv->dv", weights, np.cos(np.outer(w, d)), damped) - weights.sum()
    return float(np.abs(sums - truth).max())
