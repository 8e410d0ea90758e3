"""Verdicts that put the worst first, weigh the size of an error, and say what to do about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from calibrant import (
    ConformalRecalibrator,
    Forecaster,
    HeteroscedasticRegressor,
    MMDRegressor,
    evaluate,
    recalibrate,
)
from calibrant.distributions import Distribution, Normal
from calibrant.report import build_report


def forecast(spread: np.ndarray, seed: int = 0) -> tuple[Normal, np.ndarray]:
    """Standard normals for targets whose standard deviations are these; means tell rows apart."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=len(spread))
    return Normal(mean, np.ones(len(spread))), mean + spread * rng.normal(size=len(spread))


def test_a_small_error_on_many_rows_is_no_alarm_and_a_bad_group_is_named() -> None:
    """38% intervals cover 40% of 10,788 rows, 90% intervals 80% of a group of 90."""
    n, few = 10_788, 90
    dist, y = forecast(np.full(n, 0.955))
    y[:few] = dist.mean[:few] + 1.3 * norm.ppf((np.arange(few) + 0.5) / few)
    zone = np.where(np.arange(n) < few, "harbour", "elsewhere")
    result = evaluate(dist, y, groups=pd.Series(zone, name="zone"))
    assert result.ecpe > 2 * result.floor.ecpe  # chance does not explain it, but it is small
    assert result.verdict.startswith("Nearly calibrated")
    assert result.state == "good"  # the group is named, though chance may explain 90 rows
    named = "orst of 12 slices is zone harbour (90 rows): 90% intervals cover 80.0%"
    assert named in result.verdict


def test_a_decile_that_covers_too_little_is_never_green() -> None:
    dist, y = forecast(np.ones(3000))
    worst = dist.mean > np.quantile(dist.mean, 0.9)
    y[worst] = dist.mean[worst] + 1.6 * (y - dist.mean)[worst]  # 90% intervals cover 70% there
    result = evaluate(dist, y)
    assert abs(result.coverage - 0.9) < 0.03
    assert result.state == "mixed"
    assert "worst predicted mean" in result.verdict
    assert "predicted mean" in (result.advice or "")
    assert '<article class="mixed">' in build_report(dist, None, y).html


def test_recalibration_within_groups_that_overlap_mends_them() -> None:
    rng = np.random.default_rng(0)
    n = 6000
    rows = pd.DataFrame({"size": rng.normal(size=n), "zone": rng.choice(["a", "b"], n)})
    rows["rain"] = rng.random(n) < 0.3
    noise = rows["zone"].map({"a": 0.5, "b": 1.5}) * np.where(rows["rain"], 1.5, 1.0)
    y = rows["size"] + noise * rng.normal(size=n)
    train, held, test = slice(0, 1500), slice(1500, 4000), slice(4000, n)
    model = HeteroscedasticRegressor(epochs=15, random_state=0)
    model.fit(rows[train][["size"]], y[train])
    groups = rows[test][["zone", "rain"]]
    before = evaluate(model.predict_dist(rows[test][["size"]]), y[test], groups=groups)
    mended = recalibrate(model, rows[held], y[held], groups=["zone", "rain"])
    after = evaluate(mended.predict_dist(rows[test]), y[test], groups=groups)
    assert before.state in {"bad", "mixed"}
    assert "zone" in before.verdict
    off = abs(after.groups.coverage - 0.9)
    assert (off < 0.035).all()
    assert after.crps < before.crps


@pytest.mark.parametrize(
    "function",
    [
        Distribution.interval,
        MMDRegressor.predict_interval,
        Forecaster.predict_interval,
        ConformalRecalibrator.predict_interval,
    ],
)
def test_levels_have_one_name(function: Callable[..., object]) -> None:
    """`coverage` for intervals, and none of the other names in use."""
    names = set(inspect.signature(function).parameters)
    assert "coverage" in names
    assert not names & {"alpha", "level", "levels", "confidence"}
