"""``calibrant compare``: a leaderboard of one's own table, on quick methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant.experiments import Store, methods, own_table


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    build = methods.build
    monkeypatch.setattr(
        own_table, "build", lambda key, name, series: build(key, name, series=series, quick=True)
    )


@pytest.fixture
def options(data: Path, tmp_path: Path) -> list[object]:
    return [
        *("compare", data / "table.csv", "--target", "price", "--methods", "heteroscedastic,mmd"),
        *("--folds", 2, "--out", tmp_path / "out", "--device", "cpu", "--engine", "serial"),
    ]


@pytest.mark.usefixtures("quick")
def test_leaderboard_figure_and_resumption(run, options: list[object], tmp_path: Path) -> None:
    done = run(*options, "--figure", tmp_path / "board.svg")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["method", "CRPS"]
    assert {line.split()[0] for line in lines[1:4]} == {"baseline", "heteroscedastic", "mmd"}
    assert "Recommended: " in done.stdout
    assert "left out, 120 different texts" in done.stderr  # the identifier
    assert done.stderr.count("CRPS") == 6
    assert "<svg" in (tmp_path / "board.svg").read_text()[:500]
    again = run(*options, "--json")
    assert "CRPS" not in again.stderr
    found = json.loads(again.stdout)
    assert (found["rows"], found["folds"], found["failed"]) == (120, 2, {})
    assert found["recommended"] in ("heteroscedastic", "mmd")
    assert found["command"].endswith(f"--method {found['recommended']} --out model")
    assert run(*options, "--markdown").stdout.startswith("| method |")
    assert len(Store(tmp_path / "out").cells()) == 6


@pytest.mark.usefixtures("quick")
def test_groups_stay_together(run, options: list[object]) -> None:
    done = run(*options, "--groups", "shop", "--quiet")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--target", "prize"], "has no column 'prize' (did you mean 'price'?)"),
        (["--target", "sold"], "must hold numbers, but row 1 has 'False'"),
        (["--target", "colour"], "must hold numbers, but row 1 has"),
        (["--methods", "mmd,x"], "Unknown method 'x'"),
        (["--groups", "sold", "--folds", 3], "folds must be from 2 to the 2 groups; got 3"),
        (["--engine", "dask"], "engine must be one of serial, processes, ray; got 'dask'"),
        (["--figure", "a.txt"], "--figure must end in .png, .svg or .pdf"),
        (["--json", "--markdown"], "Choose one of --json and --markdown"),
    ],
)
def test_bad_arguments(run, options: list[object], changes: list[object], message: str) -> None:
    done = run(*options, *changes)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(40), "The target is 1 in every row: there is nothing to predict"),
        (np.arange(40) % 2, "only the values 0 and 1: that is classification"),
        (np.arange(12), "at least 20 rows with a target, got 12"),
    ],
)
def test_tables_without_a_question(run, tmp_path: Path, y: np.ndarray, message: str) -> None:
    pd.DataFrame({"a": np.arange(len(y)), "y": y}).to_csv(tmp_path / "t.csv", index=False)
    done = run("compare", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
