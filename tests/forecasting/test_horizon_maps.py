"""Calibration maps of all steps: widths from held-out outcomes, smooth over steps."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibrant.distributions import Normal, Quantiles
from calibrant.forecasting._horizon_maps import (
    calibrated,
    learn_knots,
    normal_scores,
    smooth_by_origin,
    smooth_over_steps,
    strictly_increasing,
)

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def test_widths_follow_the_scores_of_each_step() -> None:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((4000, 40)) * np.linspace(1.0, 2.0, 40)
    knots = learn_knots(scores, LEVELS)
    expected = ndtri(LEVELS) * np.linspace(1.0, 2.0, 40)[:, None]
    np.testing.assert_allclose(knots, expected, rtol=0.12)  # the ends are smoothed one-sidedly
    assert np.all(np.diff(knots, axis=1) > 0)


def test_a_bias_widens_and_does_not_shift() -> None:
    scores = 1.0 + np.random.default_rng(0).standard_normal((2000, 5))
    knots = learn_knots(scores, LEVELS)
    np.testing.assert_array_equal(knots[:, 2], 0.0)
    np.testing.assert_allclose(knots[:, 0], -knots[:, 4])
    assert np.all(knots[:, 4] > 1.1 * ndtri(0.95))


def test_few_outcomes_change_little_and_none_nothing() -> None:
    few = learn_knots(np.full((3, 6), 4.0), LEVELS)
    assert np.all(few[:, 4] < ndtri(0.95) + 0.1)
    nothing = learn_knots(np.full((3, 6), np.nan), LEVELS)
    np.testing.assert_allclose(nothing, np.tile(ndtri(LEVELS), (6, 1)))


def test_five_outcomes_beyond_a_level_move_it_half_the_way() -> None:
    scores = 2.0 * ndtri((np.arange(100) + 0.5) / 100)[:, None]  # five of a hundred in each tail
    moved = learn_knots(scores, LEVELS)[0, [0, 4]] / ndtri([0.05, 0.95])
    np.testing.assert_allclose(moved, 1.5, atol=0.05)


def test_quantiles_move_to_their_knots() -> None:
    dist = Quantiles(LEVELS, [[-2.0, -1.0, 0.0, 1.0, 2.0]])
    same = calibrated(dist, ndtri(LEVELS)[None])
    np.testing.assert_allclose(same.values, dist.values, atol=1e-9)
    wider = calibrated(dist, 2 * ndtri(LEVELS)[None])
    assert np.all(np.abs(wider.values[0, [0, 4]]) > 2.5)


def test_scores_of_missing_outcomes_are_missing() -> None:
    scores = normal_scores(Normal([0.0, 0.0], [1.0, 2.0]), np.array([np.nan, 2.0]))
    assert np.isnan(scores[0])
    np.testing.assert_allclose(scores[1], 1.0)


def test_smoothing_keeps_constants_and_equal_quantiles_move_apart() -> None:
    np.testing.assert_allclose(smooth_over_steps(np.full((9, 2), 3.0)), 3.0)
    apart = strictly_increasing(np.array([[2.0, 1.0, 2.0], [0.0, 0.0, 0.0]]))
    assert np.all(np.diff(apart, axis=1) > 0)
    np.testing.assert_allclose(apart[0], [1.0, 2.0, 2.0])


def test_knots_are_smoothed_over_the_steps_of_an_origin() -> None:
    knots = [np.array([[0.0], [1.0]]), np.array([[2.0]])]
    first, second = smooth_by_origin(knots, [np.array([10, 20]), np.array([20])])
    # At the first origin the second step knows nothing yet.
    assert first[0, 0] == 0.0
    expected = smooth_over_steps(np.array([[1.0], [2.0]]))
    np.testing.assert_allclose([first[1], second[0]], expected)
