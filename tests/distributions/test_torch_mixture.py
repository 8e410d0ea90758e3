"""Mixtures in torch, against those in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from calibrant.distributions import Mixture
from calibrant.distributions.torch_mixture import TorchMixture

LEVELS = np.array([1e-9, 1e-4, 0.01, 0.3, 0.5, 0.77, 0.99, 1 - 1e-9])


def random_mixture(n_components: int, n: int = 20) -> tuple[Mixture, TorchMixture]:
    rng = np.random.default_rng(n_components)
    weights = rng.dirichlet(np.full(n_components, 0.3), n) + 1e-12
    weights /= weights.sum(axis=1, keepdims=True)
    locs = rng.normal(0.0, 3.0, weights.shape)
    parts = weights, locs, np.exp(rng.normal(-1.0, 1.5, weights.shape))
    return Mixture(*parts), TorchMixture(*map(torch.as_tensor, parts))


@pytest.mark.parametrize("n_components", [1, 5, 48, 130])
def test_quantiles_are_those_of_the_mixture(n_components: int) -> None:
    expected, found = (dist.reduced() for dist in random_mixture(n_components))
    tail = torch.as_tensor(np.minimum(LEVELS, 1.0 - LEVELS)).expand(20, -1)
    upper = torch.as_tensor(LEVELS > 0.5).expand(20, -1)
    error = (found.ppf(tail, upper).numpy() - expected.ppf(LEVELS)) / expected.stddev[:, None]
    assert np.abs(error).max() < 1e-8


def test_merging_components_is_that_of_the_mixture() -> None:
    expected, found = (dist.reduced() for dist in random_mixture(130))
    for name in ("weights", "locs", "scales"):
        np.testing.assert_allclose(
            getattr(found, name).numpy(), getattr(expected, name), rtol=1e-12, atol=1e-12
        )


def test_partial_moments_are_integrals_of_the_density() -> None:
    expected, found = random_mixture(3, n=2)
    at = np.array([[-1.0, 2.5], [0.3, 4.0]])
    moments = found.partial_moments(torch.as_tensor(at)).numpy()
    for row, column, power in np.ndindex(2, 2, 3):
        one = expected[row]

        def density(y: float, one: Mixture = one, power: int = power) -> float:
            return y**power * float(np.exp(one.log_prob(y))[0])

        cuts = np.sort(np.concatenate([one.locs[0], one.locs[0] - 4 * one.scales[0]]))
        end = at[row, column]
        value, _ = quad(density, -80.0, end, points=cuts[cuts < end], limit=400)
        assert moments[row, column, power] == pytest.approx(value, abs=1e-6)
