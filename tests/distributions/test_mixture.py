from __future__ import annotations

import numpy as np
import pytest
import scoringrules as sr
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import norm

from calibrant.distributions import Mixture, MonotoneMap, Normal, Recalibrated
from calibrant.errors import ParameterError

LEVELS = np.concatenate([[1e-12, 1e-9, 1e-5], np.linspace(0.01, 0.99, 33)])
LEVELS = np.unique(np.concatenate([LEVELS, 1 - LEVELS]))

# weights, locations, scales of mixtures whose quantiles are hard to find
HARD = {
    "one component": ([1.0], [3.0], [2.0]),
    "identical": ([0.2, 0.3, 0.5], [1.0, 1.0, 1.0], [0.5, 0.5, 0.5]),
    "far apart": ([0.3, 0.7], [-1e6, 1e6], [1.0, 1.0]),
    "far apart, far from zero": ([0.5, 0.3, 0.2], [1e6, 1.1e6, 1.2e6], [0.1, 3.0, 0.1]),
    "hardly any weight": ([1.0, 1e-12], [0.0, 50.0], [1.0, 1.0]),
    "hardly any weight, wide": ([1.0, 1e-12], [0.0, 0.0], [1.0, 1e3]),
    "no weight": ([0.0, 1.0, 0.0], [-30.0, 0.0, 1e5], [1e-6, 1.0, 1e4]),
    "narrow on wide": ([0.5, 0.5], [0.0, 0.0], [1e-6, 1e6]),
    "narrow beside wide": ([0.5, 0.5], [3e6, 0.0], [1e-6, 1e6]),
    "spike in the tail": ([1e-3, 1.0], [-6.0, 0.0], [1e-8, 1.0]),
    "many scales": (np.ones(7), np.arange(7.0) - 3, 10.0 ** np.arange(-3, 4)),
    "tiny": ([0.4, 0.6], [1e-9, 3e-9], [1e-9, 2e-9]),
    "huge": ([0.4, 0.6], [1e9, -3e9], [1e9, 2e9]),
}


def tail(level: float, w: np.ndarray, m: np.ndarray, s: np.ndarray, y: float) -> float:
    """log of F or 1 - F, whichever is at most 1/2 at the level, over what it should be."""
    if level <= 0.5:
        return float(np.log(max(np.sum(w * ndtr((y - m) / s)), 1e-320) / level))
    return -float(np.log(max(np.sum(w * ndtr((m - y) / s)), 1e-320) / (1 - level)))


@pytest.mark.parametrize("name", HARD)
def test_quantiles_against_brentq(name: str) -> None:
    w, m, s = (np.asarray(v, dtype=float) for v in HARD[name])
    dist = Mixture([w], [m], [s])
    w = w / w.sum()
    found = dist.ppf(LEVELS)[0]
    ends = (m - 40 * s).min(), (m + 40 * s).max()
    for level, y in zip(LEVELS, found, strict=True):
        root = brentq(lambda t, q=level: tail(q, w, m, s, t), *ends, xtol=1e-300, rtol=1e-15)
        density = np.sum(w * norm.pdf(y, m, s))
        nearer = min(level, 1 - level)
        flat = density * dist.stddev[0] < 1e-3 * nearer
        if not flat:  # between far modes any point will do
            assert y == pytest.approx(root, rel=1e-13, abs=1e-8 * s[w > 0].min())
        assert abs(tail(level, w, m, s, y)) < max(1e-9, 2 * density / nearer * np.spacing(abs(y)))


@pytest.mark.parametrize("name", HARD)
def test_quantiles_of_many_components_are_those_of_few(name: str) -> None:
    """An ensemble takes another way to the first guess, in float32, which must not show."""
    w, m, s = (np.asarray(v, dtype=float) for v in HARD[name])
    few, many = (Mixture([np.tile(w, k)], [np.tile(m, k)], [np.tile(s, k)]) for k in (1, 9))
    expected, found = few.ppf(LEVELS)[0], many.ppf(LEVELS)[0]
    # Between far modes any point will do: there the levels tell.
    close = np.isclose(found, expected, rtol=1e-12, atol=1e-8 * s[w > 0].min())
    np.testing.assert_allclose(np.where(close, LEVELS, few.cdf(found[None])[0]), LEVELS, rtol=1e-9)


@pytest.mark.parametrize("name", HARD)
def test_quantiles_to_a_millionth_of_the_scale(name: str) -> None:
    """Also after a recalibration: what the cdf says of points that far on either side."""
    w, m, s = HARD[name]
    mixture = Mixture([w], [m], [s])
    g = MonotoneMap([0.05, 0.4, 0.7], [0.1, 0.3, 0.9])
    for dist in (mixture, Recalibrated(mixture, g)):
        y, step = dist.ppf(LEVELS), 1e-6 * dist.stddev[:, None]
        assert np.all(dist.cdf(y - step) <= LEVELS + 1e-15)
        assert np.all(dist.cdf(y + step) >= LEVELS - 1e-15)
        assert np.all(dist.prob_above(y - step) >= 1 - LEVELS - 1e-15)
        assert np.all(dist.prob_above(y + step) <= 1 - LEVELS + 1e-15)
        assert np.all(np.diff(y, axis=1) >= 0)


