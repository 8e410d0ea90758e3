from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from calibrant import metrics
from calibrant.distributions import (
    Clipped,
    Distribution,
    Empirical,
    Mixture,
    MonotoneMap,
    Normal,
    Recalibrated,
    concatenate,
)
from calibrant.metrics import METRICS, evaluate
from calibrant.metrics.formatting import p_value_text

METRIC_FUNCTIONS = [name for name in METRICS if hasattr(metrics, name)]
N = 400


def families() -> dict[str, Distribution]:
    rng = np.random.default_rng(21)
    normal = Normal(rng.normal(5, 2, N), rng.uniform(0.5, 2, N))
    mixture = Mixture(
        rng.dirichlet(np.ones(3), N), rng.normal(5, 2, (N, 3)), rng.uniform(0.3, 1, (N, 3))
    )
    recalibrated = Recalibrated(normal, MonotoneMap([0.3, 0.8], [0.25, 0.85]))
    return {
        "normal": normal,
        "mixture": mixture,
        "recalibrated": recalibrated,
        "empirical": Empirical(rng.normal(5, 2, (N, 30))),
        "clipped": Clipped(normal, low=0.0),
        "stacked": concatenate([normal[:100], mixture[100:]]),
    }


@pytest.fixture(params=list(families()))
def dist(request: pytest.FixtureRequest) -> Distribution:
    return families()[request.param]


def test_every_metric_is_that_of_its_function(dist: Distribution) -> None:
    y = dist.sample(random_state=1)
    result = evaluate(dist, y)
    for name in METRIC_FUNCTIONS:
        expected = getattr(metrics, name)(dist, y)
        assert getattr(result, name) == pytest.approx(expected, rel=1e-9), name
    np.testing.assert_array_equal(result.pit, metrics.pit(dist, y))
    test = metrics.calibration_test(dist, y)
    assert (result.p_value, result.floor) == (test.p_value, metrics.noise_floor(N))
    for by in ("mean", "stddev"):
        expected = metrics.calibration_by_bins(dist, y, by=by).mean_ecpe
        assert getattr(result, f"by_{by}").mean_ecpe == pytest.approx(expected)


def test_options_reach_their_metrics() -> None:
    dist = families()["normal"]
    y = dist.sample(random_state=1)
    groups = np.arange(N) % 3
    result = evaluate(dist, y, groups, coverage=0.8)
    assert result.level == 0.8
    assert result.coverage == metrics.coverage(dist, y, coverage=0.8)
    assert result.interval_score == pytest.approx(metrics.interval_score(dist, y, coverage=0.8))
    expected = metrics.calibration_by_group(dist, y, groups, coverage=0.8)
    assert result.groups is not None
    assert result.groups.to_frame().equals(expected.to_frame())


def test_quantiles_are_asked_for_once() -> None:
    asked = []

    class Counting(Normal):
        def ppf(self, q: Any) -> Any:
            asked.append(len(self) * np.size(q))
            return super().ppf(q)

    evaluate(Counting(np.zeros(50), np.ones(50)), np.zeros(50))
    assert sum(asked) == 50 * (199 + 2)


def test_values_of_each_row_are_kept(dist: Distribution) -> None:
    y = dist.sample(random_state=1)[:, 0]
    rows = evaluate(dist, y, coverage=0.8).rows
    assert rows.dist is dist
    assert np.array_equal(rows.y, y)
    assert np.array_equal(rows.pit, metrics.pit(dist, y))
    for name in ("cdf", "cdf_left", "log_prob"):
        assert np.array_equal(getattr(rows, name), getattr(dist, name)(y)), name
    assert rows.crps == pytest.approx(dist.crps(y), rel=1e-9, abs=1e-12)
    for name in ("mean", "stddev", "median"):
        assert getattr(rows, name) == pytest.approx(getattr(dist, name), rel=1e-9), name
    assert rows.interval == pytest.approx(dist.interval(0.8), rel=1e-9)


@pytest.mark.slow
def test_quantiles_of_a_sample_are_kept() -> None:
    n = 5000
    dist = Normal(np.arange(n, dtype=float), np.full(n, 2.0))
    found = evaluate(dist, dist.mean).quantiles
    assert len(found.sample) == 2000
    assert (found.sample[0], found.sample[-1]) == (0, n - 1)
    assert np.diff(found.sample).max() <= 3
    expected = dist[found.sample].interval(metrics.LEVELS)
    assert found.sample_intervals == pytest.approx(expected, rel=1e-9)
    assert found.widths == pytest.approx(metrics.mean_width(dist, metrics.LEVELS))
    few = evaluate(dist[:7], np.zeros(7)).quantiles
    assert few.sample.tolist() == list(range(7))


