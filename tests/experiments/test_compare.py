from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import (
    CalibrantError,
    DataError,
    DataWarning,
    MissingDependencyError,
    ParameterError,
)
from calibrant.experiments import CANDIDATES, Store, chosen_methods, compare, methods, own_table
from calibrant.experiments.candidates import fit_options
from calibrant.experiments.leaderboard import rank
from calibrant.methods import METHODS as FIT_METHODS


def data(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with gaps, categories, and the first ten rows twice."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(0, 2, n), "age": rng.uniform(1, 9, n)})
    frame["colour"] = pd.Categorical(rng.choice(["red", "blue"], n))
    y = frame["size"].to_numpy() + 0.2 * rng.standard_normal(n)
    frame.loc[20:25, "age"] = np.nan
    frame.iloc[-10:] = frame.iloc[:10].to_numpy()
    return frame.astype({"colour": "category"}), y


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train for two epochs: what is compared here is the bookkeeping."""
    build = methods.build
    monkeypatch.setattr(
        own_table,
        "build",
        lambda key, protocol, series: build(key, protocol, series=series, quick=True),
    )


def result(crps: Sequence[float], seconds: float, spread: float = 1.0) -> list[dict[str, Any]]:
    """Five folds of 100 rows; the PIT of a forecast whose errors are `spread` times too large."""
    from scipy.stats import norm

    u = norm.cdf(spread * norm.ppf((np.arange(100) + 0.5) / 100))
    scores = {"ecpe": 0.01, "epiw": 1.0, "rmse": 2.0}
    return [
        {
            "scores": scores | {"crps": value},
            "floor": {"ecpe": 0.03},
            "pit": [u.tolist(), u.tolist()],
            "rows": {"test": 100},
            "seconds": {"fit": seconds, "predict": 0.0},
        }
        for value in crps
    ]


BEST = [1.0, 1.2, 1.4, 1.6, 1.8]
NEAR = [1.1, 1.1, 1.5, 1.5, 1.85]  # mean difference 0.01, paired standard error 0.045
FAR = [1.1, 1.3, 1.5, 1.7, 1.9]  # 0.1 worse in every fold: no tie, for all its spread


@pytest.mark.parametrize(
    ("records", "recommended", "words"),
    [
        ({"a": (BEST, 9.0), "b": (FAR, 1.0)}, "a", "the best CRPS of the 2 among 2"),
        ({"a": (BEST, 9.0), "b": (NEAR, 1.0)}, "b", "within one paired standard error of a"),
        ({"a": (BEST, 1.1), "b": (NEAR, 1.0)}, "a", "the best CRPS of the 2 among 2"),
        ({"a": (BEST, 1.0), "b": (NEAR, 9.0)}, "a", "the best CRPS of the 2 among 2"),
        ({"a": (BEST, 1.0, 2.0), "b": (FAR, 9.0)}, "b", "a has a better CRPS, 1.4, but its"),
        ({"a": (BEST, 1.0, 2.0), "b": (FAR, 9.0)}, "b", "the only one of 2 methods whose"),
        ({"a": (BEST, 1.0, 2.0), "b": (FAR, 1.0, 0.5)}, "a", "of every method is rejected"),
    ],
)
def test_the_rule(records: dict[str, Any], recommended: str, words: str) -> None:
    board = rank({key: result(*value) for key, value in records.items()}, {})
    assert board.recommended == recommended
    assert words in board.reason
    assert [standing.method for standing in board.standings] == ["a", "b"]


def test_standings_are_means_over_rows() -> None:
    trials = result(BEST, 2.0)
    trials[0]["rows"] = {"test": 300}
    trials[0]["scores"] = trials[0]["scores"] | {"rmse": 4.0}
    (standing,) = rank({"a": trials}, {}).standings
    assert standing.crps == pytest.approx((3 * 1.0 + 1.2 + 1.4 + 1.6 + 1.8) / 7)
    assert standing.rmse == pytest.approx(math.sqrt((3 * 16 + 4 * 4) / 7))
    assert standing.crps_error == pytest.approx(np.std(BEST, ddof=1) / math.sqrt(5))
    assert not standing.rejected
    assert standing.floor == pytest.approx(0.316 / math.sqrt(500), rel=0.03)


@pytest.mark.usefixtures("quick")
def test_compare_is_resumed_and_honest(tmp_path: Path) -> None:
    X, y = data()
    keys = ["baseline", "heteroscedastic", "mmd"]
    board = compare(X, y, methods=keys, folds=3, store=tmp_path, device="cpu")
    assert sorted(standing.method for standing in board.standings) == keys
    assert (board.rows, board.folds, board.failed) == (120, 3, {})
    assert board.to_dict()["recommended"] in keys[1:]
    assert max(map(len, str(board).splitlines())) <= 80
    stored = Store(tmp_path)
    assert len(stored.cells()) == 9
    times = [stored.path(cell).stat().st_mtime_ns for cell in stored.cells()]
    again = compare(X, y, methods=keys, folds=3, store=tmp_path, device="cpu")
    assert again.to_dict() == board.to_dict()
    assert [stored.path(cell).stat().st_mtime_ns for cell in stored.cells()] == times
    compare(X, y + 1.0, methods=["heteroscedastic"], folds=3, store=tmp_path, device="cpu")
    assert len(stored.cells()) == 15  # other data, other cells


def test_equal_inputs_stay_in_one_fold() -> None:
    X, y = data()
    table = own_table.own_table(X, y, folds=4)
    assert sorted(np.concatenate([test for _, test in table.folds])) == list(range(120))
    for train, test in table.folds:
        assert not set(table.groups[train]) & set(table.groups[test])
    assert len(set(table.groups)) == 110
    groups = np.arange(120) % 7
    for train, test in own_table.own_table(X, y, folds=4, groups=groups).folds:
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.usefixtures("quick")
def test_the_table_travels_to_other_processes() -> None:
    table = own_table.own_table(*data(), folds=2)
    (cell, _) = table.cells(["heteroscedastic"])
    arrived = pickle.loads(pickle.dumps(table))
    here, there = (one.run([cell], "cpu")[0] for one in (table, arrived))
    assert here["scores"] == there["scores"]


@pytest.mark.usefixtures("quick")
def test_a_method_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run = own_table.OwnTable.run

    def fail(self: own_table.OwnTable, cells: Any, device: str) -> Any:
        if cells[0].method == "mmd":
            raise DataError("too few rows.")
        return run(self, cells, device)

    monkeypatch.setattr(own_table.OwnTable, "run", fail)
    board = compare(*data(), methods=["heteroscedastic", "mmd"], folds=2, device="cpu")
    assert board.failed == {"mmd": "too few rows."}
    assert {each.method for each in board.standings} == {"baseline", "heteroscedastic"}
    with pytest.raises(CalibrantError, match=r"No method could be compared. mmd: too few rows"):
        compare(*data(), methods=["mmd"], folds=2, device="cpu")


@pytest.mark.usefixtures("quick")
def test_scores_that_are_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    run = own_table.OwnTable.run

    def spoil(self: own_table.OwnTable, cells: Any, device: str) -> Any:
        records = run(self, cells, device)
        for cell, record in zip(cells, records, strict=True):
            if cell.method == "mmd":
                del record["scores"]["crps"]
        return records

    monkeypatch.setattr(own_table.OwnTable, "run", spoil)
    board = compare(*data(), methods=["heteroscedastic", "mmd"], folds=2, device="cpu")
    assert board.failed == {"mmd": "its forecasts have no finite scores"}


@pytest.mark.usefixtures("quick")
def test_a_small_table() -> None:
    rng = np.random.default_rng(0)
    board = compare(
        rng.normal(size=(20, 1)),
        rng.normal(size=20),
        methods=["heteroscedastic", "quantile", "mmd"],
    )
    assert (board.rows, board.failed) == (20, {})


@pytest.mark.parametrize(
    ("y", "rows", "message"),
    [
        (np.zeros(30), 30, "The target is 0 in every row"),
        (np.arange(30) % 2, 30, "only the values 0 and 1: that is classification"),
        (np.arange(15), 15, "at least 20 rows with a target, got 15"),
        (["a"] * 30, 30, "y must be numbers"),
        (np.arange(29), 30, "X has 30 rows, but y has 29 values"),
    ],
)
def test_targets_that_make_no_sense(y: Any, rows: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compare(np.arange(rows).reshape(-1, 1), y)


def test_few_values_are_worth_a_warning() -> None:
    with pytest.warns(DataWarning, match="only 3 different values"):
        own_table.own_table(np.arange(30.0).reshape(-1, 1), np.arange(30) % 3)


def test_too_few_groups() -> None:
    with pytest.raises(ParameterError, match="folds must be from 2 to the 2 groups; got 5"):
        own_table.own_table(np.zeros((30, 1)), np.arange(30.0), groups=np.arange(30) % 2)


def test_every_method_of_fit_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = chosen_methods(None)
    assert chosen[0] == "baseline"
    assert {"mmd", "mmd --quality best", "deep-ensemble", "boosted-trees"} <= set(chosen)
    assert {name.split()[0] for name in CANDIDATES if fit_options(name)} == set(FIT_METHODS)
    assert chosen_methods(["mmd", "mmd"]) == ["baseline", "mmd"]
    with pytest.raises(ParameterError, match="Unknown method 'mdm'"):
        chosen_methods(["mdm"])
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="lightgbm and crepes: pip install"):
        chosen_methods(["lightgbm-crepes"])
    assert "dgp" not in chosen_methods(None)


def test_the_figure() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure = rank({"a": result(BEST, 1.0), "b": result(FAR, 1.0)}, {}).draw()
    assert [ax.get_xlabel() for ax in figure.axes] == [
        "crps (lower is better)",
        "ecpe (lower is better)",
    ]
    plt.close(figure)
