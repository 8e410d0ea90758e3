from __future__ import annotations

import pytest

from calibrant.cli._text_table import definitions, markdown_table, text_table

ROWS = [{"name": "a|b", "value": "1"}, {"name": "c", "value": "20.5"}]


def test_numbers_stand_to_the_right() -> None:
    assert text_table(ROWS, left=["name"]) == "name  value\na|b       1\nc      20.5"


def test_bars_are_escaped_in_markdown() -> None:
    assert markdown_table(ROWS, left=["name"]) == (
        "| name | value |\n| --- | --: |\n| a\\|b | 1 |\n| c | 20.5 |"
    )


@pytest.mark.parametrize(("columns", "widest"), [("30", 30), ("200", 80)])
def test_texts_wrap_beside_their_labels(monkeypatch, columns: str, widest: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = definitions([("a", "word " * 40), ("b", "one")], label_width=3, indent=2).splitlines()
    assert widest - 5 <= max(map(len, lines)) <= widest
    assert lines[0].startswith("  a    word")
    assert lines[1].startswith("       word")
    assert lines[-1] == "  b    one"