def verdict_of(forecast: Distribution, y: np.ndarray) -> str:
    return evaluate(forecast, y).verdict


def test_verdicts() -> None:
    rng = np.random.default_rng(31)
    loc, scale = rng.normal(size=4000), rng.uniform(1, 2, size=4000)
    y = loc + scale * rng.normal(size=4000)
    truth = verdict_of(Normal(loc, scale), y)
    assert truth.startswith("Calibrated: ECPE 0.00")
    assert "is what chance gives at n = 4,000 (floor 0.0050, 95% of perfect" in truth
    assert verdict_of(Normal(loc, 0.8 * scale), y).startswith(
        "Overconfident: 90% intervals cover 8"
    )
    wide = verdict_of(Normal(loc, 1.25 * scale), y)
    assert wide.startswith("Underconfident: 90% intervals cover 9")
    assert "PIT test p < 0.0001). 2" in wide  # then the slices
    assert verdict_of(Normal(loc + 0.3, scale), y).startswith("Biased: predictions are too high")
    assert verdict_of(Normal(loc - 0.3, scale), y).startswith("Biased: predictions are too low")
    pointed = MonotoneMap([0.05, 0.25, 0.75, 0.95], [0.02, 0.3, 0.7, 0.98])
    bent = verdict_of(Recalibrated(Normal(loc, scale), pointed), y)
    assert bent.startswith("Misshapen: ")
    assert " but " in bent


def test_a_verdict_between_the_two() -> None:
    """Above what 95% of perfect forecasters have, but not by as much as two tests ask for."""
    told = {}
    for scale in np.linspace(0.9, 1.0, 41):
        y = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
        scores = evaluate(Normal(np.zeros(1000), np.full(1000, scale)), y)
        told[scores.verdict.split(":")[0]] = scores.state
        if scores.verdict.startswith("Not clearly miscalibrated: "):
            assert not scores.test.reject
            assert scores.ecpe > scores.floor.ecpe_range[1]
            assert "is more than chance mostly gives at n = 1,000 (floor 0.0100" in scores.verdict
    assert list(told) == [
        "Overconfident",
        "Nearly calibrated",
        "Not clearly miscalibrated",
        "Calibrated",
    ]
    assert list(told.values()) == ["bad", "good", "good", "good"]


def test_a_small_error_on_many_rows_is_no_alarm() -> None:
    y = stats.norm.ppf((np.arange(10_788) + 0.5) / 10_788)
    scores = evaluate(Normal(np.zeros(10_788), np.full(10_788, 1.045)), y)
    assert scores.test.reject
    assert scores.verdict.startswith("Nearly calibrated: 90% intervals cover 91.4%, more than")
    assert (scores.state, scores.advice) == ("good", "")
    few = evaluate(Normal(np.zeros(10_788), np.full(10_788, 1.3)), y)
    assert (few.state, few.verdict.split(":")[0]) == ("bad", "Underconfident")
    assert few.advice.endswith(
        "calibrant.recalibrate(model, X_cal, y_cal), or calibrant recalibrate MODEL "
        "CALIBRATION.csv --out NEW"
    )


def test_the_worst_group_is_named_even_where_chance_may_explain_it() -> None:
    n = 2000
    zone = np.where(np.arange(n) < 90, "12", "elsewhere")
    u = (np.random.default_rng(5).permutation(n) + 0.5) / n
    u[:90] = np.where(np.arange(90) < 73, 0.05 + 0.9 * (np.arange(90) + 0.5) / 73, 0.01)
    u[73:81:2] = 0.99
    u[74:90] = np.where(np.arange(16) % 2, 0.99, 0.01)  # 81% of 90 rows are covered
    dist = Normal(np.linspace(0, 1, n)[np.random.default_rng(6).permutation(n)], np.ones(n))
    scores = evaluate(dist, dist.mean + stats.norm.ppf(u), pd.Series(zone, name="zone"))
    assert scores.worst is not None
    assert (scores.worst.source, scores.worst.name, scores.worst.n) == ("zone", "12", 90)
    assert scores.worst.coverage == pytest.approx(73 / 90)
    assert "slices is zone 12 (90 rows): 90% intervals cover 81.1%, which may be" in scores.verdict
    assert scores.state == "good"
    told = scores.to_dict()["worst"]
    assert (told["name"], told["clearly_off"]) == ("12", False)


