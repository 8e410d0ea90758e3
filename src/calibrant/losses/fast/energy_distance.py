"""Marginal matching under the energy kernel, in O(n log n).

Between points the energy distance follows from sorting: with masses of sum 0,
``-sum a_i a_j |p_i - p_j|`` is ``2 integral A(t)^2 dt``, A(t) being the mass up to t.

Normals let only low frequencies through. Within half a period P the distance is a sum of waves::

    -|d| = -P / 4 + sum_k A_k cos(w_k d),  w_k = 2 pi k / P,  A_k = 2 P / (pi k)^2,  k odd

High frequencies therefore meet targets alone, for which the sum over all frequencies is known by
sorting.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from calibrant.kernels import EnergyKernel
from calibrant.losses.fast.characteristic import characteristic_mmd, characteristic_of_points
from calibrant.losses.fast.frequencies import TAIL, Frequencies, as_tensors
from calibrant.losses.fast.fused import fused_mmd
from calibrant.losses.fast.signed_measure import SignedMeasure


def energy_mmd(measure: SignedMeasure) -> Tensor:
    """Energy distance, V-statistic, (B,), exact to about 1e-12.

    Normals so narrow that they need more frequencies than there are rows visit all pairs.
    """
    distance, variance = measure.extent()
    if variance == 0:
        return _between_points(measure)
    period = 2.0 * (distance + TAIL * math.sqrt(2.0 * variance))
    v = measure.variances.detach().double()
    narrowest = math.sqrt(float(torch.where(v.isfinite(), v, variance).min()))
    rows = measure.y.shape[1]
    if 0.5 * period * TAIL > math.tau * narrowest * rows:
        return fused_mmd(measure, EnergyKernel(), None, diagonal=True)
    k = np.arange(1.0, period * TAIL / (math.tau * narrowest) + 2.0, 2.0)
    low = Frequencies(math.tau / period * k, 2.0 * period / (math.pi * k) ** 2)
    return characteristic_mmd(measure, [low]) + _high_frequencies(measure, low, period)


def _between_points(measure: SignedMeasure) -> Tensor:
    """Energy distance of predictions without variance: squared mass over gaps between points."""
    positions = torch.cat([measure.y, measure.means.flatten(1)], dim=1).double()
    masses = torch.cat([measure.y_masses, measure.masses.flatten(1)], dim=1).double()
    ordered, order = positions.sort(dim=-1)
    up_to = masses.gather(-1, order).cumsum(dim=-1)[:, :-1]
    return 2.0 * (up_to.square() * ordered.diff(dim=-1)).sum(dim=-1)


@torch.no_grad()
def _high_frequencies(measure: SignedMeasure, low: Frequencies, period: float) -> Tensor:
    """What frequencies above `low` add for the targets, which have no gradient, (B,)."""
    y, y_masses = measure.y.double(), measure.y_masses.double()
    w, weights = as_tensors([low], y.device)
    cosine, sine = characteristic_of_points(y, y_masses, w)
    of_low = (weights * (cosine.square() + sine.square())).sum(dim=-1)
    ordered, order = y.sort(dim=-1)
    below = y_masses.gather(-1, order).cumsum(dim=-1)[:, :-1]
    distance = 2.0 * (below * (1.0 - below) * ordered.diff(dim=-1)).sum(dim=-1)  # mean of |y - y'|
    return 0.25 * period - distance - of_low
