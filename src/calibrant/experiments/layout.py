"""Tables of text as plain text, Markdown and CSV, and a pivot; nothing is truncated."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Form = Literal["text", "markdown", "csv"]
Label = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Lines under headings.

    Attributes
    ----------
    headings : sequence of str
    lines : sequence of sequences of str
    right : collection of int
        Columns that are aligned to the right.
    above : int
        As plain text, the first `above` columns become a title over the lines that share them.

    Examples
    --------
    >>> print(Table(["method", "ecpe"], [["hnn", "0.04"]], right=[1]).render("text"), end="")
    method  ecpe
    hnn     0.04
    """

    headings: Sequence[str]
    lines: Sequence[Sequence[str]]
    right: Collection[int] = ()
    above: int = 0

    def render(self, form: Form) -> str:
        """The table in one of the three forms. Without lines only CSV has headings."""
        if not self.lines and form != "csv":
            return ""
        return {"csv": self._csv, "markdown": self._markdown, "text": self._text}[form]()

    def _csv(self) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.headings, *self.lines])
        return text.getvalue()

    def _markdown(self) -> str:
        rule = ["--:" if i in self.right else "---" for i in range(len(self.headings))]
        lines = (self.headings, rule, *self.lines)
        cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
        return "".join(f"| {' | '.join(line)} |\n" for line in cells)

    def _text(self) -> str:
        width = [max(map(len, column)) for column in zip(self.headings, *self.lines, strict=True)]

        def aligned(line: Sequence[str]) -> str:
            cells = (
                line[i].rjust(width[i]) if i in self.right else line[i].ljust(width[i])
                for i in range(self.above, len(line))
            )
            return "  ".join(cells).rstrip()

        blocks = []
        for title, block in groupby(self.lines, key=lambda line: ", ".join(line[: self.above])):
            lines = [aligned(line) for line in (self.headings, *block)]
            blocks.append("\n".join([title, *lines, ""] if self.above else [*lines, ""]))
        return "\n".join(blocks)


def pivot(
    corner: Sequence[str],
    rows: Sequence[Label],
    columns: Sequence[str],
    cell: Callable[[Label, str], str],
) -> Table:
    """Table with one line per row and one column per column, all of them right-aligned.

    Parameters
    ----------
    corner : sequence of str
        Headings of the row labels.
    rows : sequence of tuples of str
        Row labels, each as long as `corner`.
    columns : sequence of str
    cell : callable
        Text of a row and a column; empty where there is nothing to show.

    Examples
    --------
    >>> table = pivot(["method"], [("hnn",)], ["wine", "naval"], lambda row, column: column[0])
    >>> print(table.render("csv"), end="")
    method,wine,naval
    hnn,w,n
    """
    lines = [[*row, *(cell(row, column) for column in columns)] for row in rows]
    right = range(len(corner), len(corner) + len(columns))
    return Table([*corner, *columns], lines, right)


def plus_minus(value: str, error: str) -> str:
    """A value with its standard error, or alone where the error is empty.

    Examples
    --------
    >>> plus_minus("0.041", "0.003"), plus_minus("0.041", "")
    ('0.041 ± 0.003', '0.041')
    """
    return f"{value} ± {error}" if error else value


def two_digits(error: float | None) -> str:
    """A standard error with two digits, without an exponent where that is shorter.

    Examples
    --------
    >>> two_digits(31.46), two_digits(0.00123), two_digits(245.0), two_digits(None)
    ('31', '0.0012', '240', '')
    """
    return "" if error is None else f"{float(f'{error:.2g}'):g}"
