"""The summary table as plain text and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WIDTH = 80


@dataclass(frozen=True)
class Line:
    """One metric of the table: its key, its label and, for calibration errors, its floor."""

    key: str
    label: str
    value: float
    floor: float | None = None
    span: tuple[float, float] | None = None  # 5-95% range of a perfect forecaster


@dataclass(frozen=True)
class Section:
    """Lines under one heading."""

    title: str
    lines: Sequence[Line]


def as_text(title: str, verdict: str, sections: Sequence[Section]) -> str:
    """Aligned columns of at most 80 characters."""
    rows = [title, *textwrap.wrap(verdict, WIDTH), ""]
    head = ("value", "floor", "perfect, 5-95%")
    for section in sections:
        rows.append(_aligned(section.title, *head).rstrip())
        head = ("", "", "")
        for line in section.lines:
            span = f"{line.span[0]:.4f} to {line.span[1]:.4f}" if line.span else ""
            cells = number(line.value), number(line.floor), span
            rows.append(_aligned(f"  {line.label}", *cells).rstrip())
    return "\n".join(rows)


def _aligned(label: str, value: str, floor: str, span: str) -> str:
    return f"{label:<38}{value:>12}{floor:>10}   {span:>16}"


def as_markdown(verdict: str, sections: Sequence[Section]) -> str:
    """A pipe table of metric, value and floor under the verdict."""
    rows = [verdict, "", "| metric | value | floor |", "|---|---:|---:|"]
    rows += [
        f"| {line.label} | {number(line.value)} | {number(line.floor)} |"
        for section in sections
        for line in section.lines
    ]
    return "\n".join(rows)


def number(value: float | None) -> str:
    """Five digits, without an exponent where they can be read without one."""
    if value is None:
        return ""
    if not np.isfinite(value) or value == 0:
        return f"{value:.0f}"
    if abs(value) < 1:  # four decimals, or three digits where those would be zeros
        return f"{value:.4f}" if abs(value) >= 0.0005 else f"{value:.3g}"
    return f"{value:#.5g}".rstrip(".") if abs(value) < 1e5 else f"{value:.5g}"
