"""The paper's tables, with our results."""

from __future__ import annotations

import csv
import io

import pytest
from tests.experiments.records import RECORDS

from calibrant.errors import ParameterError
from calibrant.experiments import PAPER_TABLES, paper_table, published_cells


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
