from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from calibrant.distributions import Normal
from calibrant.distributions.copula import joint_sample, rank_correlation


def test_each_output_of_a_draw_keeps_its_distribution() -> None:
    marginals = [Normal([0.0], [1.0]), Normal([5.0], [3.0])]
    drawn = joint_sample(marginals, np.array([[1.0, 0.8], [0.8, 1.0]]), 20_000, 0)[:, 0]
    error = 4 / np.sqrt(20_000)
    assert abs(drawn[:, 0].mean()) < error
    assert abs(drawn[:, 1].mean() - 5.0) < 3 * error
    assert abs(drawn[:, 1].std() / 3.0 - 1.0) < error
    assert abs(np.corrcoef(drawn.T)[0, 1] - 0.8) < error


def test_too_few_rows_say_nothing_of_dependence() -> None:
    u = np.random.default_rng(0).random(5)
    np.testing.assert_array_equal(rank_correlation(np.column_stack([u, u])), np.eye(2))


def test_miscalibration_does_not_distort_the_dependence() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([[1.0, 0.6], [0.6, 1.0]])
    scores = rng.multivariate_normal([0, 0], truth, size=4000)
    found = rank_correlation(ndtr(scores))
    assert abs(found[0, 1] - 0.6) < 3 * (1 - 0.6**2) / np.sqrt(4000)
    # Too narrow and shifted: another monotone function of the scores, the same ranks.
    np.testing.assert_array_equal(rank_correlation(ndtr(1.5 * scores + 0.5)), found)


def test_few_rows_are_shrunk_towards_independence() -> None:
    noise = np.random.default_rng(0).random((15, 10))
    off = ~np.eye(10, dtype=bool)
    shrunk, sample = rank_correlation(noise)[off], np.corrcoef(noise.T)[off]
    assert np.abs(shrunk).mean() < 0.5 * np.abs(sample).mean()
