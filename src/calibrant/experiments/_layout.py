"""Lines of text as a table: for people, for Markdown, for machines; nothing is ever cut off."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Literal

Form = Literal["text", "markdown", "csv"]


def laid_out(
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    form: Form,
    *,
    right: Collection[int],
    above: int = 0,
) -> str:
    """Lay out lines under their headings, the columns of `right` flush right.

    As text the first columns, `above` many, stand above a block of lines that share them.

    Examples
    --------
    >>> print(laid_out(["method", "ecpe"], [["hnn", "0.04"]], "text", right=[1]), end="")
    method  ecpe
    hnn     0.04
    """
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([headings, *lines])
        return text.getvalue()
    if form == "markdown":
        rule = ["--:" if i in right else "---" for i in range(len(headings))]
        return "".join(f"| {' | '.join(line)} |\n" for line in (headings, rule, *lines))
    width = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]

    def aligned(line: Sequence[str]) -> str:
        cells = (
            line[i].rjust(width[i]) if i in right else line[i].ljust(width[i])
            for i in range(above, len(line))
        )
        return "  ".join(cells).rstrip()

    blocks = groupby(lines, key=lambda line: ", ".join(line[:above]))
    return "\n".join(
        "\n".join([*([title] if above else []), *map(aligned, (headings, *block)), ""])
        for title, block in blocks
    )


def plain(error: float) -> str:
    """A standard error with two digits and no exponent where that is shorter.

    Examples
    --------
    >>> plain(31.46), plain(0.00123), plain(245.0)
    ('31', '0.0012', '240')
    """
    return f"{float(f'{error:.2g}'):g}"
