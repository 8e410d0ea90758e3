"""The page about forecasts over time: what it says, what it draws, what it can't be made to run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import Forecaster, GlobalNetwork, HeteroscedasticRegressor, backtest
from calibrant.distributions import Normal
from calibrant.errors import DataError, OutputExistsError
from calibrant.metrics import LEVELS, Evaluation, coverage, evaluate
from calibrant.metrics.floor import binomial_band
from calibrant.report import Fan, build_series_report

from .conftest import IMAGE, SCRIPT
from .test_browser import opened, requests, slide, traces, wait

H, N = 6, 400
DAYS = pd.date_range("2026-03-01", periods=60 + H, freq="D")


def a_fan(name: str = "shop 1", *, known: bool = True, scale: float = 2.0) -> Fan:
    rng = np.random.default_rng(5)
    past = pd.Series(10 + rng.normal(size=60), index=DAYS[:60])
    dist = Normal(np.full(H, 10.0), np.full(H, scale))
    observed = np.array([10.0, 40.0, 9.0, np.nan, 11.0, 10.5]) if known else None
    return Fan(name, dist, DAYS[60:], past, observed)


def evaluations(narrow: tuple[int, ...] = ()) -> dict[int, Evaluation]:
    """Forecasts 1 ... H steps ahead, too narrow at some of the steps."""
    found = {}
    for step in range(1, H + 1):
        truth = Normal(np.zeros(N), np.ones(N))
        y = truth.sample(random_state=step)[:, 0]
        said = Normal(np.zeros(N), np.full(N, 0.6 if step in narrow else 1.0))
        found[step] = evaluate(said, y)
    return found


def data_of(page: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="page-data">(.*?)</script>', page)
    return json.loads(text)


def test_fans_hold_the_quantiles_of_every_interval() -> None:
    data = data_of(build_series_report([a_fan()]).html)
    (fan,) = data["fans"]
    bounds = a_fan().dist.interval(0.9)
    assert np.allclose([row[99 - 90] for row in fan["quantiles"]], bounds[:, 0], atol=1e-3)
    assert np.allclose([row[99 + 90] for row in fan["quantiles"]], bounds[:, 1], atol=1e-3)
    assert fan["x"][0] == "2026-04-30T00:00:00"
    assert fan["y"][1:4] == [40.0, 9.0, None]
    assert len(fan["past"]["x"]) == 60
    assert data["steps"] is None


def test_coverage_of_every_step_and_its_band() -> None:
    found = evaluations()
    steps = data_of(build_series_report([a_fan()], evaluations=found).html)["steps"]
    assert steps["step"] == list(range(1, H + 1))
    for step, covered in zip(steps["step"], steps["covered"], strict=True):
        rows = found[step].rows
        assert np.allclose(covered, 100 * coverage(rows.dist, rows.y, coverage=LEVELS), atol=0.01)
    low, high = binomial_band(N, LEVELS, 0.95)
    assert np.allclose(steps["bands"][str(N)], 100 * np.array([low, high]), atol=0.01)


def test_the_verdict_names_the_worst_step() -> None:
    good = build_series_report([a_fan()], evaluations=evaluations()).html
    assert 'class="good"' in good
    assert "No step is further off than chance explains." in good
    page = build_series_report([a_fan()], evaluations=evaluations(narrow=(4,))).html
    assert "1 of 6 steps is further off than chance explains, worst 4 steps ahead: " in page
    assert '<option value="3" selected>4</option>' in page
    everywhere = build_series_report([a_fan()], evaluations=evaluations(tuple(range(1, H + 1))))
    assert 'class="bad"' in everywhere.html
    assert "policy &#34;refit&#34;" in everywhere.html


def test_the_baseline_stands_beside_the_forecast() -> None:
    found = evaluations()
    naive = {step: 2 * each.crps for step, each in found.items()}
    page = build_series_report([a_fan()], evaluations=found, naive_crps=naive).html
    assert "50% below that of seasonal naive" in page
    first = data_of(page)["charts"]["crps"]["data"]
    assert [trace["name"] for trace in first] == ["forecast", "seasonal naive"]
    assert np.allclose(first[1]["y"], list(naive.values()))


def test_times_of_every_kind() -> None:
    fan = a_fan(known=False)
    for times, past, said in [
        (pd.RangeIndex(60, 60 + H), pd.RangeIndex(60), 60),
        (pd.period_range("2026-01", periods=H, freq="M"), fan.past.index, "2026-01-01T00:00:00"),
        (DAYS[60:].tz_localize("Europe/Berlin"), fan.past.index, "2026-04-30T00:00:00"),
    ]:
        other = Fan("a", fan.dist, times, fan.past.set_axis(past))
        assert data_of(build_series_report([other]).html)["fans"][0]["x"][0] == said


def test_nothing_to_show() -> None:
    with pytest.raises(DataError, match="at least one fan"):
        build_series_report([])


def test_what_users_write_is_escaped() -> None:
    fan = a_fan(SCRIPT)
    page = build_series_report([fan], title=IMAGE, target=SCRIPT, settings={IMAGE: SCRIPT}).html
    for bad in ("<script>window", "<img", "<!-- <script"):
        assert bad not in page
    assert page.count("<script") == 4  # data, two of ours, plotly


@pytest.fixture(scope="module")
def tested() -> Any:
    t = np.arange(500)
    y = np.sin(t / 4) + 0.2 * np.random.default_rng(0).normal(size=500)
    frame = pd.DataFrame(
        {
            "shop": np.repeat(["a", "b"], 500),
            "day": np.tile(pd.date_range("2025-01-01", periods=500), 2),
            "sales": np.concatenate([y, 5 + 2 * y]),
        }
    )
    model = Forecaster(
        GlobalNetwork(epochs=2),
        window=20,
        horizon=4,
        series_id="shop",
        time="day",
        random_state=0,
    )
    return backtest(model, frame, start=420)


def test_fans_of_a_backtest(tested: Any, tmp_path: Path) -> None:
    page = tested.report(tmp_path / "page.html")
    fans = data_of(page.html)["fans"]
    assert 1 < len(fans) <= 12
    assert fans[0]["name"].endswith("(largest error)")
    assert {fan["name"][:6] for fan in fans} == {"a, fro", "b, fro"}
    rows = tested.frame().set_index(["id", "origin", "horizon"]).sort_index()
    for fan in fans:
        series, origin = re.match(r"(.), from ([\d-]+)", fan["name"]).groups()  # type: ignore[union-attr]
        own = rows.loc[(series, pd.Timestamp(origin))]
        assert fan["past"]["x"][-1][:10] == origin
        assert np.allclose(fan["y"], own["y_true"], atol=1e-3)
        assert np.allclose([row[9] for row in fan["quantiles"]], own["lower"], atol=1e-3)
    error = rows["y_true"].sub(rows["mean"]).abs().groupby(["id", "origin"]).mean()
    assert error.loc[("b")].max() > error.loc[("a")].max()  # twice the scale
    assert fans[0]["name"].startswith("b")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(OutputExistsError):
        tested.report(tmp_path / "page.html")


def test_origins_are_as_many_steps_before(tested: Any) -> None:
    for step, found in tested.by_horizon.items():
        ahead = found.index.get_level_values(-1) - found.origin.get_level_values(-1)
        assert set(ahead.days) == {step}


def test_fans_of_a_forecast(tested: Any) -> None:
    model = tested.forecaster
    fans = data_of(model.report().html)["fans"]
    assert [fan["name"] for fan in fans] == ["a", "b"]
    bounds = model.predict_interval(coverage=0.9)
    assert np.allclose(
        [row[9] for fan in fans for row in fan["quantiles"]], bounds[:, 0], atol=1e-3
    )
    values = model.series_.values()
    assert fans[1]["past"]["y"][-1] == pytest.approx(values.loc["b"].iloc[-1], abs=1e-3)


def test_one_step_ahead_is_shown_in_stretches() -> None:
    y = np.sin(np.arange(600) / 5) + 0.1 * np.random.default_rng(0).normal(size=600)
    small = HeteroscedasticRegressor(hidden=(8,), epochs=2)
    result = backtest(Forecaster(small, random_state=0), y, start=260)
    data = data_of(result.report().html)
    assert [len(fan["x"]) for fan in data["fans"]].count(150) == 2
    assert sorted(x for fan in data["fans"] for x in fan["x"]) == list(range(260, 600))
    assert set(data["charts"]) == {"fan", "step"}


@pytest.fixture(scope="module")
def shown(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("series") / "page.html"
    fans = [a_fan(SCRIPT), a_fan("shop 2", scale=3.0)]
    build_series_report(fans, evaluations=evaluations((4,)), target=IMAGE).save(path)
    browser.set_window_size(1200, 900)
    yield opened(browser, path)
    assert not browser.get_log("browser")
    assert not requests(browser, path)
    assert browser.execute_script("return window.hacked") is None


@pytest.mark.slow
class TestInTheBrowser:
    def test_slider_and_lists(self, shown: Any) -> None:
        slide(shown, 80)
        outer = self.upper(shown, a_fan().dist.interval(0.8)[0, 1])
        assert outer["name"] == "80%"
        last = a_fan().past.iloc[-1]
        assert outer["y"][0] == pytest.approx(last, abs=1e-3)  # the fan starts at what was known
        inside, outside = traces(shown, "fan")[4:]
        assert outside["y"] == [None, 40.0, None, None, None, None]
        assert inside["y"] == [10.0, None, 9.0, None, 11.0, 10.5]
        self.choose(shown, "fan-choice", 1)
        self.upper(shown, a_fan(scale=3.0).dist.interval(0.8)[0, 1])
        covered = traces(shown, "steps")[2]["y"]
        found = evaluations((4,))
        assert np.allclose(
            covered, [100 * each.test.coverage[79] for each in found.values()], atol=0.01
        )

    def test_a_step_is_picked(self, shown: Any) -> None:
        title = "return document.querySelector('#step-figure h3').textContent"
        traces(shown, "step")
        assert shown.execute_script(title) == "Reliability 4 steps ahead"
        self.choose(shown, "step-choice", 0)
        assert shown.execute_script(title) == "Reliability 1 step ahead"
        curve = evaluations()[1].test.coverage
        wait(
            shown, f"return document.getElementById('step').data[3].y[49] === {100 * curve[49]:.6g}"
        )

    @pytest.mark.parametrize("width", [1440, 768, 390])
    def test_no_width_scrolls_sideways(self, shown: Any, width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        shown.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            wait(shown, f"return document.documentElement.scrollWidth <= {width}")
        finally:
            shown.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_everything_has_a_label(self, shown: Any) -> None:
        unlabelled = shown.execute_script(
            "const all = (kind) => [...document.querySelectorAll(kind)];"
            "return all('select, input').filter((each) => !each.labels.length).length"
            " + all('.chart').filter((each) => !each.ariaLabel).length"
        )
        assert unlabelled == 0

    @staticmethod
    def choose(browser: Any, field: str, index: int) -> None:
        browser.execute_script(
            "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change', {bubbles: true}));",
            field,
            index,
        )

    @staticmethod
    def upper(browser: Any, bound: float) -> dict[str, Any]:
        """The outer band, once its upper bound one step ahead is drawn."""
        traces(browser, "fan")
        near = f"Math.abs(document.getElementById('fan').data[0].y[1] - {bound}) < 0.01"
        wait(browser, f"return {near}")
        return traces(browser, "fan")[0]
