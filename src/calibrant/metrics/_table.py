"""The printed table of an evaluation, as plain text and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 80


@dataclass(frozen=True)
class Line:
    """One metric of the table as text; floor and span are empty where there is no floor."""

    section: str
    label: str
    value: str
    floor: str = ""
    span: str = ""  # 5% to 95% quantile of a perfect forecaster


def as_text(title: str, said: Sequence[str], lines: Sequence[Line]) -> str:
    """Aligned columns of at most 80 characters, under sentences."""
    rows = [title, *(line for each in said for line in textwrap.wrap(each, WIDTH)), ""]
    head, section = ("value", "floor", "perfect, 5-95%"), ""
    for line in lines:
        if line.section != section:
            section = line.section
            rows.append(_aligned(section, *head))
            head = ("", "", "")
        rows.append(_aligned(f"  {line.label}", line.value, line.floor, line.span))
    return "\n".join(rows)


def _aligned(label: str, value: str, floor: str, span: str) -> str:
    # At least one space between the columns, whatever the units of the floor.
    return f"{label:<38}{value:>12}{f' {floor}':>10}{f' {span}':>19}".rstrip()


def as_markdown(said: Sequence[str], lines: Sequence[Line]) -> str:
    """A pipe table of metric, value and floor, under sentences."""
    rows = [
        *(line for each in said for line in (each, "")),
        "| metric | value | floor |",
        "|---|---:|---:|",
    ]
    rows += [f"| {line.label} | {line.value} | {line.floor} |" for line in lines]
    return "\n".join(rows)