def test_never_good_while_a_group_is_clearly_off() -> None:
    rng = np.random.default_rng(8)
    n = 3000
    groups = pd.DataFrame({"zone": rng.integers(0, 12, n), "new": rng.random(n) < 0.5})
    bad = (groups["zone"] == 7).to_numpy()
    y = rng.normal(size=n) * np.where(bad, 1.9, 0.97)
    dist = Normal(rng.normal(scale=1e-6, size=n), np.ones(n))
    scores = evaluate(dist, y, groups)
    assert scores.state == "mixed"
    assert scores.worst is not None
    assert (scores.worst.source, scores.worst.name) == ("zone", 7)
    assert scores.worst.clearly_off
    assert "1 of 24 slices is clearly off, worst zone 7 (" in scores.verdict
    assert 'calibrant.recalibrate(model, X_cal, y_cal, groups=["zone"])' in scores.advice
    assert "calibrant recalibrate MODEL CALIBRATION.csv --group zone --out NEW" in scores.advice
    assert scores.groups is not None
    assert {"zone = 7", "new = True"} <= set(scores.groups.names)
    unnamed = evaluate(dist, y, groups["zone"].to_numpy())
    assert "groups=groups_cal)" in unnamed.advice


@pytest.mark.slow
def test_calibrated_forecasts_are_seldom_blamed() -> None:
    """Two families of tests at 5% each: at most 10% of perfect forecasts are not good."""
    rng = np.random.default_rng(9)
    states = []
    for _ in range(200):
        loc, scale = rng.normal(size=1000), rng.uniform(1, 2, size=1000)
        y = loc + scale * rng.normal(size=1000)
        states.append(evaluate(Normal(loc, scale), y, rng.integers(0, 6, 1000)).state)
    blamed = len(states) - states.count("good")
    assert blamed <= 20 + 3 * np.sqrt(200 * 0.1 * 0.9)


def test_the_verdict_names_the_test_whose_p_value_it_quotes() -> None:
    rng = np.random.default_rng(31)
    y = rng.normal(size=400)
    told = set()
    for loc, scale in ((0.3, 1.0), (0.0, 0.8)):
        scores = evaluate(Normal(np.full(400, loc), np.full(400, scale)), y)
        p_values = {"ECPE": scores.test.p_value, "PIT": scores.test.pit_p_value}
        name = min(p_values, key=p_values.__getitem__)
        assert f", {name} test {p_value_text(p_values[name])})." in scores.verdict
        told.add(name)
    assert told == {"ECPE", "PIT"}


def test_verdict_looks_behind_the_average() -> None:
    rng = np.random.default_rng(32)
    scale = rng.uniform(0.3, 3.0, size=4000)
    loc = scale  # the deciles of the mean are those of the true spread
    y = loc + scale * rng.normal(size=4000)
    flat = Normal(loc, np.ones(4000))
    shape = metrics.pit(flat, y)
    knots = np.quantile(shape, np.linspace(0, 1, 102)[1:-1])
    # A map that is fitted to the average hides that every row is wrong.
    averaged = Recalibrated(flat, MonotoneMap(knots, np.linspace(0, 1, 102)[1:-1]))
    said = verdict_of(averaged, y)
    assert said.startswith("Calibrated on average, but off in some slices: ")
    assert "slices are clearly off, worst predicted mean " in said
    # Small errors of either sign in many deciles, at other levels than 90%.
    scattered = evaluate(averaged, y, coverage=0.001)
    assert "on average, but not within deciles of the predicted mean (mean ECPE 0." in (
        scattered.verdict
    )
    assert "slices is clearly off by itself, worst predicted mean " in scattered.verdict
    assert scattered.state == "mixed"
    assert 'groups=["predicted mean"]' in scattered.advice


