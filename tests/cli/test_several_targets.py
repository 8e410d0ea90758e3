"""Several `--target`: fit, predict and evaluate a model of several outputs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import MultiOutput, evaluate, load_model
from calibrant.cli._models import model_inputs
from calibrant.cli.evaluate import _pages

BOTH = ["--target", "price", "--target", "rent"]


@pytest.fixture(scope="module")
def table(tmp_path_factory, frame) -> Path:
    """The table with a second target, which shares the first one's noise."""
    path = tmp_path_factory.mktemp("several") / "table.csv"
    frame.assign(rent=frame["price"] / 2 + frame["importance"]).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def joint(tmp_path_factory, run, table) -> Path:
    out = tmp_path_factory.mktemp("several") / "model"
    options = ["--method", "heteroscedastic", "--epochs", 2, "--out", out]
    done = run("fit", table, *BOTH, *options)
    assert done.exit_code == 0, done.stderr
    for target in ("price", "rent"):
        assert f"HeteroscedasticRegressor: {target} from 6 columns, 120 rows" in done.stderr
    return out


def test_it_is_the_model_of_python_and_neither_target_is_an_input(joint) -> None:
    model = load_model(joint)
    assert isinstance(model, MultiOutput)
    assert list(model.models_) == ["price", "rent"]
    for each in model.models_.values():
        assert not {"price", "rent"} & set(each.feature_names_in_)


def test_predictions_are_named_by_the_outputs(run, joint, table) -> None:
    done = run("predict", joint, table, "--coverage", 0.5, "--quantile", 0.05, "--quiet")
    made = pd.read_csv(io.StringIO(done.stdout))
    columns = ["mean", "stddev", "lower_50", "upper_50", "quantile_5"]
    named = [f"{target}_{name}" for target in ("price", "rent") for name in columns]
    assert list(made.columns) == ["name", *named]
    frame = pd.read_csv(table)
    model = load_model(joint)
    dist = model.predict_dist(model_inputs(model, frame, table))
    np.testing.assert_allclose(made["rent_upper_50"], dist.interval(0.5)[:, 1, 1])
    np.testing.assert_allclose(made["price_quantile_5"], dist.ppf(0.05)[:, 0])


def test_evaluate_scores_every_output_and_the_joint_forecast(run, joint, table) -> None:
    printed = run("evaluate", joint, table, "--groups", "shop")
    assert printed.exit_code == 0, printed.stderr
    for words in ("Evaluation of 2 outputs on 120 rows", "Energy score", "\nrent\n", "north"):
        assert words in printed.stdout
    found = json.loads(run("evaluate", joint, table, "--json").stdout)
    frame, model = pd.read_csv(table), load_model(joint)
    dist = model.predict_dist(model_inputs(model, frame, table))
    expected = evaluate(dist, frame[["price", "rent"]])
    assert found == json.loads(expected.to_json())


def test_rows_set_aside_and_gaps_in_any_target(run, table, tmp_path) -> None:
    frame = pd.read_csv(table)
    frame.loc[:9, "rent"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    options = ["--method", "heteroscedastic", "--epochs", 1, "--out", tmp_path / "m", "--json"]
    done = run("fit", tmp_path / "gaps.csv", *BOTH, "--test-size", 0.2, *options)
    assert done.exit_code == 0, done.stderr
    assert "10 of 120 rows left out, they have no 'rent'" in done.stderr
    result = json.loads(done.stdout)
    assert [each["target"] for each in result["outputs"]] == ["price", "rent"]
    assert result["rows"] == 88
    assert result["test"]["n"] == 22


@pytest.mark.slow
def test_a_report_for_every_target(run, joint, table, tmp_path) -> None:
    done = run("evaluate", joint, table, "--report", tmp_path / "page.html", "--groups", "shop")
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page_price.html", "page_rent.html"]
    for target in ("price", "rent"):
        assert f"Report: {tmp_path / f'page_{target}.html'}" in done.stderr
        page = (tmp_path / f"page_{target}.html").read_text(encoding="utf-8")
        assert target in page
        assert "shop" in page
    again = run("evaluate", joint, table, "--report", tmp_path / "page.html")
    assert again.exit_code == 2
    assert "page_price.html exists already" in again.stderr


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (["price in €/m²", "rent"], ["page_price-in-m²", "page_rent"]),
        (["a b", "a/b"], ["page_1-a-b", "page_2-a-b"]),
        (["A", "a"], ["page_1-A", "page_2-a"]),
    ],
)
def test_names_of_the_reports(targets, expected, tmp_path) -> None:
    pages = _pages(tmp_path / "page.html", targets, force=False)
    assert list(pages) == targets
    assert [path.name for path in pages.values()] == [f"{name}.html" for name in expected]


def test_bounds_of_all_targets_and_of_one(run, table, tmp_path) -> None:
    options = ["--method", "heteroscedastic", "--epochs", 1, "--out", tmp_path / "m"]
    frame = pd.read_csv(table)
    frame["rent"] = (frame["rent"] - frame["rent"].min()).round()
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", *BOTH, *options)
    assert "rent is never negative. --lower rent=0 (in Python" in " ".join(done.stderr.split())
    given = ["--lower", "rent=0", "--upper", 1e6, "--upper", "price=2e6", "--force"]
    done = run("fit", tmp_path / "t.csv", *BOTH, *options, *given)
    assert done.exit_code == 0, done.stderr
    assert "rent is never negative" not in done.stderr
    models = load_model(tmp_path / "m").models_
    assert models["rent"].bounds == (0.0, 1e6)
    assert models["price"].bounds == (None, 2e6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--lower", "rnt=0"], "'rnt' is not a --target. Did you mean 'rent'?"),
        (["--lower", "rent=low"], "must be a number, or COL=NUMBER for one target"),
        (["--lower", "1", "--upper", "rent=0"], "--lower must be below --upper, got 1 and 0."),
    ],
)
def test_bounds_that_make_no_sense(run, table, tmp_path, given, words) -> None:
    done = run("fit", table, *BOTH, "--out", tmp_path / "m", *given)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["evaluate", "MODEL", "TABLE", "--target", "price"], "without --target"),
        (["evaluate", "MODEL", "TABLE", "--markdown"], "without --target"),
        (["recalibrate", "MODEL", "TABLE", "--out", "r"], "Recalibrate them one by one"),
        (["export", "MODEL", "--onnx", "m.onnx", "--encoded"], "takes a model of one target"),
        (["fit", "TABLE", *BOTH, "--engine", "ray", "--out", "r"], "one --target at a time"),
        (["fit", "TABLE", *BOTH, "--minutes", "1", "--out", "r"], "time_budget"),
    ],
)
def test_what_takes_one_target_says_so(
    run, joint, table, tmp_path, monkeypatch, command, words
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [{"MODEL": joint, "TABLE": table}.get(word, word) for word in command]
    done = run(*given)
    assert done.exit_code == 2
    assert words in done.stderr
