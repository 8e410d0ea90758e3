"""Mixtures of many components: places that tell nothing new are left out, digits are not."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Mixture, MonotoneMap, Recalibrated
from calibrant.distributions import _mixture_points as points


def pool(spread: float, n: int = 20, components: int = 60) -> Mixture:
    rng = np.random.default_rng(0)
    return Mixture(
        rng.dirichlet(np.ones(components), n),
        rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, components)),
        np.exp(spread * rng.normal(size=(n, components)) - 1.0),
    )


@pytest.mark.parametrize("spread", [0.3, 1.0, 1.5])
def test_scores_and_quantiles_keep_their_digits(
    spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = pool(spread).sample(1, random_state=0)[:, 0]
    levels = np.array([0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0])
    bend = MonotoneMap([0.1, 0.5, 0.9], [0.2, 0.45, 0.8])

    def answers() -> list[np.ndarray]:
        dist = Recalibrated(pool(spread), bend)
        return [dist.crps(y), dist.mean, dist.variance, dist.ppf(levels)]

    thinned = answers()
    monkeypatch.setattr(points, "FEW_COMPONENTS", 1000)
    for few, all_points in zip(thinned, answers(), strict=True):
        np.testing.assert_allclose(few, all_points, rtol=1e-7, atol=1e-7 * thinned[2].max() ** 0.5)


def test_places_stay_in_order_and_reach_the_ends() -> None:
    dist, grid = pool(1.5), np.array([-9.0, -1.0, 0.0, 1.0, 9.0])
    found = points.component_points(dist.locs, dist.scales, grid)
    every = dist.locs[:, :, None] + dist.scales[:, :, None] * grid
    assert (np.diff(found, axis=1) >= 0).all()
    np.testing.assert_array_equal(found[:, 0], every.min(axis=(1, 2)))
    np.testing.assert_array_equal(found[:, -1], every.max(axis=(1, 2)))
    assert found.shape[1] < 0.7 * every[0].size


def test_their_number_does_not_grow_with_equal_components() -> None:
    one = points.component_points(np.zeros((1, 1)), np.ones((1, 1)), np.linspace(-4, 4, 9))
    many = points.component_points(np.zeros((1, 50)), np.ones((1, 50)), np.linspace(-4, 4, 9))
    np.testing.assert_array_equal(np.unique(many), one[0])
