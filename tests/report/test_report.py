from __future__ import annotations

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from calibrant import HeteroscedasticRegressor, IsotonicRecalibrator
from calibrant.distributions import Normal
from calibrant.errors import (
    DataError,
    MissingFileError,
    NotFittedError,
    OutputExistsError,
    ParameterError,
)
from calibrant.metrics import LEVELS, METRICS, coverage, evaluate, mean_width
from calibrant.metrics.floor import binomial_band
from calibrant.report import build_report, write_report

from .conftest import IMAGE, SCRIPT, N


def text_of(page: str) -> str:
    """Visible text, without the scripts."""
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def data_of(page: str) -> dict:
    (found,) = re.findall(r'id="page-data">(.*?)</script>', page, re.S)
    return json.loads(found)


@pytest.fixture(scope="module")
def page(rows) -> str:
    return build_report(
        {"truth": rows.truth, "narrow": rows.narrow}, rows.X, rows.y, target="price"
    ).html


def test_the_verdict_comes_first_with_the_chance_of_a_perfect_forecaster(page, rows) -> None:
    text = text_of(page)
    low, high = binomial_band(N, 0.9, 0.95)
    for dist in (rows.truth, rows.narrow):
        share = coverage(dist, rows.y)
        sentence = (
            f"90% intervals covered {100 * share:.1f}% of 500 rows; a perfect forecaster lands "
            f"between {100 * low:.1f}% and {100 * high:.1f}%."
        )
        assert text.index(sentence) < text.index("Coverage of the intervals")
        about_all = evaluate(dist, rows.y).verdict.split(" at n")[0].split(": ")[1]
        assert about_all in text


def test_the_verdict_is_about_all_slices_and_says_what_to_do(rows) -> None:
    def shown(dist: Normal) -> tuple[str, str]:
        page = build_report(dist, rows.X, rows.y, groups={"large": rows.X["x"] > 0.9}).html
        return re.findall(r'<article class="(\w+)"', page)[0], text_of(page)

    state, text = shown(rows.truth)
    assert state == "good"
    assert re.search(r"Worst of \d+ slices is .* which (chance explains|may be chance)", text)
    assert "recalibrate" not in text
    state, text = shown(rows.narrow)
    assert state == "bad"
    assert "calibrant recalibrate MODEL CALIBRATION.csv --group " in text


def test_a_decile_of_any_column_that_is_off_is_never_green(rows) -> None:
    hidden = Normal(rows.truth.mean, rows.truth.stddev)
    column = np.arange(N) % 10
    y = rows.y + np.where(column == 3, 250.0, 0.0) * np.where(np.arange(N) % 20 == 3, 1, -1)
    frame = pd.DataFrame({"column": column})
    assert 'class="good"' not in build_report(hidden, frame, y).html


def test_a_level_outside_its_band_is_neither_good_nor_bad_where_all_levels_agree() -> None:
    def states(level: float) -> list[str]:
        page = build_report(dist, None, y, coverage=level).html
        return re.findall(r'<article class="(\w+)"', page)

    dist = Normal(np.zeros(300), np.ones(300))
    u = (np.arange(300) + 0.5) / 300  # nothing but the tails is wrong: 14 rows more beyond 90%
    u[15:22], u[278:285] = 0.04, 0.96
    y = norm.ppf(u)
    said = text_of(build_report(dist, None, y).html)
    assert "covered 85.3% of 300 rows; a perfect forecaster lands between 86.3% and" in said
    assert "Calibrated: ECPE" in said
    assert "At 90% alone coverage is outside that range; over all levels that is what" in said
    assert states(0.9) == ["mixed"]
    assert states(0.5) == ["good"]
    y = y + 0.5
    assert states(0.9) == ["bad"]


def test_a_small_error_on_many_rows_is_slight() -> None:
    n = 20_000
    y = norm.ppf((np.arange(n) + 0.5) / n)
    page = build_report(Normal(np.zeros(n), np.full(n, 0.97)), None, y).html
    assert 'class="good"' in page
    states = {each["models"][0]["state"] for each in data_of(page)["levels"]}
    assert "slightly too narrow" in states
    assert "too narrow" not in states


