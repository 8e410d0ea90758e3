"""Tables as lines of text: no boxes, and nothing is cut in a pipe."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.experiments import Form

Row = Mapping[str, str]  # column name -> cell


def text_table(rows: Sequence[Row], *, left: Collection[str]) -> str:
    """Align columns under their names.

    Parameters
    ----------
    rows : sequence of mappings from column name to cell
        All with the same columns in the same order.
    left : collection of str
        Columns to align to the left; the others, numbers, go to the right.
    """
    return _render(rows, left, "text")


def markdown_table(rows: Sequence[Row], *, left: Collection[str]) -> str:
    """Format the same rows as a Markdown table."""
    return _render(rows, left, "markdown")


def _render(rows: Sequence[Row], left: Collection[str], form: Form) -> str:
    from calibrant.experiments.layout import Table

    headings = list(rows[0])
    right = [i for i, name in enumerate(headings) if name not in left]
    return Table(headings, [list(row.values()) for row in rows], right).render(form).rstrip("\n")


def definitions(entries: Iterable[tuple[str, str]], *, label_width: int, indent: int = 0) -> str:
    """Put texts beside their labels, wrapped to the terminal, at most 80 columns.

    Parameters
    ----------
    entries : iterable of (label, text)
    label_width : int
        Characters of the longest label.
    indent : int
        Spaces in front of each label.
    """
    hanging = " " * (indent + label_width + 2)
    width = min(shutil.get_terminal_size().columns, 80)
    return "\n".join(
        fill(
            text,
            width=max(width, len(hanging) + 20),
            initial_indent=f"{' ' * indent}{label:<{label_width}}  ",
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for label, text in entries
    )
