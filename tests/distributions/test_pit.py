from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from calibrant.distributions import Empirical
from calibrant.distributions.pit import randomized_pit


def test_without_atoms_nothing_is_drawn() -> None:
    u = np.random.default_rng(0).random(50)
    assert np.array_equal(randomized_pit(u, u, random_state=3), u)


def test_uniform_for_a_true_discrete_distribution() -> None:
    rng = np.random.default_rng(1)
    grades = np.round(rng.normal(size=(2000, 30)))
    dist, y = Empirical(grades), grades[np.arange(2000), rng.integers(0, 30, 2000)]
    u = randomized_pit(dist.cdf_left(y), dist.cdf(y))
    assert kstest(u, "uniform").pvalue > 0.01
    assert kstest(dist.cdf(y), "uniform").pvalue < 1e-6


def test_further_axes_share_the_draw_of_their_row() -> None:
    left, right = np.zeros((5, 2, 3)), np.ones((5, 2, 3))
    u = randomized_pit(left, right)
    assert np.array_equal(u, np.broadcast_to(u[:, :1, :1], u.shape))
    assert np.array_equal(u[:, 0, 0], randomized_pit(left[:, 0, 0], right[:, 0, 0]))


def test_a_generator_goes_on_where_it_was() -> None:
    zero, one = np.zeros(6), np.ones(6)
    stream = np.random.default_rng(7)
    parts = [randomized_pit(zero[:k], one[:k], stream) for k in (2, 4)]
    assert np.array_equal(np.concatenate(parts), randomized_pit(zero, one, 7))
