"""Encoders of single columns: small frozen values, one class per kind of column.

A new kind is one class here and its entry in `KINDS`, and a rule in `TableEncoder` that chooses it.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.errors import DataWarning
from calibrant.tables.cleaning import as_text
from calibrant.tables.conversion import to_numbers

MISSING = "(missing)"


class Block(IntEnum):
    """Parts of the encoded matrix, from left to right."""

    NUMBERS = 0
    GAPS = 1
    CATEGORIES = 2


class ColumnEncoder(Protocol):
    """What `TableEncoder` needs to know about a column."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the column in the frame."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Block of the matrix that each encoded column belongs to, k of them."""

    @property
    def description(self) -> str:
        """What is done to the column; empty if its values are used as they are."""

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values, (n, k)."""

    def to_manifest(self) -> dict[str, Any]:
        """State as JSON values."""


@dataclass(frozen=True)
class NumericColumn:
    """Numbers; gaps become the median of the training rows, with a flag if training had any.

    Parameters
    ----------
    name : str
    median : float
    flags_gaps : bool
        Whether a second column tells 1 for a gap and 0 for a value.
    """

    name: str
    median: float
    flags_gaps: bool
    kind: ClassVar[str] = "numeric"

    @classmethod
    def fit(cls, name: str, column: pd.Series[Any]) -> NumericColumn:
        """Learn the median and whether there are gaps."""
        values = to_numbers(column)
        known = values[~np.isnan(values)]
        median = float(np.median(known)) if len(known) else 0.0
        return cls(name, median, flags_gaps=len(known) < len(values))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One column, or two with the flag."""
        return (Block.NUMBERS, Block.GAPS) if self.flags_gaps else (Block.NUMBERS,)

    @property
    def description(self) -> str:
        """What is done to the gaps, if training had any."""
        return "gaps filled with the median, flagged" if self.flags_gaps else ""

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values, (n, 1), or (n, 2) with the flag."""
        values = to_numbers(column)
        gaps = np.isnan(values)
        filled = np.where(gaps, self.median, values)
        return np.column_stack([filled, gaps] if self.flags_gaps else [filled])

    def to_manifest(self) -> dict[str, Any]:
        """State as JSON values."""
        return asdict(self)

    @classmethod
    def from_manifest(cls, state: dict[str, Any]) -> NumericColumn:
        """Restore what `to_manifest` returned."""
        return cls(str(state["name"]), float(state["median"]), bool(state["flags_gaps"]))


@dataclass(frozen=True)
class OneHotColumn:
    """Categories: one column per category, 1 where a row has it; gaps are a category, too.

    Booleans are the categories "False" and "True", whether they come as booleans or as text in
    any case, since CSV files spell them in many ways. A category that training did not have is
    0 in all columns, with a warning.

    Parameters
    ----------
    name : str
    categories : tuple of str
        In the order of the encoded columns.
    """

    name: str
    categories: tuple[str, ...]
    kind: ClassVar[str] = "one-hot"

    @classmethod
    def fit(cls, name: str, column: pd.Series[Any]) -> OneHotColumn:
        """Learn the categories."""
        found = set(as_text(column).fillna(MISSING))
        if _are_boolean(found):
            found = {_as_boolean(text) for text in found}
        return cls(name, tuple(sorted(found)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One column per category."""
        return (Block.CATEGORIES,) * len(self.categories)

    @property
    def description(self) -> str:
        """The encoding and the number of categories."""
        return f"one-hot, {len(self.categories)} categories"

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values, (n, k) for k categories."""
        texts = as_text(column).fillna(MISSING)
        if _are_boolean(self.categories):
            texts = texts.map(_as_boolean)
        codes = pd.Index(self.categories, dtype=object).get_indexer(pd.Index(texts))
        known = codes >= 0
        if not known.all():
            self._warn_of_new(sorted(set(texts[~known])))
        matrix = np.zeros((len(texts), len(self.categories)))
        matrix[known, codes[known]] = 1.0
        return matrix

    def _warn_of_new(self, texts: list[str]) -> None:
        warnings.warn(
            f"Column {self.name!r} has categories that were not in the training data: "
            f"{', '.join(map(repr, texts[:5]))}. They count as none of the known ones.",
            DataWarning,
            stacklevel=4,
        )

    def to_manifest(self) -> dict[str, Any]:
        """State as JSON values."""
        return {"name": self.name, "categories": list(self.categories)}

    @classmethod
    def from_manifest(cls, state: dict[str, Any]) -> OneHotColumn:
        """Restore what `to_manifest` returned."""
        return cls(str(state["name"]), tuple(str(text) for text in state["categories"]))


@dataclass(frozen=True)
class DroppedColumn:
    """A column that is not learned from.

    Parameters
    ----------
    name : str
    description : str
        Why it is left out.
    """

    name: str
    description: str
    kind: ClassVar[str] = "dropped"
    blocks: ClassVar[tuple[Block, ...]] = ()

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values as nothing, (n, 0)."""
        return np.empty((len(column), 0))

    def to_manifest(self) -> dict[str, Any]:
        """State as JSON values."""
        return asdict(self)

    @classmethod
    def from_manifest(cls, state: dict[str, Any]) -> DroppedColumn:
        """Restore what `to_manifest` returned."""
        return cls(str(state["name"]), str(state["description"]))


# In the order in which notes about the columns are listed.
KINDS: dict[str, type[DroppedColumn | OneHotColumn | NumericColumn]] = {
    each.kind: each for each in (DroppedColumn, OneHotColumn, NumericColumn)
}


def _are_boolean(texts: set[str] | tuple[str, ...]) -> bool:
    spellings = {text.lower() for text in texts} - {MISSING}
    return bool(spellings) and spellings <= {"false", "true"}


def _as_boolean(text: str) -> str:
    return text.capitalize() if text.lower() in ("false", "true") else text
