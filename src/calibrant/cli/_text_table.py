"""Tables as lines of text: no boxes, and nothing is cut in a pipe."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from textwrap import fill

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
    header = {name: name for name in rows[0]}
    width = {name: max(len(row[name]) for row in (header, *rows)) for name in header}
    return "\n".join(
        "  ".join(
            cell.ljust(width[name]) if name in left else cell.rjust(width[name])
            for name, cell in row.items()
        ).rstrip()
        for row in (header, *rows)
    )


def markdown_table(rows: Sequence[Row], *, left: Collection[str]) -> str:
    """Format the same rows as a Markdown table."""
    header = {name: name for name in rows[0]}
    rule = {name: "---" if name in left else "--:" for name in header}
    cells = ([cell.replace("|", r"\|") for cell in row.values()] for row in (header, rule, *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


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
