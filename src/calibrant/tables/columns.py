"""What all encoders of single columns share: small frozen values, one class per kind of column.

A new kind is one class beside `numbers.py`, its entry in `KINDS` of `encoder.py`, and a rule in
`kinds.py` that chooses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.persistence import savable_part


class Block(IntEnum):
    """Parts of the encoded matrix, from left to right."""

    NUMBERS = 0
    GAPS = 1
    CATEGORIES = 2


class ColumnEncoder(Protocol):
    """What `TableEncoder` needs to know about a column."""

    @property
    def name(self) -> str:
        """Name of the column in the frame."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Block of the matrix that each encoded column belongs to, k of them."""

    @property
    def description(self) -> str:
        """What is done to the column; empty if its values are used as they are."""

    @property
    def note(self) -> str:
        """What a user should know about the training rows; empty if all is well."""

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values, (n, k)."""


@savable_part
@dataclass(frozen=True)
class DroppedColumn:
    """A column that is not learned from.

    Parameters
    ----------
    name : str
    reason : str
        Why it is left out.
    names_rows : bool
        Whether its values name the rows, as those of an identifier do.
    """

    name: str
    reason: str
    names_rows: bool = False
    blocks: ClassVar[tuple[Block, ...]] = ()

    @property
    def description(self) -> str:
        """That it is left out, and why."""
        return f"left out, {self.reason}"

    @property
    def note(self) -> str:
        """As `description`: users are told what is left out."""
        return self.description

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values as nothing, (n, 0)."""
        return np.empty((len(column), 0))
