"""Figures, the paper's tables and the report, from a small store."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from calibrant.errors import ParameterError
from calibrant.experiments import PAPER_TABLES, figures, paper_table, published_cells, reproduction

SCORES = ("ecpe", "mcpe", "rmse", "epiw", "mpiw", "r2", "smape", "rse", "crps")
LEVELS = np.arange(1, 100) / 100


def record(
    dataset: str, method: str, trial: int, value: float = 0.1, **more: Any
) -> dict[str, Any]:
    drawn = {name: [1.0, 2.0, 3.0] for name in ("y", "mean")}
    drawn |= {"position": [0, 1, 5], "lower": [0.0, 1.5, 2.0], "upper": [2.0, 3.0, 2.5]}
    return {
        "cell": {"protocol": "honest", "dataset": dataset, "method": method, "trial": trial},
        "scores": dict.fromkeys(SCORES, value + 0.001 * trial),
        "floor": {"ecpe": 0.0102, "mcpe": 0.0259},
        "covered": (LEVELS**2).tolist(),
        "rows": {"train": 80, "test": 20},
        "intervals": drawn if trial == 0 else {},
        "seconds": {"fit": 1800.0, "predict": 0.0},
        "versions": {"torch": "2.13.0"},
        "machine": {"device": "cpu", "system": "Linux", "python": "3.11", "cores": 2},
        "finished": "2026-01-02T03:04:05+00:00",
    } | more


RECORDS = [
    record(dataset, method, trial, value)
    for dataset in ("wine", "pm25")
    for method, value in (("hnn", 0.2), ("mmd", 0.1), ("ngboost", 0.01))
    for trial in range(2)
]
DEPTH = [record("wine", f"mmd-depth{layers}", 0) for layers in (1, 2)]


@pytest.mark.parametrize("number", PAPER_TABLES)
def test_published_tables_are_complete(number: str) -> None:
    """Every figure of the paper stands in its table, with its digits and its error."""
    rows = list(csv.DictReader(io.StringIO(paper_table([], number, "honest", "csv"))))
    paper = {(row["data set"], row["metric"]): row for row in rows if row[""] == "paper"}
    cells = [cell for cell in published_cells() if cell.table == number]
    for cell in cells:
        printed = paper[cell.dataset, cell.metric][cell.method]
        error = f" ± {cell.printed_error}" if cell.printed_error else ""
        assert printed == f"{cell.printed}{error}"
    filled = sum(bool(text) for row in paper.values() for text in list(row.values())[4:])
    assert filled == len(cells)


def test_ours_stand_below_the_published() -> None:
    text = paper_table(RECORDS, "2", "honest", "csv")
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["data set"] == "wine"]
    paper, ours = rows[:2]
    assert (paper[""], paper["hnn"], paper["ngboost"]) == ("paper", "0.041 ± 0.003", "")
    assert (ours[""], ours["hnn"]) == ("ours", "0.2005 ± 0.0005")
    assert (ours["floor"], ours["ngboost"]) == ("0.0102", "0.0105 ± 0.0005")
    assert "0.2005" not in paper_table(RECORDS, "2", "published", "csv")
    assert (
        len(
            {
                line.count("|")
                for line in paper_table(RECORDS, "1", "honest", "markdown").splitlines()
            }
        )
        == 1
    )
    with pytest.raises(ParameterError, match="no table '3': choose from 1, 2, A2, A3"):
        paper_table(RECORDS, "3", "honest")


def test_figures() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    drawn = {}
    for name, figure in figures(RECORDS + DEPTH):
        drawn[name] = [ax.get_title() or ax.get_title("left") for ax in figure.axes]
        if name == "honest-reliability":
            (curve,) = [
                line
                for line in figure.axes[0].lines
                if line.get_label().startswith("hnn (ECPE 0.2")
            ]
            np.testing.assert_allclose(curve.get_ydata(), LEVELS**2)
        if name == "honest-pm25-intervals":
            (outside,) = [line for line in figure.axes[0].lines if "outside" in line.get_label()]
            assert outside.get_xdata().tolist() == [5]  # 3 above the interval up to 2.5
        if name == "honest-depth":
            (line,) = figure.axes[0].get_legend_handles_labels()[0]
            assert line.lines[0].get_ydata().tolist() == [1800.0, 1800.0]
    assert drawn == {
        "honest-reliability": ["wine", "pm25"],
        "honest-wine-intervals": ["wine, hnn", "wine, mmd", "wine, ngboost"],
        "honest-pm25-intervals": ["pm25, hnn", "pm25, mmd", "pm25, ngboost"],
        "honest-depth": ["", ""],
    }


def test_report() -> None:
    text = reproduction(RECORDS + DEPTH, "runs")
    assert (
        "calibrant bench paper --protocol honest --out runs --trials 2 --only \\\n"
        "    wine,pm25 --methods hnn,mmd,ngboost\n" in text
    )
    assert "calibrant bench paper --protocol honest --out runs --trials 1 --study depth\n" in text
    assert "| `honest` | 14 | 7.00 | 2026-01-02 | cpu (Linux, Python 3.11, 2 cores) |" in text
    assert "| `honest` | ecpe | hnn | 0 | 0 | 2 | wine, pm25 |" in text
    assert "| honest | calibration (ECPE) better than all baselines | mmd | 2 | 0 | 0 | 1 |" in text
    assert "Not run: power_plant (mcd, hnn," in text
    assert "wine (mcd, deep-ens," in text
    assert "0.2005 ± 0.0005" in text
    assert "Wine MC-Dropout repeats the figures of power plant" in text
    assert "smoke tests" not in text
    assert "| honest | mmd | 2 | 1 |" in text


def test_report_without_two_trials_judges_nothing() -> None:
    text = reproduction([record("wine", "mmd", 0)])
    assert "nothing can be judged" in text
    assert "no claim can be checked" in text


def test_report_says_what_a_quick_run_is_worth() -> None:
    cell = {"protocol": "honest-quick", "dataset": "wine", "method": "mmd", "trial": 0}
    text = reproduction([record("wine", "mmd", 0, cell=cell)])
    assert "smoke tests on few rows" in text
    assert "--preset" in text.partition("calibrant bench show")[0]
