"""Expected costs and newsvendor decisions of every family."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributions.strategies import FAMILIES, example

from calibrant.distributions import Normal
from calibrant.errors import DataError, ParameterError

every_family = pytest.mark.parametrize("name", FAMILIES)


@every_family
def test_expected_cost_is_the_mean_over_draws(name: str) -> None:
    dist = example(name)
    decision = dist.ppf([0.2, 0.5, 0.95]) + 0.1
    cost = dist.expected_cost(decision, under=3.0, over=0.5)
    drawn = dist.sample(200_000, random_state=0)
    for j in range(3):
        short = drawn - decision[:, j, None]
        each = np.where(short > 0, 3.0 * short, -0.5 * short)
        error = each.std(axis=1) / np.sqrt(200_000)
        assert np.all(np.abs(each.mean(axis=1) - cost[:, j]) < 5 * error + 1e-9)


@every_family
def test_no_decision_is_cheaper_than_the_newsvendors(name: str) -> None:
    dist = example(name)
    costs = {"under": 2.0, "over": np.linspace(0.5, 3.0, len(dist))}
    best = dist.newsvendor(**costs)
    least = dist.expected_cost(best, **costs)
    others = dist.expected_cost(best[:, None] + np.linspace(-1, 1, 21), **costs)
    assert np.all(others >= least[:, None] - 1e-7)


def test_shapes_and_units() -> None:
    dist = Normal([0.0, 10.0], [1.0, 2.0])
    assert dist.expected_cost(0.0, under=1.0, over=1.0).shape == (2,)
    assert dist.expected_cost([0.0, 1.0], under=1.0, over=1.0).shape == (2,)
    assert dist.expected_cost(np.zeros((2, 4)), under=1.0, over=1.0).shape == (2, 4)
    # Far from all mass the cost is a distance times a unit cost.
    far = dist.expected_cost([-1e3, 1e3], under=2.0, over=5.0)
    np.testing.assert_allclose(far, [2e3, 5 * 990.0])
    np.testing.assert_allclose(dist.newsvendor(under=1.0, over=1.0), dist.median)


def test_bad_input() -> None:
    dist = Normal([0.0, 10.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="under must be a cost above 0"):
        dist.newsvendor(under=0.0, over=1.0)
    with pytest.raises(ParameterError, match="over must be a cost above 0, one number or one for"):
        dist.expected_cost(1.0, under=1.0, over=[1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="must be finite"):
        dist.expected_cost(np.inf, under=1.0, over=1.0)
