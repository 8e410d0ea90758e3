"""Figures, the paper's tables and the report, from a small store."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from calibrant.errors import DataError, ParameterError
from calibrant.experiments import (
    METHODS,
    PAPER_TABLES,
    between_marks,
    figures,
    paper_table,
    published_cells,
    report_figures,
    reproduction,
    summary,
)

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
            colours = {  # the same method looks the same in every panel
                tuple(line.get_color() for line in ax.lines) for ax in figure.axes
            }
            assert len(colours) == 1
            assert [text.get_text() for text in figure.legends[0].get_texts()] == [
                *("90% of perfect forecasts", "perfect", "hnn", "mmd", "ngboost")
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


PUBLISHED = [run | {"cell": run["cell"] | {"protocol": "published"}} for run in RECORDS]


def test_report() -> None:
    text = reproduction(RECORDS + PUBLISHED + DEPTH, "runs.parquet")
    assert (
        "calibrant bench paper --protocol honest --out results --trials 2 --only \\\n"
        "    wine,pm25 --methods hnn,mmd\n" in text
    )
    assert "    wine,pm25 --methods ngboost\n" in text
    assert "--study \\\n    depth --methods mmd-depth1,mmd-depth2\n" in text
    assert "calibrant bench pack results --out runs.parquet\n" in text
    assert (
        "| `honest` | cpu (Linux, Python 3.11, 2 cores) | hnn, mmd, ngboost | 14 | 7.00 "
        "| 2026-01-02 | torch 2.13.0 |" in text
    )
    assert "| `published` | ecpe | hnn | 0 | 0 | 2 | wine, pm25 |" in text
    assert "| `honest` | ecpe |" not in text  # split otherwise than the paper: no verdict
    assert "| honest | calibration (ECPE) better than all baselines | mmd | 2 | 0 | 0 | 1 |" in text
    assert "Not run: power_plant (mcd, hnn," in text
    assert "wine (mcd, deep-ens," in text
    assert "0.2005 ± 0.0005" in text
    assert "MC-Dropout repeat those of power" in text
    assert "Fewer trials" not in text
    assert "nothing was learned" not in text
    assert "smoke tests" not in text
    assert "| honest | mmd | 2 | 1 |" in text
    assert "| ngboost | **0.0105** ± 0.0005 | **0.0105** ± 0.0005 |" in text  # CRPS
    assert "| ngboost | 3600 | 3600 | 7200 |" in text  # seconds


def test_report_names_cells_that_are_not_whole() -> None:
    short = record("wine", "mcd", 0, value=0.01)
    text = reproduction([*RECORDS, short])
    assert "Fewer trials than the others: wine (mcd: 1 of 2)." in text
    assert "learned but a distribution for all rows: wine (mcd: 1 of 1)." in text


def test_long_lists_can_be_pasted_into_a_shell() -> None:
    methods = [key for key in METHODS if METHODS[key].role != "rival"][1:]
    text = reproduction([record("wine", key, 0) for key in methods])
    command = text.partition("```console\n")[2].partition("\ncalibrant bench show")[0]
    assert max(map(len, command.splitlines())) <= 80
    assert "\\\n" in command
    assert command.replace("\\\n", "").split()[-1] == ",".join(methods)


def test_other_protocols_are_no_part_of_the_report() -> None:
    other = record("wine", "mmd", 0)
    other["cell"]["protocol"] = "shuffled"
    assert reproduction([*RECORDS, other]) == reproduction(RECORDS)


def test_summary() -> None:
    text = summary(PUBLISHED)
    assert "| baselines | 0 / 0 / 2 | 0 / 2 / 0 |  |  |  |\n" in text
    assert "| `mmd` | 0 / 0 / 2 | 0 / 2 / 0 | 2 / 0 / 0 | 2 / 0 / 0 | 2 / 0 / 0 |\n" in text
    assert "| `mmd-best` |  |  |  |  |  |\n" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| wine | ECPE")]
    assert line == (
        "| wine | ECPE | 0.0102 | 0.008 |  | 0.1005 ± 0.0005 ▼ |  | 0.2005 ± 0.0005 ▼ hnn "
        "| **0.0105** ± 0.0005 ngboost |"
    )
    assert "was not run under the `published` protocol yet" in summary(RECORDS)


def test_summary_goes_between_the_marks() -> None:
    begin, end = "<!-- bench report: begin -->", "<!-- bench report: end -->"
    once = between_marks(f"before\n{begin}\nold\n{end}\nafter\n", "new\n")
    assert once == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"
    assert between_marks(once, "new\n") == once
    with pytest.raises(DataError, match="needs a line"):
        between_marks(once, "new", "another topic")


def test_report_shows_its_figures() -> None:
    names = [name for name, _ in report_figures(RECORDS + PUBLISHED + DEPTH)]
    assert names == [
        *("reproduction-honest-reliability", "reproduction-published-reliability"),
        "reproduction-honest-depth",
    ]
    text = reproduction(RECORDS + PUBLISHED + DEPTH, images="images")
    assert all(f"](images/{name}.png)\n" in text for name in names)
    assert "![" not in reproduction(RECORDS)


def test_report_without_two_trials_judges_nothing() -> None:
    text = reproduction([record("wine", "mmd", 0)])
    assert "nothing can be judged" in " ".join(text.split())
    assert "no claim can be checked" in text


def test_report_says_what_a_quick_run_is_worth() -> None:
    cell = {"protocol": "honest-quick", "dataset": "wine", "method": "mmd", "trial": 0}
    text = reproduction([record("wine", "mmd", 0, cell=cell)])
    assert "smoke tests on few rows" in text
    assert "--preset" in text.partition("calibrant bench show")[0]
