"""`calibrant compare` in a minute: a plan, a board that fills, an answer to copy."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from calibrant import load_model
from calibrant.cli import app
from calibrant.errors import ParameterError
from calibrant.experiments import Cell, Outcome, Store, methods, own_table, time_plan
from calibrant.experiments.candidates import BASELINE, CANDIDATES, candidate, fit_options
from calibrant.experiments.own_table import OwnTable
from calibrant.experiments.time_plan import PlannedMethod, Schedule, TimePlan, plan_time

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; comparisons train for two epochs."""
    build = methods.build
    monkeypatch.setattr(
        own_table, "build", lambda key, name, series: build(key, name, series=series, quick=True)
    )

    def invoke(*arguments: object) -> Result:
        return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, [*map(str, arguments)])

    return invoke


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(0, 2, 150), "town": rng.choice(["A", "B"], 150)})
    frame["the price"] = frame["size"] + (frame["town"] == "A") + 0.2 * rng.normal(size=150)
    path = tmp_path_factory.mktemp("tables") / "houses of a town.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def options(table: Path, tmp_path: Path) -> list[object]:
    return [
        *("compare", table, "--target", "the price", "--out", tmp_path / "out", "--folds", 2),
        *("--engine", "serial", "--device", "cpu"),
    ]


def fixed_prices(monkeypatch: pytest.MonkeyPatch, prices: dict[str, float]) -> None:
    monkeypatch.setattr(time_plan, "fold_seconds", lambda experiment, name: prices[name])


def test_plan_board_and_a_command_that_runs(
    run: Run, options: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(*options, "--methods", "heteroscedastic,mmd --quality fast,boosted-trees")
    assert done.exit_code == 0, done.stderr
    plan, board = done.stderr.index("Plan: 2 folds of 150 rows"), done.stderr.index("fold 1 of 2")
    assert plan < board
    assert "heteroscedastic, fold 2 of 2: CRPS" in done.stderr
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if "calibrant fit" not in line) <= 80
    assert any(line.startswith("baseline") and " 0.0% " in line for line in lines)
    assert any(line.startswith("noise floor") for line in lines)
    command = lines[-1].strip()  # the answer to copy comes last
    assert command.startswith("calibrant fit")
    assert lines.index(next(line for line in lines if line.startswith("Rule:"))) < len(lines) - 4
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)[1:]
    fitted = run(*words, "--epochs", 1, "--device", "cpu")
    assert fitted.exit_code == 0, fitted.stderr
    assert load_model("model").target_name_ == "the price"


@pytest.mark.parametrize("name", [name for name in CANDIDATES if fit_options(name)])
def test_every_name_on_the_board_can_be_typed(run: Run, name: str, table: Path) -> None:
    words = shlex.split(fit_options(name) or "")
    done = run("fit", table, "--target", "no such column", "--out", "model", *words)
    assert "has no column 'no such column'" in " ".join(
        done.stderr.split()
    )  # options were accepted


@pytest.mark.slow
def test_a_time_budget_can_be_typed(run: Run, table: Path, tmp_path: Path) -> None:
    assert fit_options("mmd --minutes 0.25") == "--method mmd --minutes 0.25"
    assert candidate("mmd --minutes 0.25").always == {"time_budget": 15.0}
    common = ["fit", table, "--target", "the price", "--out", tmp_path / "m", "--epochs", 1]
    assert run(*common, "--minutes", 0.05, "--device", "cpu").exit_code == 0
    assert load_model(tmp_path / "m").time_budget == 3.0
    wrong = run(*common, "--minutes", 5, "--method", "ell", "--force")
    assert "--minutes is for --method mmd, got --method ell." in wrong.stderr