def test_every_level_is_exact(page, rows) -> None:
    levels = data_of(page)["levels"]
    assert len(levels) == 99
    shares, widths = coverage(rows.narrow, rows.y, coverage=LEVELS), mean_width(rows.narrow, LEVELS)
    for each, share, width in zip(levels, shares, widths, strict=True):
        assert each["models"][1]["covered"] == f"{100 * share:.1f}%"
        assert each["models"][1]["width"] == f"{width:,.1f}"


def test_an_evaluation_is_shown_without_computing_it_again(rows) -> None:
    calls = []

    class Counting(Normal):
        def __getattribute__(self, name: str):
            if name in ("cdf", "cdf_left", "ppf", "interval", "crps", "log_prob", "median"):
                calls.append(name)
            return super().__getattribute__(name)

    dist = Counting(rows.truth.mean, rows.truth.stddev)
    evaluation = evaluate(dist, rows.y)
    assert {"cdf", "ppf", "log_prob"} <= set(calls)
    calls.clear()
    page = build_report({"truth": dist}, rows.X, rows.y, evaluations={"truth": evaluation}).html
    assert calls == []
    assert data_of(page) == data_of(build_report({"truth": rows.truth}, rows.X, rows.y).html)

    class Model:
        def predict_dist(self, X):
            raise AssertionError("predicted again")

    alone = build_report(Model(), rows.X, rows.y, evaluations=evaluation).html
    assert evaluation.verdict.split(". ")[0] in text_of(alone)


def test_evaluations_of_something_else_are_refused(rows) -> None:
    evaluation = evaluate(rows.truth, rows.y)
    forecasts = {"truth": rows.truth}
    with pytest.raises(
        ParameterError, match=r"coverage 0.8, but the evaluation of truth is .* 0.9"
    ):
        build_report(forecasts, None, rows.y, coverage=0.8, evaluations={"truth": evaluation})
    with pytest.raises(ParameterError, match=r"got \['other'\] for the models \['truth'\]"):
        build_report(forecasts, None, rows.y, evaluations={"other": evaluation})
    with pytest.raises(DataError, match="evaluation of truth is of other targets"):
        build_report(forecasts, None, rows.y + 1, evaluations={"truth": evaluation})


def test_the_table_of_scores_is_that_of_the_registry(page, rows) -> None:
    text = text_of(page)
    result = evaluate(rows.truth, rows.y)
    for name, value in result.metrics.items():
        shown = f"{result.label(name)} {METRICS[name].format(value)} " in text
        assert shown == METRICS[name].in_report


def test_the_worst_slice_is_named_and_adjusted(page, rows) -> None:
    text = text_of(page)
    few = np.count_nonzero(rows.X["x"] > 0.9)
    found = rf"\d of \d+ slices are clearly off, worst predicted spread 20 \({few} rows\): 90%"
    assert re.search(found, text)
    assert "(p < 0.0001, adjusted)." in text


def test_p_values_stay_on_one_line(page) -> None:
    sentence = page[page.index("clearly off") :][:160]
    assert "(p\N{NO-BREAK SPACE}&lt;\N{NO-BREAK SPACE}0.0001" in sentence


def test_many_categories_show_the_worst_ones() -> None:
    rng = np.random.default_rng(3)
    n = 6000
    zone = np.array([f"zone {k}" for k in rng.integers(0, 90, n)])
    dist = Normal(rng.normal(size=n), np.ones(n))
    y = dist.mean + rng.normal(size=n) * np.where(zone == "zone 41", 3.0, 1.0)
    frame = pd.DataFrame({"zone": zone, "name": [f"row {k}" for k in range(n)]})
    page = build_report(dist, frame, y).html
    charts = {each["source"]: each for each in data_of(page)["slices"]}
    assert "name" not in charts
    (model,) = charts["zone"]["models"]
    assert len(model["names"]) == 12
    assert "zone 41" in model["names"]
    assert "Of 90 slices the 12 worst are drawn." in text_of(page)


def test_slices_have_every_coverage(page, rows) -> None:
    data = data_of(page)
    by_source = {each["source"]: each for each in data["slices"]}
    fuel = rows.X["fuel"].astype(str).to_numpy()
    for model, dist in zip(by_source["fuel"]["models"], (rows.truth, rows.narrow), strict=True):
        for k, name in enumerate(model["names"]):
            own = fuel == name
            assert model["n"][k] == own.sum()
            expected = 100 * coverage(dist[own], rows.y[own], coverage=LEVELS)
            assert np.allclose(model["covered"][k], expected, atol=0.0051)
    low, high = binomial_band(int((fuel == "diesel").sum()), LEVELS, 1 - 0.05 / 3)
    band = by_source["fuel"]["bands"][str((fuel == "diesel").sum())]
    assert np.allclose(band, [100 * low, 100 * high], atol=0.0051)