@pytest.fixture
def mixture() -> Mixture:
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-9, 9, (100, 1))
    return Mixture(
        rng.dirichlet(np.ones(4), 100),
        scale * rng.normal(0, 3, (100, 4)),
        scale * rng.uniform(0.1, 3, (100, 4)),
    )


def test_against_sums_over_scipy(mixture: Mixture) -> None:
    y = mixture.sample(1, random_state=0)
    parts = norm(mixture.locs, mixture.scales)
    w = mixture.weights
    np.testing.assert_allclose(mixture.cdf(y)[:, 0], np.sum(w * parts.cdf(y), axis=1), rtol=1e-12)
    above = np.sum(w * parts.sf(y), axis=1)
    np.testing.assert_allclose(mixture.prob_above(y)[:, 0], above, rtol=1e-12)
    density = np.log(np.sum(w * parts.pdf(y), axis=1))
    np.testing.assert_allclose(mixture.log_prob(y)[:, 0], density, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mixture.mean, np.sum(w * mixture.locs, axis=1), rtol=1e-9)
    second = np.sum(w * (mixture.scales**2 + mixture.locs**2), axis=1)
    np.testing.assert_allclose(mixture.variance, second - mixture.mean**2, rtol=1e-9)


def test_crps_against_scoringrules(mixture: Mixture) -> None:
    y = mixture.sample(1, random_state=0)[:, 0]
    theirs = sr.crps_mixnorm(y, mixture.locs, mixture.scales, mixture.weights)
    np.testing.assert_allclose(mixture.crps(y), theirs, rtol=1e-9)


def test_one_component_is_a_normal() -> None:
    loc, scale = np.array([1e6, -2.0]), np.array([1e-3, 5.0])
    one, normal = Mixture(np.ones((2, 1)), loc[:, None], scale[:, None]), Normal(loc, scale)
    y = normal.ppf([1e-9, 0.3, 0.9])
    np.testing.assert_allclose(one.ppf([1e-9, 0.3, 0.9]), y, rtol=1e-12)
    np.testing.assert_allclose(one.cdf(y), normal.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(one.log_prob(y), normal.log_prob(y), rtol=1e-12)
    np.testing.assert_allclose(one.crps(y), normal.crps(y), rtol=1e-9)
    np.testing.assert_allclose(one.stddev, scale, rtol=1e-12)


def test_moments_of_narrow_components_far_from_zero() -> None:
    """The mean can't be told from 1e6 + 1e-10, the variance can."""
    third = np.full((1, 3), 1 / 3)
    dist = Mixture(third, np.full((1, 3), 1e6 + 1 / 3), np.full((1, 3), 1e-9))
    np.testing.assert_allclose(dist.stddev, 1e-9, rtol=1e-12)


def test_far_tails() -> None:
    dist = Mixture([[0.5, 0.5]], [[0.0, 1.0]], [[1.0, 2.0]])
    np.testing.assert_allclose(dist.cdf(dist.ppf(1e-300)), 1e-300, rtol=1e-6)
    assert dist.log_prob(-1e5) == pytest.approx(np.log(0.25) - (1e5 + 1) ** 2 / 8, rel=1e-6)
    assert dist.prob_above(60.0)[0] == pytest.approx(0.5 * norm.sf(29.5), rel=1e-9)
    assert np.all(np.isfinite(dist.ppf([5e-324, 1 - 2**-53])))


def test_weights_are_shares() -> None:
    dist = Mixture([[2.0, 6.0]], [[0.0, 1.0]], [[1.0, 1.0]])
    np.testing.assert_allclose(dist.weights, [[0.25, 0.75]])
    huge = Mixture([[1e308, 1e308]], [[0.0, 1.0]], [[1.0, 1.0]])
    np.testing.assert_allclose(huge.weights, 0.5)
    tiny = Mixture([[5e-324, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]])
    np.testing.assert_array_equal(tiny.weights, [[1.0, 0.0]])


def test_samples_avoid_components_without_weight() -> None:
    dist = Mixture([[0.0, 0.1, 0.9, 0.0]], [[-99.0, 0.0, 1.0, 99.0]], np.full((1, 4), 0.1))
    draws = dist.sample(20_000, random_state=0)
    assert draws.min() > -1
    assert draws.max() < 2


@pytest.mark.parametrize(
    ("weights", "locs", "scales", "message"),
    [
        ([[1.0, -0.1]], [[0, 1]], [[1, 1]], r"weights must not be negative, got \[-0\.1\]"),
        ([[1.0, 1.0], [0.0, 0.0]], np.zeros((2, 2)), np.ones((2, 2)), "all zero, as in row 1"),
        ([[1.0]], [[0.0]], [[0.0]], "scales must be positive"),
        ([[1.0]], [[np.nan]], [[1.0]], "locs must be finite"),
        ([[np.inf]], [[0.0]], [[1.0]], "weights must be finite"),
        ([[1.0, 1.0]], [[0.0]], [[1.0]], r"same shape, got .*\(1, 2\)"),
        ([1.0], [0.0], [1.0], r"weights must be of shape .* got shape \(1,\)"),
        (np.ones((2, 0)), np.ones((2, 0)), np.ones((2, 0)), "at least one column"),
    ],
)
def test_bad_parameters(weights: object, locs: object, scales: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Mixture(weights, locs, scales)
