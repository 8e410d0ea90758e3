"""What was done to the columns of a table, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TypedDict

from calibrant.tables.columns import ColumnEncoder
from calibrant.tables.texts import shortened

_LONGEST_NAME = 30


class ColumnRow(TypedDict):
    """One row of the summary: a column, how many inputs it became, and how it is read."""

    column: str
    inputs: int
    read: str


def rows_of(encoders: Sequence[ColumnEncoder]) -> list[ColumnRow]:
    """One row per column, in the order of the frame."""
    return [
        ColumnRow(
            column=each.name, inputs=len(each.blocks), read=each.description or "number, as it is"
        )
        for each in encoders
    ]


def column_table(rows: Sequence[ColumnRow], width: int) -> str:
    """Lay out the rows; numbers that are used as they are share one row.

    Examples
    --------
    >>> rows = [ColumnRow(column="a", inputs=1, read="number, as it is"),
    ...         ColumnRow(column="b", inputs=1, read="number, as it is"),
    ...         ColumnRow(column="zone", inputs=3, read="one-hot, 3 categories")]
    >>> print(column_table(rows, 60))
    column     inputs  how it is read
    zone            3  one-hot, 3 categories
    2 columns       2  numbers, as they are: a, b
    """
    plain = [row["column"] for row in rows if row["read"] == "number, as it is"]
    lines = [
        (shortened(row["column"], _LONGEST_NAME), str(row["inputs"]), row["read"])
        for row in rows
        if row["column"] not in plain or len(plain) == 1
    ]
    if len(plain) > 1:
        more = f" and {len(plain) - 12} more" if len(plain) > 12 else ""
        listing = ", ".join(plain[:12]) + more
        lines.append((f"{len(plain)} columns", str(len(plain)), f"numbers, as they are: {listing}"))
    names = max(len("column"), *(len(name) for name, _, _ in lines))
    margin = names + len("  inputs  ")
    header = f"{'column':<{names}}  inputs  how it is read"
    return "\n".join(
        [header]
        + [
            f"{name:<{names}}  {inputs:>6}  "
            + f"\n{' ' * margin}".join(wrap(read, max(width - margin, 20)))
            for name, inputs, read in lines
        ]
    )
