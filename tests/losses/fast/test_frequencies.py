"""Quadrature rules for Gaussian kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.kernels import PUBLISHED_BANDWIDTHS
from calibrant.losses.fast.frequencies import gaussian_frequencies
from calibrant.losses.fast.signed_measure import Extent


@pytest.mark.parametrize("bandwidth", [1e-6, 1e-3, 0.03, 0.5, 1.0, 64.0])
@pytest.mark.parametrize("variance", [0.0, 0.01, 0.5])
def test_waves_add_up_to_the_kernel(bandwidth: float, variance: float) -> None:
    w, weight = gaussian_frequencies(bandwidth, Extent(1.3, variance))
    d = np.linspace(0, 1.3, 500)
    wide = bandwidth + 2 * variance
    truth = math.sqrt(bandwidth / wide) * np.exp(-0.5 * d**2 / wide) - 1.0
    damping = np.exp(-(w**2) * variance)
    assert np.abs((weight * damping) @ np.cos(np.outer(w, d)) - weight.sum() - truth).max() < 1e-11


def test_wide_kernels_need_few_frequencies() -> None:
    counts = [len(gaussian_frequencies(h, Extent(1.0, 0.02)).w) for h in PUBLISHED_BANDWIDTHS]
    assert sum(counts) <= 30