@pytest.mark.parametrize("n", [120, 4000])
@pytest.mark.parametrize("level", [0.001, 0.5, 0.9])
def test_a_verdict_with_advice_does_not_put_it_down_to_chance(n: int, level: float) -> None:
    rng = np.random.default_rng(33)
    scale = rng.uniform(0.5, 2.0, size=n)
    y = scale * rng.normal(size=n)
    forecasts = {
        "truth": Normal(scale, scale),
        "narrow": Normal(scale, 0.7 * scale),
        "slightly narrow": Normal(scale, 0.95 * scale),
        "wide": Normal(scale, 1.4 * scale),
        "same spread": Normal(scale, np.full(n, 1.2)),
        "biased": Normal(scale + 0.3, scale),
    }
    with_advice = 0
    for name, dist in forecasts.items():
        found = evaluate(dist, y + scale, coverage=level)
        chance = "which chance explains" in found.verdict or "may be chance" in found.verdict
        assert not (found.advice and chance), f"{name}: {found.verdict} {found.advice}"
        assert bool(found.advice) == (found.state != "good") or "Not clearly" in found.verdict
        with_advice += bool(found.advice)
    assert 0 < with_advice < len(forecasts)


def test_text_is_a_narrow_aligned_table(dist: Distribution) -> None:
    text = str(evaluate(dist, dist.sample(random_state=1), groups=np.arange(N) % 2))
    lines = text.splitlines()
    assert lines[0] == f"Evaluation on {N} rows"
    assert max(map(len, lines)) <= 80
    (head,) = [line for line in lines if line.startswith("Calibration ")]
    (row,) = [line for line in lines if line.startswith("  ECPE  ")]
    assert head.index("value") + len("value") == row.index("0.0") + len("0.0000")
    assert f"{metrics.noise_floor(N).ecpe:.4f}" in row
    assert all(label in text for label in ("MCPE", "RMSE", "CRPS", "2 groups", "90% intervals"))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_table_at_extreme_scales(scale: float) -> None:
    dist = Normal(np.arange(20.0) * scale, np.full(20, scale))
    assert max(map(len, str(evaluate(dist, dist.mean)).splitlines())) <= 80


def test_json_is_valid_and_complete(dist: Distribution) -> None:
    result = evaluate(dist, np.full(N, 4.321), groups=np.arange(N) % 3)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    read = json.loads(result.to_json(), parse_constant=refuse)
    assert read == json.loads(result.to_json(indent=2)) == result.to_dict()
    assert {*METRICS, "n", "p_value", "verdict", "floor", "by_mean", "groups"} <= set(read)
    assert read["floor"]["ecpe_range"] == list(result.floor.ecpe_range)
    assert read["groups"]["names"] == [0, 1, 2]
    assert read["r2"] is None  # a constant target


def test_infinite_nll_is_null() -> None:
    result = evaluate(Empirical(np.zeros((5, 3))), np.arange(5.0))
    assert result.nll == np.inf
    assert result.to_dict()["nll"] is None
    assert "inf" in str(result)


def test_labels_that_json_does_not_know() -> None:
    groups = pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"]))
    result = evaluate(Normal([0.0, 1.0], [1.0, 1.0]), [0.0, 1.0], groups)
    names = json.loads(result.to_json())["groups"]["names"]
    assert [name[:10] for name in names] == ["2020-01-01", "2021-01-01"]


def test_frame() -> None:
    dist = families()["normal"]
    result = evaluate(dist, dist.sample(random_state=1))
    frame = result.to_frame()
    assert list(frame.columns) == ["value", "floor"]
    assert list(frame.index) == list(result.metrics)
    assert frame.loc["ecpe", "value"] == result.ecpe
    assert frame.loc["mcpe", "floor"] == result.floor.mcpe
    assert np.isnan(frame.loc["rmse", "floor"])


def test_markdown_and_html() -> None:
    dist = families()["normal"]
    result = evaluate(dist, dist.sample(random_state=1))
    lines = result.to_markdown().splitlines()
    assert (lines[0], lines[2]) == (result.verdict, result.advice)
    assert lines[4] == "| metric | value | floor |"
    assert all(line.count("|") == 4 for line in lines[4:])
    assert f"| ECPE | {result.ecpe:.4f} | {result.floor.ecpe:.4f} |" in lines
    html = evaluate(Normal([0.0] * 99, [0.1] * 99), np.arange(99.0))._repr_html_()
    assert "&lt; 0.0001)" in html


def test_frozen() -> None:
    result = evaluate(Normal([0.0], [1.0]), [0.5])
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.ecpe = 0.0  # type: ignore[misc]


def test_one_row() -> None:
    result = evaluate(Normal([0.0], [1.0]), [0.5])
    assert result.n == 1
    assert str(result).startswith("Evaluation on 1 row\n")
