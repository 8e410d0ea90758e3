"""Bars, and what the results say of them: on which data sets they hold and on which not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calibrant.experiments._layout import Form, laid_out


@dataclass(frozen=True)
class Check:
    """One condition, data set by data set.

    Attributes
    ----------
    text : str
    found : mapping of str to (bool, str)
        Whether it holds on a data set, and the figure that decides.
    needed : int
        On how many it must hold; of all where it is 0.
    """

    text: str
    found: Mapping[str, tuple[bool, str]]
    needed: int = 0

    @property
    def holds(self) -> list[str]:
        """Data sets on which it holds."""
        return [name for name, (good, _) in self.found.items() if good]

    @property
    def met(self) -> bool:
        """Whether it holds on as many as it must."""
        return bool(self.found) and len(self.holds) >= (self.needed or len(self.found))

    @property
    def tally(self) -> str:
        """On how many it holds, and on how many it must."""
        asked = f"{self.needed} asked for" if self.needed else "all asked for"
        return f"{len(self.holds)} of {len(self.found)} ({asked})" if self.found else ""

    @property
    def answer(self) -> str:
        """The verdict in a word or two."""
        if not self.found:
            return "not run yet"
        return "met" if self.met else "missed"

    def __str__(self) -> str:
        if not self.found:
            return f"{self.text}: {self.answer}."
        text = f"{self.text}: holds on {self.tally}: {self.answer}."
        lost = [f"{name} ({value})" for name, (good, value) in self.found.items() if not good]
        return f"{text} Not on {', '.join(lost)}." if lost else text


@dataclass(frozen=True)
class Table:
    """Lines under headings; all columns but the first `left` are flush right."""

    headings: Sequence[str]
    lines: Sequence[Sequence[str]]
    left: int = 1

    def __call__(self, form: Form) -> str:
        """The table as text or Markdown."""
        right = range(self.left, len(self.headings))
        return laid_out(self.headings, self.lines, form, right=right)


@dataclass(frozen=True)
class Bar:
    """A bar with its figures and its verdict.

    Attributes
    ----------
    title : str
    asks : str
        What it asks for, in words.
    tables : sequence of Table
    checks : sequence of Check
    notes : sequence of str
        What a reader must know besides.
    """

    title: str
    asks: str
    tables: Sequence[Table]
    checks: Sequence[Check]
    notes: Sequence[str] = field(default=())

    def __call__(self, form: Form) -> str:
        """The bar as text or Markdown: verdict first, figures below."""
        heading = f"## {self.title}\n" if form == "markdown" else f"== {self.title} ==\n"
        marks = ["- " + str(check) for check in self.checks]
        tables = [table(form) for table in self.tables if table.lines]
        parts = [heading, self.asks + "\n", "\n".join(marks) + "\n" if marks else "", *tables]
        parts += [f"{note}\n" for note in self.notes]
        return "\n".join(part for part in parts if part)
