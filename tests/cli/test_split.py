from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibrant.cli._split import split_rows
from calibrant.errors import DataError, ParameterError

N = 100
ROWS = pd.DataFrame(
    {
        "day": pd.date_range("2024-01-01", periods=N)[::-1].astype(str),
        "number": np.arange(N) // 10,
        "shop": [f"s{i % 7}" for i in range(N)],
    }
)


def split(share: float = 0.2, **options: object):
    return split_rows(ROWS, share, **({"time": None, "groups": None, "seed": 0} | options))


def test_random_rows_are_a_share_and_stay_in_order() -> None:
    found = split()
    assert (len(found.train), len(found.test)) == (80, 20)
    assert found.train.index.is_monotonic_increasing
    assert sorted([*found.train.index, *found.test.index]) == list(range(N))
    assert found.how == "drawn at random"
    assert split(seed=1).test.index.tolist() != found.test.index.tolist()


def test_the_last_rows_in_time() -> None:
    found = split(time="day")
    assert found.test.index.tolist() == list(range(20))  # the file begins with the latest
    assert found.how == "the last by 'day', from 2024-03-21 00:00:00 on"


def test_rows_of_one_time_stay_together() -> None:
    assert set(split(0.25, time="number").test["number"]) == {7, 8, 9}


def test_groups_stay_whole() -> None:
    found = split(0.3, groups="shop")
    assert not set(found.train["shop"]) & set(found.test["shop"])
    assert found.how == "3 of 7 values of 'shop', whole"


def test_what_can_not_be_split() -> None:
    with pytest.raises(ParameterError, match=r"--test-size 0\.001 of 100 rows leaves one side"):
        split(0.001)
    with pytest.raises(DataError, match="'shop' must hold dates or numbers, to split by time"):
        split(time="shop")
    gap = ROWS.assign(number=ROWS["number"].where(ROWS.index != 4))
    with pytest.raises(DataError, match="'number' has no time in row 5"):
        split_rows(gap, 0.2, time="number", groups=None, seed=0)
    with pytest.raises(ParameterError, match="'one' has one value only"):
        split_rows(ROWS.assign(one=1), 0.2, time=None, groups="one", seed=0)


FIT = ["--target", "price", "--epochs", 2, "--method", "heteroscedastic"]


def test_fit_evaluates_rows_that_it_has_not_seen(run, data, tmp_path) -> None:
    done = run("fit", data / "table.csv", *FIT, "--out", tmp_path / "m", "--test-size", 0.25)
    assert done.exit_code == 0, done.stderr
    assert "90 rows, " in done.stderr
    assert "Evaluated on 30 rows that were set aside (25%, drawn at random)." in done.stderr
    assert "It was fitted without the test rows." in done.stderr
    assert done.stdout.startswith("Evaluation on 30 rows\n")


def test_the_evaluation_is_in_the_json(run, data, frame, tmp_path) -> None:
    options = ["--out", tmp_path / "m", "--test-size", 0.25, "--groups", "shop", "--json"]
    summary = json.loads(run("fit", data / "table.csv", *FIT, *options).stdout)
    assert summary["test"]["how"] == "1 of 4 values of 'shop', whole"
    assert summary["rows"] + summary["test"]["n"] == 120
    assert summary["test"]["n"] in frame["shop"].value_counts().tolist()


def test_the_test_rows_are_those_that_evaluate_would_score(run, frame, tmp_path) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    order = ["--test-size", 0.25, "--time", "age", "--json"]
    ordered = frame.assign(age=np.arange(120.0))
    ordered.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", *FIT, "--out", tmp_path / "m", *order)
    ordered[90:].to_csv(tmp_path / "test.csv", index=False)
    again = run("evaluate", tmp_path / "m", tmp_path / "test.csv", "--json")
    expected = json.loads(again.stdout)
    assert json.loads(done.stdout)["test"] == {"how": "the last by 'age', from 90.0 on"} | expected


def test_time_needs_a_share(run, data, tmp_path) -> None:
    done = run("fit", data / "table.csv", *FIT, "--out", tmp_path / "m", "--time", "age")
    assert done.exit_code == 2
    assert "--time says which rows to test on: pass --test-size as well." in done.stderr