def test_picked_rows_have_their_inputs_quantiles_and_slices(page, rows) -> None:
    data = data_of(page)
    picked = data["rows"]
    labels = [int(label) for label in picked["label"]]
    assert dict(picked["inputs"])["fuel"] == [str(rows.X["fuel"][row]) for row in labels]
    for model, dist in zip(picked["models"], (rows.truth, rows.narrow), strict=True):
        expected = dist[labels].ppf(np.arange(1, 200) / 200)
        assert np.allclose(model["quantiles"], expected, atol=0.0051)
    by_source = {each["source"]: each for each in data["slices"]}
    model = by_source["fuel"]["models"][0]
    for row, at in zip(labels, model["of_rows"], strict=True):
        assert model["names"][at] == str(rows.X["fuel"][row])
    z = np.abs(rows.y - rows.narrow.mean) / rows.narrow.stddev
    assert int(np.argmax(z)) in labels


def test_surprises_outside_the_sample_can_be_picked() -> None:
    n = 5000
    dist = Normal(np.arange(n, dtype=float), np.ones(n))
    y = dist.mean.copy()
    y[1234] += 9.0
    picked = data_of(build_report(dist, None, y).html)["rows"]
    at = picked["label"].index("1234")
    expected = dist[[1234]].ppf(np.arange(1, 200) / 200)[0]
    assert np.allclose(picked["models"][0]["quantiles"][at], expected, atol=0.1)


def test_a_log_axis_where_positive_targets_span_decades() -> None:
    rng = np.random.default_rng(4)
    y = np.exp(1.5 * rng.normal(size=400))
    charts = data_of(build_report(Normal(y, y), None, y).html)["charts"]
    assert charts["intervals-0"]["layout"]["yaxis"]["type"] == "log"
    assert charts["accuracy-0"]["layout"]["xaxis"]["type"] == "log"
    plain = data_of(build_report(Normal(y + 100, y), None, y + 100).html)["charts"]
    assert "type" not in plain["intervals-0"]["layout"]["yaxis"]


def test_facts_and_surprises(page, rows) -> None:
    text = text_of(page)
    for word in ("SHA-256", "rows 500", "3 columns", "plotly", "calibrant", "Python"):
        assert word in text
    z = np.abs(rows.y - rows.truth.mean) / rows.truth.stddev
    surprises = text[text.index("Largest surprises") :]
    first = surprises[surprises.index("tail probability ", 200) :].split("fuel ")[1].split()
    assert first[0] == str(np.argmax(z))
    assert f"{rows.X['x'][np.argmax(z)]:.6g}" in first[:30]  # an input of that row


def test_what_users_write_is_escaped(rows) -> None:
    page = build_report({IMAGE: rows.truth}, rows.X, rows.y, title=SCRIPT, target=IMAGE).html
    assert SCRIPT in text_of(page)
    for bad in ("<script>window", "<img", "<b>petrol", "<!-- <script"):
        assert bad not in page.replace("<!doctype html>", "")
    assert page.count("<script") == 5  # data, three of ours, plotly


def test_the_fingerprint_is_of_the_data(rows) -> None:
    def digest(X, y) -> str:
        return re.findall(r"SHA-256</dt><dd>(\w{64})<", build_report(rows.truth, X, y).html)[0]

    first = digest(rows.X, rows.y)
    assert digest(rows.X.copy(), list(rows.y)) == first
    assert digest(rows.X.rename(columns={"x": "z"}), rows.y) != first
    assert digest(rows.X, rows.y + 1e-9) != first
    assert digest(rows.X.assign(fuel="diesel"), rows.y) != first


@pytest.mark.parametrize("n", [1, 2, 7])
def test_few_rows(n) -> None:
    dist = Normal(np.arange(n, dtype=float), np.ones(n))
    page = build_report({"a": dist, "b": dist}, np.zeros((n, 2)), np.zeros(n)).html
    assert f"of {n} row{'s' if n > 1 else ''};" in text_of(page)
    assert "NaN" not in json.dumps(data_of(page))


