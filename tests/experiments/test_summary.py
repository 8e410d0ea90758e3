"""The summary of a small store."""

from __future__ import annotations

from tests.experiments.records import PUBLISHED, RECORDS

from calibrant.experiments import summary


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
