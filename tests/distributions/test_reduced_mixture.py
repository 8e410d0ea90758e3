"""Mixtures of hundreds of components, reduced to 48 with nearly the same distribution."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Mixture


def ensemble(n: int = 30, size: int = 200, far: float = 0.0, seed: int = 0) -> Mixture:
    """Networks that agree up to noise, each with a narrow and some wide components."""
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.normal(size=(n, size)) * 0.3) * rng.choice([0.3, 1.0, 3.0], size)
    locs = far + rng.normal(size=(n, 1)) + scales * rng.normal(size=(n, size))
    return Mixture(rng.gamma(1.0, size=(n, size)), locs, scales)


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_moments_stay_and_the_distribution_nearly(far: float) -> None:
    dist = ensemble(far=far)
    reduced = dist.reduced()
    assert reduced.locs.shape == (30, 48)
    np.testing.assert_allclose(reduced.mean - far, dist.mean - far, atol=1e-6)
    np.testing.assert_allclose(reduced.variance, dist.variance, rtol=1e-6)
    levels = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    for level, y in zip(levels, dist.ppf(levels).T, strict=True):
        np.testing.assert_allclose(reduced.cdf(y), level, atol=0.01)


def test_few_components_are_kept_as_they_are() -> None:
    dist = ensemble(size=48)
    assert dist.reduced() is dist


def test_weights_of_zero_and_equal_components() -> None:
    """Spikes are equal in all networks; a network without a share has no weight."""
    weights = np.tile([1.0, 0.0, 2.0], (2, 40))
    locs, scales = np.tile([0.0, 5.0, 1.0], (2, 40)), np.tile([1e-6, 1.0, 1e-6], (2, 40))
    dist = Mixture(weights, locs, scales)
    reduced = dist.reduced()
    y = np.array([0.5, 0.5])
    np.testing.assert_allclose(reduced.cdf(y), 1 / 3, atol=1e-9)
    np.testing.assert_allclose(reduced.ppf(0.9), dist.ppf(0.9), atol=1e-5)


def test_what_is_known_of_the_epistemic_part_stays() -> None:
    dist = ensemble().with_epistemic(np.full(30, 0.1))
    np.testing.assert_allclose(dist.reduced().epistemic, 0.1)
