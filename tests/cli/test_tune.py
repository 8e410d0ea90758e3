"""``calibrant tune``: search, go on, and fit with what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibrant import load_model

OPTIONS = ("--method", "heteroscedastic", "--folds", 2, "--device", "cpu")


@pytest.fixture
def options(data: Path, tmp_path: Path) -> list[object]:
    out = tmp_path / "tuning"
    return ["tune", data / "table.csv", "--target", "price", *OPTIONS, "--out", out]


def test_search_goes_on_and_prints_a_command(run, options: list[object], tmp_path: Path) -> None:
    done = run(*options, "--minutes", 0.02)
    assert done.exit_code == 0, done.stderr
    assert "Plan: 2 folds of 120 rows. A trial takes about" in done.stderr
    assert "as it is: CRPS" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("calibrant fit ")
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    again = run(*options, "--minutes", 0.02, "--json")
    assert "as it is" not in again.stderr
    found = json.loads(again.stdout)
    assert found["crps"] <= found["default_crps"]
    assert found["params"] == json.loads((tmp_path / "tuning" / "params.json").read_text())
    assert ("--params" in found["command"]) == bool(found["params"])


def test_fit_takes_the_parameters(run, data: Path, tmp_path: Path) -> None:
    params = tmp_path / "params.json"
    params.write_text('{"hidden": [8], "training__weight_decay": 0.01, "epochs": 2}')
    fit = ["fit", data / "table.csv", "--target", "price", "--method", "heteroscedastic"]
    done = run(*fit, "--params", params, "--out", tmp_path / "model")
    assert done.exit_code == 0, done.stderr
    found = load_model(tmp_path / "model").get_params()
    assert (list(found["hidden"]), found["training__weight_decay"]) == ([8], 0.01)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "must hold a JSON object of parameters of HeteroscedasticRegressor"),
        ('{"learning_rate": 1}', "Invalid parameter 'learning_rate'"),
        ("{", "must hold a JSON object"),
        (None, "There is no file"),
    ],
)
def test_bad_parameters(run, data: Path, tmp_path: Path, text: str | None, message: str) -> None:
    params = tmp_path / "params.json"
    if text is not None:
        params.write_text(text)
    fit = ["fit", data / "table.csv", "--target", "price", "--method", "heteroscedastic"]
    done = run(*fit, "--params", params, "--out", tmp_path / "model")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
