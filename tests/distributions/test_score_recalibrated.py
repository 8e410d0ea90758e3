"""Maps of normal scores, one per row; the contract is tested elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from calibrant.distributions import Mixture, Normal, Recalibrated, ScoreRecalibrated, concatenate
from calibrant.errors import ParameterError

LEVELS = np.array([0.1, 0.5, 0.8])


def test_knots_on_the_levels_change_nothing() -> None:
    base = Mixture([[0.3, 0.7]], [[-1.0, 2.0]], [[1.0, 0.5]])
    same = ScoreRecalibrated(base, norm.ppf(LEVELS)[None], LEVELS)
    y = np.linspace(-6, 6, 41)[None]
    np.testing.assert_allclose(same.cdf(y), base.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(same.log_prob(y), base.log_prob(y), rtol=1e-9)
    np.testing.assert_allclose(same.crps(y), base.crps(y), rtol=1e-7)
    np.testing.assert_allclose(same.mean, base.mean, rtol=1e-7)


def test_a_linear_map_of_a_normal_is_a_normal() -> None:
    """Knots at 0.2 + 3 z: with the ends far away, N(0.2, 3) up to the outermost knots."""
    levels = np.arange(1, 10_000) / 10_000
    dist = ScoreRecalibrated(Normal([5.0], [2.0]), 0.2 + 3.0 * norm.ppf(levels)[None], levels)
    truth = Normal([5.4], [6.0])
    y = np.linspace(-12, 22, 9)[None]
    np.testing.assert_allclose(dist.cdf(y), truth.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(dist.log_prob(y), truth.log_prob(y), rtol=1e-6)
    np.testing.assert_allclose(dist.crps(y), truth.crps(y), rtol=1e-4)
    np.testing.assert_allclose(dist.stddev, 6.0, rtol=1e-3)


def test_every_row_has_its_own_quantiles() -> None:
    knots = np.array([[-2.0, 0.0, 1.0], [-30.0, -25.0, 25.0]])
    dist = ScoreRecalibrated(Normal([0.0, 10.0], [1.0, 2.0]), knots, LEVELS)
    np.testing.assert_allclose(dist.ppf(LEVELS), [[-2, 0, 1], [-50, -40, 60]], rtol=1e-12)
    np.testing.assert_allclose(dist.cdf(dist.ppf(LEVELS)), np.tile(LEVELS, (2, 1)), rtol=1e-12)
    np.testing.assert_allclose(dist.prob_above([1.0, 60.0]), 0.2, rtol=1e-12)


def test_both_tails_reach_equally_far() -> None:
    """Where a map of probabilities would see nothing but 1."""
    dist = ScoreRecalibrated(Normal([0.0], [1.0]), [[-20.0, 20.0]], [0.1, 0.9])
    np.testing.assert_allclose(dist.interval(0.8), [[-20.0, 20.0]], rtol=1e-12)
    np.testing.assert_allclose(dist.prob_above(25.0), dist.cdf(-25.0), rtol=1e-12)


def test_parts_join_where_their_levels_agree() -> None:
    base, knots = Normal([0.0, 1.0], [1.0, 1.0]), np.array([[-1.0, 0.0, 1.0]])
    one, two = (
        ScoreRecalibrated(base[0], knots, LEVELS),
        ScoreRecalibrated(base[1], 2 * knots, LEVELS),
    )
    assert isinstance(concatenate([one, two]), ScoreRecalibrated)
    other = ScoreRecalibrated(base[1], knots[:, :2], LEVELS[:2])
    assert not isinstance(concatenate([one, other]), ScoreRecalibrated)


@pytest.mark.parametrize(
    ("knots", "levels", "message"),
    [
        (
            [[0.0, 0.0]],
            [0.1, 0.9],
            r"Knots x must be strictly increasing numbers inside \(-37, 37\)",
        ),
        ([[0.0, 40.0]], [0.1, 0.9], "Knots x must be strictly increasing"),
        ([[0.0, 1.0]], [0.9, 0.1], r"levels must be strictly increasing numbers inside \(0, 1\)"),
        ([[0.0, 1.0]], [0.1, 1.0], "levels must be strictly increasing"),
        ([[0.0, np.nan]], [0.1, 0.9], "knots must be finite"),
        ([[0.0, 1.0]], [0.1, 0.5, 0.9], r"one column for each of 3 levels, got shape \(1, 2\)"),
        ([[0.0], [1.0]], [0.5], r"each of 1 rows .* got shape \(2, 1\)"),
        ([0.0, 1.0], [0.1, 0.9], r"knots must be of shape \(n, k\)"),
    ],
)
def test_bad_maps(knots: list[list[float]], levels: list[float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ScoreRecalibrated(Normal([0.0], [1.0]), knots, levels)


def test_bad_base() -> None:
    with pytest.raises(ParameterError, match="base must be a distribution, got int"):
        ScoreRecalibrated(3, [[0.0]], [0.5])
    assert not isinstance(ScoreRecalibrated(Normal([0.0], [1.0]), [[0.0]], [0.5]), Recalibrated)
