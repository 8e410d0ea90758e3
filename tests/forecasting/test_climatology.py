"""The climatology that networks are averaged with, and its share."""

import numpy as np
import torch

from calibrant.forecasting._climatology import climatology, seasons_seen
from calibrant.forecasting._pool import learn_shares, pooled

LEVELS = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
SEASON = 24
ROWS = 56 * SEASON
NOTHING = torch.zeros(1, ROWS, 0), torch.zeros(1, 2 * SEASON, 0)


def _daily(rng: np.random.Generator) -> torch.Tensor:
    t = np.arange(ROWS)
    return torch.as_tensor(5 + np.sin(2 * np.pi * t / SEASON) + 0.2 * rng.normal(size=ROWS))[None]


def test_it_repeats_the_season_and_knows_the_noise() -> None:
    x = _daily(np.random.default_rng(0))
    found = climatology(x, *NOTHING, LEVELS, SEASON, weekly=True)[0]
    truth = 5 + np.sin(2 * np.pi * np.arange(2 * SEASON) / SEASON)
    np.testing.assert_allclose(found[:, 1], truth, atol=0.2)
    width = (found[:, 2] - found[:, 0]).mean()
    assert abs(width - 2 * 1.2816 * 0.2) < 0.08  # of normal noise


def test_gaps_do_not_count() -> None:
    x = _daily(np.random.default_rng(0))
    complete = climatology(x, *NOTHING, LEVELS, SEASON, weekly=True)
    x[:, 500:700] = torch.nan
    x[:, -30:-20] = torch.nan
    gappy = climatology(x, *NOTHING, LEVELS, SEASON, weekly=True)
    assert torch.isfinite(gappy).all()
    torch.testing.assert_close(gappy, complete, atol=0.2, rtol=0)


def test_a_phase_without_values_has_the_quantiles_of_all() -> None:
    x = torch.full((1, ROWS), torch.nan, dtype=torch.float64)
    x[:, -3:] = torch.tensor([1.0, 2.0, 3.0])
    found = climatology(x, *NOTHING, LEVELS, SEASON, weekly=True)
    assert torch.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 4


def test_it_follows_weekdays() -> None:
    days = np.arange(ROWS) // SEASON
    x = _daily(np.random.default_rng(1)) + torch.as_tensor(2.0 * (days % 7 == 0))
    found = climatology(x, *NOTHING, LEVELS, SEASON, weekly=True)[0, :, 1]
    # 56 days are whole weeks: the first day ahead is such a day, the second is not.
    assert found[:SEASON].mean() - found[SEASON:].mean() > 1.0  # of 2, shrunk


def test_it_uses_covariates_that_are_known_ahead() -> None:
    rng = np.random.default_rng(2)
    known = torch.as_tensor(rng.normal(size=(1, ROWS + SEASON, 1)))
    x = _daily(rng) + known[:, :ROWS, 0]
    ahead = known[:, ROWS:]
    found = climatology(x, known[:, :ROWS], ahead, LEVELS, SEASON, weekly=False)[0, :, 1]
    without = climatology(x, known[:, :ROWS], 0 * ahead, LEVELS, SEASON, weekly=False)[0, :, 1]
    slope = np.polyfit(ahead[0, :, 0].clamp(-2.5, 2.5), found - without, 1)[0]
    assert 0.85 < slope < 1.05  # shrunk a little


def test_seasons_that_are_too_long_are_left_out() -> None:
    assert seasons_seen(24) == (56, 24)
    assert seasons_seen(480) == (8, 480)
    assert seasons_seen(8760) == (56, 1)


def test_shares_follow_what_errs_less() -> None:
    rng = np.random.default_rng(0)
    levels = np.array([0.1, 0.5, 0.9])
    spread = np.array([-1.2816, 0.0, 1.2816])
    actual = rng.normal(size=(300, 5))
    good = np.broadcast_to(spread, (300, 5, 3))
    bad = good + 3.0
    scale = np.ones(300)
    assert learn_shares(good, bad, actual, scale, levels).max() == 0.0
    assert learn_shares(bad, good, actual, scale, levels).min() == 1.0
    # Opposite errors cancel out, up to the pull towards the usual share.
    opposite = learn_shares(good - 1.0, good + 1.0, actual, scale, levels)
    np.testing.assert_allclose(opposite, 0.5, atol=0.1)
    actual[:] = np.nan
    np.testing.assert_allclose(learn_shares(good, bad, actual, scale, levels), 0.4)


def test_shares_average_quantiles() -> None:
    a, b = np.zeros((2, 3, 4)), np.ones((2, 3, 4))
    share = np.array([0.0, 0.5, 1.0])[:, None]
    np.testing.assert_allclose(pooled(a, b, share)[0, :, 0], share[:, 0])
