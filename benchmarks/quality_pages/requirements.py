"""Requirements, and on which data sets the results meet them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from calibrant.experiments.estimates import Estimate
from calibrant.experiments.layout import Form, Table

Answer = Literal["holds", "tie", "fails", "unknown"]


class Result(NamedTuple):
    """Whether a condition holds on a data set, and the figure that decides."""

    answer: Answer
    figure: str


def compared(difference: Estimate, figure: str) -> Result:
    """Whether a difference is clearly below zero: a win within noise is a tie, as a loss is.

    A single shared trial has no noise figure, so nothing follows from it.
    """
    if difference.margin is None:
        return Result("unknown", f"{figure}, one shared trial")
    if abs(difference.mean) <= difference.margin:
        return Result("tie", figure)
    return Result("holds" if difference.mean < 0 else "fails", figure)


def passed(condition: bool, figure: str) -> Result:
    """Result of a condition on a mean."""
    return Result("holds" if condition else "fails", figure)


@dataclass(frozen=True)
class Check:
    """One condition, data set by data set.

    Attributes
    ----------
    text : str
    found : mapping of str to Result
    needed : int
        On how many data sets it must hold; 0 means all.
    """

    text: str
    found: Mapping[str, Result]
    needed: int = 0

    def names(self, answer: Answer) -> list[str]:
        """Data sets with this answer."""
        return [name for name, result in self.found.items() if result.answer == answer]

    @property
    def met(self) -> bool:
        """Whether it holds on as many data sets as required; ties do not count."""
        return bool(self.found) and len(self.names("holds")) >= (self.needed or len(self.found))

    @property
    def tally(self) -> str:
        """On how many data sets it holds, ties, and must hold."""
        if not self.found:
            return ""
        ties = f", tied on {len(self.names('tie'))}" if self.names("tie") else ""
        required = f"{self.needed or 'all'} required"
        return f"{len(self.names('holds'))} of {len(self.found)}{ties} ({required})"

    @property
    def verdict(self) -> str:
        """The verdict in a word or two."""
        if not self.found:
            return "no results yet"
        return "met" if self.met else "missed"

    def __str__(self) -> str:
        if not self.found:
            return f"{self.text}: {self.verdict}."
        text = f"{self.text}: holds on {self.tally}: {self.verdict}."
        for answer, words in (("tie", "Tied"), ("unknown", "Unknown"), ("fails", "Not")):
            if names := self.names(answer):
                figures = ", ".join(f"{name} ({self.found[name].figure})" for name in names)
                text += f" {words} on {figures}."
        return text


@dataclass(frozen=True)
class Requirement:
    """A requirement with its figures and its verdict.

    Attributes
    ----------
    title : str
    text : str
        What is required, in words.
    tables : sequence of Table
    checks : sequence of Check
    notes : sequence of str
        What else a reader must know.
    """

    title: str
    text: str
    tables: Sequence[Table]
    checks: Sequence[Check]
    notes: Sequence[str] = field(default=())

    def render(self, form: Form) -> str:
        """The requirement as text or Markdown: verdict first, figures below."""
        heading = f"## {self.title}\n" if form == "markdown" else f"== {self.title} ==\n"
        verdicts = "".join(f"- {check}\n" for check in self.checks)
        tables = [table.render(form) for table in self.tables]
        notes = [f"{note}\n" for note in self.notes if note]
        parts = [heading, f"{self.text}\n", verdicts, *tables, *notes]
        return "\n".join(part for part in parts if part)
