"""The page on what reproduces, from a small store."""

from __future__ import annotations

from benchmarks.reproduction_page import page_figures, reproduction_page, summary
from tests.experiments.records import DEPTH, PUBLISHED, RECORDS, record

from calibrant.experiments import METHODS


def test_page() -> None:
    text = reproduction_page(RECORDS + PUBLISHED + DEPTH, "runs.parquet")
    assert (
        "calibrant bench paper --protocol honest --out results --trials 2 --only \\\n"
        "    wine,pm25 --methods hnn,mmd\n" in text
    )
    assert "    wine,pm25 --methods ngboost\n" in text
    assert "--study \\\n    depth --methods mmd-depth1,mmd-depth2\n" in text
    assert "calibrant bench pack results --out runs.parquet\n" in text
    assert (
        "| honest | cpu (Linux, Python 3.11, 2 cores) | hnn, mmd, ngboost | 14 | 7.00 "
        "| 2026-01-02 | torch 2.13.0 | abc1234 |" in text
    )
    assert "| published | ecpe | hnn | 0 | 0 | 2 | wine, pm25 |" in text
    assert "| honest | ecpe |" not in text  # split otherwise than the paper: no verdict
    assert "| honest | calibration (ECPE) better than all baselines | mmd | 2 | 0 | 0 | 1 |" in text
    assert "Not run: power_plant (mcd, hnn," in text
    assert "wine (mcd, deep-ens," in text
    assert "0.2005 ± 0.0005" in text
    assert "MC-Dropout repeat those of power" in text
    assert "Fewer trials" not in text
    assert "learned no more" not in text
    assert "smoke tests" not in text
    assert "| honest | mmd | 2 | 1 |" in text
    assert "| ngboost | **0.0105** ± 0.0005 | **0.0105** ± 0.0005 |" in text  # CRPS
    assert "| ngboost | 3600 | 3600 | 7200 |" in text  # seconds


def test_page_names_cells_that_are_not_whole() -> None:
    short = record("wine", "mcd", 0, value=0.01)
    text = reproduction_page([*RECORDS, short])
    assert "Fewer trials than the others: wine (mcd: 1 of 2)." in text
    assert "learned no more than one distribution for all rows: wine (mcd: 1 of 1)." in text


def test_long_lists_can_be_pasted_into_a_shell() -> None:
    methods = [key for key in METHODS if METHODS[key].role != "rival"][1:]
    text = reproduction_page([record("wine", key, 0) for key in methods])
    command = text.partition("```console\n")[2].partition("\ncalibrant bench show")[0]
    assert max(map(len, command.splitlines())) <= 80
    assert "\\\n" in command
    assert command.replace("\\\n", "").split()[-1] == ",".join(methods)


def test_other_protocols_are_no_part_of_the_page() -> None:
    other = record("wine", "mmd", 0)
    other["cell"]["protocol"] = "shuffled"
    assert reproduction_page([*RECORDS, other]) == reproduction_page(RECORDS)


def test_page_shows_its_figures() -> None:
    names = [name for name, _ in page_figures(RECORDS + PUBLISHED + DEPTH)]
    assert names == [
        *("reproduction-honest-reliability", "reproduction-published-reliability"),
        "reproduction-honest-depth",
    ]
    text = reproduction_page(RECORDS + PUBLISHED + DEPTH, images="images")
    assert all(f"](images/{name}.png)\n" in text for name in names)
    assert "![" not in reproduction_page(RECORDS)


def test_page_without_two_trials_compares_nothing() -> None:
    text = reproduction_page([record("wine", "mmd", 0)])
    assert "nothing can be compared" in " ".join(text.split())
    assert "no claim can be checked" in text


def test_page_says_what_a_quick_run_is_worth() -> None:
    cell = {"protocol": "honest-quick", "dataset": "wine", "method": "mmd", "trial": 0}
    text = reproduction_page([record("wine", "mmd", 0, cell=cell)])
    assert "smoke tests on few rows" in text
    assert "--preset" in text.partition("calibrant bench show")[0]


def test_summary() -> None:
    text = summary(PUBLISHED)
    assert "| baselines | 0 / 0 / 2 | 0 / 2 / 0 |  |  |  |\n" in text
    assert "| `mmd` | 0 / 0 / 2 | 0 / 2 / 0 | 2 / 0 / 0 | 2 / 0 / 0 | 2 / 0 / 0 |\n" in text
    assert "| `mmd-best` |  |  |  |  |  |\n" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| wine | ECPE")]
    assert line == (
        "| wine | ECPE | 0.0102 | 0.008 |  | 0.1005 ± 0.0005 ▼ |  | 0.2005 ± 0.0005 hnn "
        "| **0.0105** ± 0.0005 ngboost |"
    )
    assert "was not run under the `published` protocol yet" in summary(RECORDS)
