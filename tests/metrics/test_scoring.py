from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scoringrules as sr
import uncertainty_toolbox as uct
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import mean_pinball_loss

from calibrant.distributions import Empirical, Mixture, MonotoneMap, Normal, Recalibrated
from calibrant.metrics import LEVELS, crps, interval_score, nll, pinball

Forecast = tuple[Normal, np.ndarray]


def test_normal_against_uncertainty_toolbox(forecast: Forecast) -> None:
    dist, y = forecast
    arguments = (dist.mean, dist.stddev, y)
    assert nll(dist, y) == pytest.approx(uct.nll_gaussian(*arguments), rel=1e-12)
    assert crps(dist, y) == pytest.approx(uct.crps_gaussian(*arguments), rel=1e-12)
    assert pinball(dist, y) == pytest.approx(uct.check_score(*arguments, resolution=99), rel=1e-9)
    theirs = uct.interval_score(*arguments, resolution=99)
    assert interval_score(dist, y, coverage=LEVELS).mean() == pytest.approx(theirs, rel=1e-9)


def test_against_scoringrules(forecast: Forecast) -> None:
    dist, y = forecast
    assert crps(dist, y) == pytest.approx(sr.crps_normal(y, dist.mean, dist.stddev).mean())
    lower, upper = dist.interval(0.8).T
    theirs = sr.interval_score(y, lower, upper, 0.2).mean()
    assert interval_score(dist, y, coverage=0.8) == pytest.approx(theirs, rel=1e-12)
    theirs = np.mean([sr.quantile_score(y, dist.ppf(q), q).mean() for q in (0.1, 0.3)])
    assert pinball(dist, y, alpha=[0.1, 0.3]) == pytest.approx(theirs, rel=1e-12)


def test_mixture_and_ensemble_against_scoringrules() -> None:
    rng = np.random.default_rng(3)
    y, weights = rng.normal(size=60), rng.dirichlet(np.ones(4), 60)
    locs, scales = rng.normal(size=(60, 4)), rng.uniform(0.2, 2, (60, 4))
    theirs = sr.crps_mixnorm(y, locs, scales, weights).mean()
    assert crps(Mixture(weights, locs, scales), y) == pytest.approx(theirs, rel=1e-9)
    theirs = sr.crps_ensemble(y, locs, estimator="nrg").mean()
    assert crps(Empirical(locs), y) == pytest.approx(theirs, rel=1e-12)


def test_pinball_against_scikit_learn(forecast: Forecast) -> None:
    dist, y = forecast
    expected = mean_pinball_loss(y, dist.ppf(0.2), alpha=0.2)
    assert pinball(dist, y, alpha=0.2) == pytest.approx(expected, rel=1e-12)


def test_recalibrated_against_numeric_integration() -> None:
    g = MonotoneMap([0.2, 0.6], [0.3, 0.5])
    dist = Recalibrated(Normal([0.5], [2.0]), g)

    def squared(t: float, y: float) -> float:
        return float((g(norm.cdf(t, 0.5, 2.0)) - (t >= y)) ** 2)

    for y in (-3.0, 0.4, 6.0):
        kinks = sorted([y, *norm.ppf([0.2, 0.6], 0.5, 2.0)])
        whole = quad(squared, -25, 25, args=(y,), points=kinks, limit=400, epsabs=1e-10)[0]
        assert crps(dist, [y]) == pytest.approx(whole, rel=1e-7)
    edges = [-25, *norm.ppf([0.2, 0.6], 0.5, 2.0), 25]
    mass = sum(quad(lambda t: np.exp(-nll(dist, [t])), *piece)[0] for piece in pairwise(edges))
    assert mass == pytest.approx(1.0, abs=1e-7)


def test_nll_of_an_impossible_target_is_infinite() -> None:
    assert nll(Empirical([[0.0, 1.0]]), [0.5]) == np.inf


def test_shapes() -> None:
    dist, y = Normal([0.0, 1.0], [1.0, 2.0]), [0.5, 0.5]
    assert isinstance(interval_score(dist, y), float)
    assert interval_score(dist, y, coverage=[0.5, 0.9]).shape == (2,)
    assert interval_score(dist, y, coverage=[0.5, 0.9])[1] == interval_score(dist, y, coverage=0.9)


@pytest.mark.parametrize("score", [nll, crps, pinball, interval_score])
def test_proper(score: object) -> None:
    """On average no forecast scores better than the truth."""
    y = np.random.default_rng(4).normal(size=20_000)
    zeros, ones = np.zeros(len(y)), np.ones(len(y))
    truth = score(Normal(zeros, ones), y)  # type: ignore[operator]
    for wrong in (Normal(zeros + 0.2, ones), Normal(zeros, 0.8 * ones), Normal(zeros, 1.25 * ones)):
        assert score(wrong, y) > truth  # type: ignore[operator]
