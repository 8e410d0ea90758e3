"""Tables with text, booleans and gaps as one matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.errors import DataError
from calibrant.tables.cleaning import is_categorical, reason_to_drop
from calibrant.tables.columns import (
    KINDS,
    ColumnEncoder,
    DroppedColumn,
    NumericColumn,
    OneHotColumn,
)
from calibrant.tables.conversion import check_finite


class TableEncoder:
    """Encode the columns of a frame as one float64 matrix, each by an encoder of its own.

    Numbers come first, then flags of gaps, then one column per category. Text and booleans are
    categories; gaps are filled with the median of the training rows. Text columns that look like
    identifiers are left out.

    Attributes
    ----------
    encoders_ : list of ColumnEncoder
        One per column of the frame, in its order.

    Examples
    --------
    >>> cities = ["Bonn", "Ulm", "Bonn", "Ulm"]
    >>> frame = pd.DataFrame({"city": cities, "size": [1.0, None, 3.0, 2.0]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.transform(frame)
    array([[1., 0., 1., 0.],
           [2., 1., 0., 1.],
           [3., 0., 1., 0.],
           [2., 0., 0., 1.]])
    >>> encoder.notes
    ['city: one-hot, 2 categories', 'size: gaps filled with the median, flagged']
    """

    encoders_: list[ColumnEncoder]

    def fit(self, frame: pd.DataFrame) -> TableEncoder:
        """Learn medians, gaps and categories from training rows."""
        check_finite(frame)
        self.encoders_ = [self._fit_column(column) for _, column in frame.items()]
        if not any(encoder.blocks for encoder in self.encoders_):
            raise DataError(f"No columns are left to learn from. {'; '.join(self.notes)}".rstrip())
        return self

    def transform(self, frame: pd.DataFrame) -> Array:
        """Encode a frame with the columns of the training frame, (n, d)."""
        check_finite(frame)
        columns = (column for _, column in frame.items())
        encoded = [
            encoder.transform(column)
            for encoder, column in zip(self.encoders_, columns, strict=True)
        ]
        blocks = [block for encoder in self.encoders_ for block in encoder.blocks]
        order = np.argsort(blocks, kind="stable")
        return np.hstack(encoded).take(order, axis=1)

    @property
    def is_identity(self) -> bool:
        """Whether rows without gaps are encoded as they are."""
        return all(
            isinstance(encoder, NumericColumn) and not encoder.flags_gaps
            for encoder in self.encoders_
        )

    @property
    def categories_(self) -> dict[str, list[str]]:
        """Categories of the one-hot columns, by column name."""
        return {
            encoder.name: list(encoder.categories)
            for encoder in self.encoders_
            if isinstance(encoder, OneHotColumn)
        }

    @property
    def notes(self) -> list[str]:
        """What was done to the columns that are not used as they are, in words."""
        return [
            f"{encoder.name}: {encoder.description}"
            for kind in KINDS
            for encoder in self.encoders_
            if encoder.kind == kind and encoder.description
        ]

    def to_manifest(self) -> dict[str, Any]:
        """State as JSON values."""
        return {"columns": [{"kind": each.kind} | each.to_manifest() for each in self.encoders_]}

    @classmethod
    def from_manifest(cls, state: dict[str, Any]) -> TableEncoder:
        """Restore what `to_manifest` returned."""
        encoder = cls()
        encoder.encoders_ = [KINDS[each["kind"]].from_manifest(each) for each in state["columns"]]
        return encoder

    def _fit_column(self, column: pd.Series[Any]) -> ColumnEncoder:
        name = str(column.name)
        if isinstance(column.dtype, pd.CategoricalDtype):  # chosen by the user, so never dropped
            return OneHotColumn.fit(name, column)
        if reason := reason_to_drop(column):
            return DroppedColumn(name, reason)
        return (OneHotColumn if is_categorical(column) else NumericColumn).fit(name, column)
