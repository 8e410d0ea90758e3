"""Energy distance of normal predictions in O(n log n): waves for the normals, sorting for the rest.

Within half a period P the distance is a sum of waves, of which normals let only the low ones
through::

    -|d| = -P / 4 + sum_k A_k cos(w_k d),  w_k = 2 pi k / P,  A_k = 2 P / (pi k)^2,  k odd

High waves therefore meet targets alone, and of those the sum over all waves is known by sorting.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from calibrant.kernels import EnergyKernel
from calibrant.losses._difference import Difference
from calibrant.losses._fused import fused_v
from calibrant.losses._spectral import TAIL, Waves, as_tensors, spectral_v, transform


def energy_v(difference: Difference, reach: float, variance: float) -> Tensor:
    """Energy distance, V-statistic, (B,), of normals with some variance, exact to about 1e-12.

    Normals too narrow for fewer waves than rows go through all pairs.

    Parameters
    ----------
    reach, variance : float
        Largest distance between two positions and largest variance.
    """
    period = 2.0 * (reach + TAIL * math.sqrt(2.0 * variance))
    v = difference.variances.detach().double()
    narrowest = math.sqrt(float(torch.where(v.isfinite(), v, variance).min()))
    rows = difference.y.shape[1]
    if 0.5 * period * TAIL > math.tau * narrowest * rows:
        return fused_v(difference, EnergyKernel(), None, diagonal=True)
    k = np.arange(1.0, period * TAIL / (math.tau * narrowest) + 2.0, 2.0)
    low = Waves(math.tau / period * k, 2.0 * period / (math.pi * k) ** 2)
    return spectral_v(difference, [low]) + _high(difference, low, period)


@torch.no_grad()
def _high(difference: Difference, low: Waves, period: float) -> Tensor:
    """What the waves above `low` add for the targets, which have no gradient, (B,)."""
    y, share = difference.y.double(), difference.share.double()
    w, weight = as_tensors([low], y.device)
    cosine, sine = transform(y, None, share, w)
    of_low = (weight * (cosine.square() + sine.square())).sum(dim=-1)
    ordered, order = y.sort(dim=-1)
    below = share.gather(-1, order).cumsum(dim=-1)[:, :-1]
    distance = 2.0 * (below * (1.0 - below) * ordered.diff(dim=-1)).sum(dim=-1)  # mean of |y - y'|
    return 0.25 * period - distance - of_low
