from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from calibrant.distributions import Empirical, Mixture, Normal
from calibrant.metrics import LEVELS, epiw, mean_width, mpiw


def test_normal_in_closed_form() -> None:
    scale = np.linspace(0.5, 2.0, 40)
    dist = Normal(np.arange(40.0), scale)
    z = norm.ppf((1 + LEVELS) / 2)
    assert epiw(dist) == pytest.approx(2 * z.mean() * scale.mean(), rel=1e-12)
    assert mpiw(dist) == pytest.approx(2 * z.max() * scale.mean(), rel=1e-12)
    assert mean_width(dist, 0.9) == pytest.approx(2 * norm.ppf(0.95) * scale.mean(), rel=1e-12)


def test_ratio_of_the_published_tables() -> None:
    dist = Normal([0.0, 10.0], [1.0, 7.0])
    assert mpiw(dist) / epiw(dist) == pytest.approx(3.2605, abs=5e-5)


@pytest.mark.parametrize("family", ["mixture", "empirical"])
def test_by_their_definition(family: str) -> None:
    rng = np.random.default_rng(1)
    weights, locs, scales = rng.dirichlet(np.ones(3), 50), *rng.uniform(0.1, 3, (2, 50, 3))
    dist = Mixture(weights, locs, scales) if family == "mixture" else Empirical(locs)
    bounds = dist.interval(LEVELS)  # (n, 2, 99)
    widths = (bounds[:, 1] - bounds[:, 0]).mean(axis=0)
    assert epiw(dist) == pytest.approx(widths.mean(), rel=1e-9)
    assert mpiw(dist) == pytest.approx(widths.max(), rel=1e-9)
    assert mean_width(dist, [0.5, 0.9]) == pytest.approx(widths[[49, 89]], rel=1e-9)


def test_target_is_accepted_and_checked() -> None:
    dist = Normal([0.0, 1.0], [1.0, 1.0])
    assert epiw(dist, [5.0, 5.0]) == epiw(dist)
    with pytest.raises(ValueError, match="2 rows of the distribution"):
        mpiw(dist, [5.0])


def test_narrow_intervals_far_from_zero() -> None:
    dist = Normal(np.full(3000, 1e9), np.full(3000, 1e-3))
    assert epiw(dist) == pytest.approx(epiw(Normal([0.0], [1e-3])), rel=1e-3)


def test_blocks_cover_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dist = Normal(np.zeros(997), np.linspace(1, 2, 997))
    whole = epiw(dist)
    monkeypatch.setattr("calibrant.metrics.quantile_pass._BLOCK", 199 * 100)
    monkeypatch.setattr("calibrant.metrics.quantile_pass._TILE", 199 * 7)
    assert epiw(dist) == pytest.approx(whole, rel=1e-12)