def test_what_does_not_fit_is_left_out_and_continued(
    run: Run, options: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fixed_prices(monkeypatch, {BASELINE: 0.0, "heteroscedastic": 0.1, "ell": 1000.0})
    names = ["--methods", "ell,heteroscedastic"]
    done = run(*options, *names)
    assert done.exit_code == 0, done.stderr
    assert "if time is left" in done.stderr
    assert "Not enough time for ell: with a larger --minutes" in " ".join(done.stderr.split())
    assert {cell.method for cell in Store(tmp_path / "out").cells()} == {
        BASELINE,
        "heteroscedastic",
    }
    again = run(*options, *names, "--minutes", 100)
    assert again.stderr.count("ell, fold") == 2
    assert "heteroscedastic, fold" not in again.stderr
    assert "done before" in again.stderr


def test_too_little_time_says_so(
    run: Run, options: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed_prices(monkeypatch, {BASELINE: 0.0, "ell": 1000.0})
    done = run(*options, "--methods", "ell", "--quiet")
    assert done.exit_code != 0
    assert "No method was finished in time. Allow more minutes" in " ".join(done.stderr.split())
    assert "minutes must be above 0, got 0" in run(*options, "--minutes", 0).stderr


def test_rows_in_the_order_of_time_are_pointed_out(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=120, freq="D")
    frame = pd.DataFrame({"day": days, "size": rng.normal(size=120), "y": rng.normal(size=120)})
    frame.to_csv(tmp_path / "days.csv", index=False)
    command = ["compare", tmp_path / "days.csv", "--target", "y", "--methods", "heteroscedastic"]
    done = run(*command, "--out", tmp_path / "out", "--engine", "serial", "--folds", 2)
    said = " ".join(done.stderr.split())
    assert "the rows are in the order of 'day', and the rows of random folds lie among" in said
    assert "calibrant fit --test-size 0.2 --time 'day'" in said


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_an_interrupt_keeps_the_board(
    run: Run, options: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed_prices(monkeypatch, {BASELINE: 0.0, "heteroscedastic": 0.1, "ell": 1.0})
    cross_validate = OwnTable.run

    def interrupted(self: OwnTable, cells: Any, device: str) -> Any:
        if cells[0].method == "ell":
            os.kill(os.getpid(), signal.SIGINT)
        return cross_validate(self, cells, device)

    monkeypatch.setattr(OwnTable, "run", interrupted)
    done = run(*options, "--methods", "heteroscedastic,ell")
    assert done.exit_code == 130
    assert done.stdout.startswith("method")
    assert "Recommended: heteroscedastic" in done.stdout
    assert "4 of 6 cells are kept" in " ".join(done.stderr.split())


def test_inputs_without_information_are_told(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pd.DataFrame({"a": rng.normal(size=60), "y": rng.normal(size=60)}).to_csv(
        tmp_path / "noise.csv", index=False
    )
    done = run(
        *("compare", tmp_path / "noise.csv", "--target", "y", "--methods", "boosted-trees"),
        *("--out", tmp_path / "out", "--engine", "serial", "--quiet"),
    )
    assert "No better than the baseline" in " ".join(done.stdout.split())


def experiment() -> OwnTable:
    rng = np.random.default_rng(0)
    return own_table.own_table(rng.normal(size=(60, 2)), rng.normal(size=60), folds=4)


def test_order_of_the_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prices = {
        BASELINE: 0.0,
        "mmd": 90.0,
        "mmd --minutes 0.25": 15.0,
        "catboost": 3.0,
        "ell": 20.0,
        "quantile": 1.0,
    }
    fixed_prices(monkeypatch, prices)
    names = [BASELINE, "mmd", "ell", "catboost", "quantile"]
    plan = plan_time(experiment(), names, Store(tmp_path), minutes=2.0, workers=2)
    cheap = [BASELINE, "quantile", "catboost", "mmd --minutes 0.25", "ell", "mmd"]
    assert plan.names == cheap
    assert [method.in_time for method in plan.methods] == [True] * 5 + [False]
    assert "about 78 s of 2 min" in str(plan)
    ample = plan_time(experiment(), names, Store(tmp_path), minutes=10.0, workers=2)
    assert ample.names == [BASELINE, "quantile", "catboost", "ell", "mmd"]  # all are cheap here
    prices |= {"mmd": 20.0, "ell": 15.0}
    soon = plan_time(experiment(), names, Store(tmp_path), minutes=2.0, workers=2)
    assert soon.names == [BASELINE, "quantile", "catboost", "mmd", "ell"]
    assert all(method.in_time for method in ample.methods)
    with pytest.raises(ParameterError, match="minutes must be above 0"):
        plan_time(experiment(), names, Store(tmp_path), minutes=0.0, workers=2)


def test_observed_times_correct_the_estimates() -> None:
    planned = [
        PlannedMethod(name, 10.0, 4, 20.0, in_time=True) for name in ("quantile", "ell", "laplace")
    ]
    schedule = Schedule(TimePlan(tuple(planned), 1.0, 60, 4, 2), time.monotonic() + 60.0)
    assert schedule.fits(Cell("c", "t", "quantile", 0))  # two rounds of 10 s
    schedule.observe(Outcome(Cell("c", "t", "quantile", 0), "done", seconds=40.0))
    assert schedule.fits(Cell("c", "t", "quantile", 1))  # one more of 40 s
    assert not schedule.fits(Cell("c", "t", "ell", 0))  # 10 s are 40 s here: two rounds do not fit
    schedule.observe(Outcome(Cell("c", "t", "laplace", 0), "done", seconds=0.1))
    assert schedule.fits(Cell("c", "t", "ell", 0))


def test_estimates_are_of_the_right_size() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    table = own_table.own_table(X, X[:, 0] + rng.normal(size=400), folds=2)
    for name in ("heteroscedastic", "boosted-trees"):
        estimate = time_plan.fold_seconds(table, name)
        (record,) = table.run(table.cells([name])[:1], "cpu")
        assert 0.05 < estimate / record["seconds"]["fit"] < 20.0
