from __future__ import annotations

import pytest

from calibrant.experiments.layout import Table, pivot

TABLE = Table(["set", "method", "ecpe"], [["wine", "a", "0.1"], ["pm25", "b", "12"]], right=[2])


def test_markdown_and_csv() -> None:
    assert TABLE.render("markdown") == (
        "| set | method | ecpe |\n| --- | --- | --: |\n| wine | a | 0.1 |\n| pm25 | b | 12 |\n"
    )
    assert TABLE.render("csv") == "set,method,ecpe\nwine,a,0.1\npm25,b,12\n"


def test_text_is_aligned_under_the_titles_of_its_blocks() -> None:
    grouped = Table(TABLE.headings, TABLE.lines, right=[2], above=1)
    assert grouped.render("text") == (
        "wine\nmethod  ecpe\na        0.1\n\npm25\nmethod  ecpe\nb         12\n"
    )


@pytest.mark.parametrize(("form", "text"), [("text", ""), ("markdown", ""), ("csv", "a,b\n")])
def test_a_table_without_lines(form: str, text: str) -> None:
    assert Table(["a", "b"], []).render(form) == text


def test_pivot() -> None:
    known = {("wine", "a"): "1", ("pm25", "b"): "2"}
    table = pivot(
        ["set", ""],
        [("wine", "ours"), ("pm25", "ours")],
        ["a", "b"],
        lambda label, column: known.get((label[0], column), ""),
    )
    assert table.lines == [["wine", "ours", "1", ""], ["pm25", "ours", "", "2"]]
    assert list(table.right) == [2, 3]