def test_columns_of_every_kind(rows) -> None:
    frame = pd.DataFrame(
        {
            "gaps": np.where(np.arange(N) % 7 == 0, np.nan, np.arange(N)),
            "none": np.nan,
            "day": pd.date_range("2024-01-01", periods=N),
            "flag": np.arange(N) % 2 == 0,
            "kind": pd.Categorical(np.where(np.arange(N) % 3 == 0, "a", "b")),
            "key": [f"row {i}" for i in range(N)],
            "few": np.arange(N) % 4,
            "text": [None if i % 9 == 0 else "known" for i in range(N)],
        }
    )
    groups = pd.Series(np.arange(N) % 5, name="shop")
    page = build_report(rows.truth, frame, rows.y, groups=groups).html
    named = {each["source"]: each["models"][0]["names"] for each in data_of(page)["slices"]}
    assert "missing" in named["gaps"]
    assert named["text"] == ["known", "missing"]
    assert "2024-01-01 to 2024-02-19" in named["day"]
    assert (named["flag"], named["shop"]) == (["False", "True"], list("01234"))
    assert not {"key", "none"} & set(named)


def test_a_fitted_model_reports_itself(rows, tmp_path) -> None:
    y = pd.Series(rows.y, name="price")
    model = HeteroscedasticRegressor(random_state=0, epochs=2, hidden=(8,))
    model.fit(rows.X, y)
    path = tmp_path / "report.html"
    report = model.report(rows.X, rows.y, path, title="Mine")
    assert path.read_text(encoding="utf-8") == report.html
    text = text_of(report.html)
    for word in ("Mine", "price", "HeteroscedasticRegressor", "epochs 2", "hidden (8,)"):
        assert word in text
    assert model.report(rows.X, y).html.startswith("<!doctype html>")
    wrapped = IsotonicRecalibrator().fit(model, rows.X, rows.y)
    report = wrapped.report(rows.X, rows.y, tmp_path / "wrapped.html")
    assert (tmp_path / "wrapped.html").read_text(encoding="utf-8") == report.html
    text = text_of(report.html)
    for word in ("price", "IsotonicRecalibrator", "model: epochs 2"):
        assert word in text
    with pytest.raises(NotFittedError, match="not fitted yet"):
        IsotonicRecalibrator().report(rows.X, rows.y)


def test_arrays_and_tensors(rows) -> None:
    import torch

    matrix = rows.X[["x", SCRIPT]].to_numpy()
    plain = build_report(rows.truth, matrix, rows.y).html
    assert "slice of column 2" in text_of(plain)
    tensor = build_report(rows.truth, torch.tensor(matrix), torch.tensor(rows.y)).html
    assert data_of(tensor) == data_of(plain)


def test_notebooks_show_the_page_in_a_frame(rows) -> None:
    report = build_report(rows.truth, None, rows.y)
    frame = report._repr_html_()
    assert html.unescape(re.findall(r'srcdoc="(.*?)" style', frame, re.S)[0]) == report.html
    assert "MB; save(path)" in repr(report)


def test_files_are_written_whole_or_not_at_all(rows, tmp_path, monkeypatch) -> None:
    path = tmp_path / "report.html"
    write_report(path, rows.truth, None, rows.y)
    before = path.read_bytes()
    with pytest.raises(OutputExistsError, match="exists already"):
        write_report(path, rows.truth, None, rows.y)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_report(path, rows.narrow, None, rows.y, overwrite=True)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_bad_input(rows, tmp_path) -> None:
    with pytest.raises(MissingFileError, match="There is no folder"):
        write_report(tmp_path / "no" / "r.html", rows.truth, None, rows.y)
    with pytest.raises(OutputExistsError, match="is a folder"):
        write_report(tmp_path, rows.truth, None, rows.y)
    with pytest.raises(ParameterError, match="at least one model"):
        build_report({}, None, rows.y)
    with pytest.raises(ParameterError, match=r"predict_dist or a distribution, got object"):
        build_report(object(), rows.X, rows.y)
    with pytest.raises(DataError, match=r"same rows, got different numbers: {'a': 500, 'b': 9}"):
        build_report({"a": rows.truth, "b": rows.truth[:9]}, None, rows.y)
    with pytest.raises(DataError, match="y must be finite"):
        build_report(rows.truth, None, np.full(N, np.nan))
    with pytest.raises(ParameterError, match="coverage must be"):
        build_report(rows.truth, None, rows.y, coverage=90)
