"""Tables of results, and the paper's tables with our results."""

from __future__ import annotations

import csv
import io

import pytest
from tests.experiments.records import RECORDS, trials_of

from calibrant.errors import ParameterError
from calibrant.experiments import (
    PAPER_TABLES,
    check_claims,
    compare_with_published,
    comparison_table,
    depth_table,
    paper_table,
    published_cells,
)


def test_tables_keep_digits_and_cut_nothing() -> None:
    rows = compare_with_published(
        trials_of("mmd-as-published", ecpe=[0.3, 0.31], crps=[0.4, 0.5]), ["ecpe", "crps"]
    )
    text = comparison_table(rows)
    assert "mmd-as-published" in text
    assert " 0.008 " in text
    assert "0.002" in text
    assert "0.0102" in text
    assert "…" not in text
    parsed = list(csv.DictReader(io.StringIO(comparison_table(rows, "csv"))))
    assert parsed[0]["published"] == "0.008"
    assert parsed[0]["verdict"] == "worse"
    assert parsed[1]["published"] == parsed[1]["verdict"] == ""
    markdown = comparison_table(rows, "markdown").splitlines()
    assert len({line.count("|") for line in markdown}) == 1
    assert markdown[1].startswith("| --- |")


def test_depth_study_has_its_own_table() -> None:
    deep = trials_of("mmd-depth3", ecpe=[0.01, 0.03], mcpe=[0.1, 0.1], rmse=[1.0, 1.0])
    for found in deep:
        found["seconds"] = {"fit": 2.0}
    assert compare_with_published(deep) == check_claims(deep) == []
    title, _, line = depth_table(deep).splitlines()
    assert title == "published"
    assert line.split() == ["mmd", "3", "2", "0.0200", "0.01", "0.0102", "2.0"]
    assert depth_table(trials_of("mmd", ecpe=[0.01])) == ""


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
