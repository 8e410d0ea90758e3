"""The summary of a small store."""

from __future__ import annotations

import pytest
from tests.experiments.records import PUBLISHED, RECORDS

from calibrant.errors import DataError
from calibrant.experiments import between_marks, summary


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


def test_summary_goes_between_the_marks() -> None:
    begin, end = "<!-- bench report: begin -->", "<!-- bench report: end -->"
    once = between_marks(f"before\n{begin}\nold\n{end}\nafter\n", "new\n")
    assert once == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"
    assert between_marks(once, "new\n") == once
    with pytest.raises(DataError, match="needs a line"):
        between_marks(once, "new", "another topic")
