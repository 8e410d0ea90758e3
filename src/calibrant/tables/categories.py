"""Columns of categories: one column each where they are few, codes where they are many."""

from __future__ import annotations

import hashlib
import re
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calibrant.checks import Array, Index
from calibrant.errors import DataWarning
from calibrant.persistence import savable_part
from calibrant.tables.columns import Block
from calibrant.tables.texts import map_different, text_of

MISSING = "(missing)"
# With more categories than this one column each costs more time than it gains in accuracy.
MOST_ONE_HOT = 256
_CODE_BITS = 128
_WHOLE = re.compile(r"^(-?\d+)\.0+$")


def fit_categories(name: str, column: pd.Series[Any]) -> OneHotColumn | CodedColumn:
    """Learn the categories of a column, the gap among them."""
    return encode_categories(name, category_labels(column).value_counts())


def encode_categories(name: str, counts: pd.Series[Any]) -> OneHotColumn | CodedColumn:
    """Encoding of categories of which the rows have been counted, by label."""
    if _are_boolean(set(counts.index)):
        counts = counts.groupby(_as_boolean).sum()
    counts = counts.sort_index()
    if len(counts) <= MOST_ONE_HOT:
        return OneHotColumn(name, tuple(counts.index))
    return CodedColumn(name, tuple(counts.index), tuple(int(count) for count in counts))


@savable_part
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
    note: ClassVar[str] = ""

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
        codes = _positions(self.name, column, self.categories)
        known = codes >= 0
        matrix = np.zeros((len(codes), len(self.categories)))
        matrix[known, codes[known]] = 1.0
        return matrix


@savable_part
@dataclass(frozen=True)
class CodedColumn:
    """Many categories: how frequent a category is, and a code of 128 signs drawn by its name.

    Any two codes differ in about half of their signs, so that a network can tell categories
    apart, and codes know nothing of the target. A category that training did not have is 0 in all
    columns, between all codes, with a warning.

    Parameters
    ----------
    name : str
    categories : tuple of str
    counts : tuple of int
        Training rows of each category.
    """

    name: str
    categories: tuple[str, ...]
    counts: tuple[int, ...]
    note: ClassVar[str] = ""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The frequency, and one column per sign."""
        return (Block.NUMBERS, *(Block.CATEGORIES,) * _CODE_BITS)

    @property
    def description(self) -> str:
        """The encoding and the number of categories."""
        return f"{len(self.categories):,} categories as codes of {_CODE_BITS} signs and frequency"

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values, (n, 129)."""
        positions = _positions(self.name, column, self.categories)
        known = positions >= 0
        encoded = np.column_stack([np.log1p(self.counts), _codes(self.categories)])
        return np.asarray(np.where(known[:, None], encoded[positions], 0.0), dtype=np.float64)


def _codes(categories: tuple[str, ...]) -> Array:
    """Signs per category, (k, 128), the same on every machine."""
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=_CODE_BITS // 8).digest() for text in categories
    )
    bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8)).reshape(-1, _CODE_BITS)
    return np.asarray(2.0 * bits - 1.0, dtype=np.float64)


def _positions(name: str, column: pd.Series[Any], categories: tuple[str, ...]) -> Index:
    """Position of each value among the categories, (n,); -1 for new ones, with a warning."""
    texts = category_labels(column)
    if _are_boolean(categories):
        texts = map_different(texts, lambda labels: [_as_boolean(label) for label in labels])
    positions: Index = pd.Index(categories, dtype=object).get_indexer(pd.Index(texts))
    if (positions < 0).any():
        new = set(texts[positions < 0])
        if MISSING in new:
            found = "gaps, which the training data did not have. They count as no category"
            warnings.warn(f"Column {name!r} has {found}.", DataWarning, stacklevel=5)
        if labels := sorted(new - {MISSING}):
            warnings.warn(
                f"Column {name!r} has categories that were not in the training data: "
                f"{', '.join(map(repr, labels[:5]))}. They count as none of the known ones.",
                DataWarning,
                stacklevel=5,
            )
    return positions


def category_labels(column: pd.Series[Any]) -> pd.Series[Any]:
    """Values as text, without spaces around it.

    "7.0", which files have where whole numbers stand beside gaps, is "7".
    """
    text = text_of(column)
    labels = map_different(
        column, lambda values: [_WHOLE.sub(r"\1", text(value).strip()) for value in values]
    )
    return labels.fillna(MISSING)


def _are_boolean(texts: set[str] | tuple[str, ...]) -> bool:
    spellings = {text.lower() for text in texts} - {MISSING}
    return bool(spellings) and spellings <= {"false", "true"}


def _as_boolean(text: str) -> str:
    return text.capitalize() if text.lower() in ("false", "true") else text
