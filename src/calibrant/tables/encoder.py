"""Tables with text, dates, durations, booleans and gaps as one matrix."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, Self, cast

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.errors import DataError, DataWarning
from calibrant.persistence import savable_part
from calibrant.tables.categories import (
    CodedColumn,
    OneHotColumn,
    encode_categories,
    fit_categories,
)
from calibrant.tables.codes import are_codes, holds_whole_numbers, sample_rows, unexplained
from calibrant.tables.columns import ColumnEncoder, DroppedColumn
from calibrant.tables.conversion import check_finite
from calibrant.tables.dates import DateColumn, DateDifference, days_between
from calibrant.tables.description import ColumnRow, column_table, rows_of
from calibrant.tables.kinds import fit_column, names_a_time, row_number
from calibrant.tables.numbers import DurationColumn, NumericColumn

_MOST_DATES = 4  # of more date columns only the first few are compared

# In the order in which notes about the columns are listed.
KINDS: tuple[type[Any], ...] = (
    DroppedColumn,
    DateColumn,
    DateDifference,
    DurationColumn,
    OneHotColumn,
    CodedColumn,
    NumericColumn,
)


@savable_part
class TableEncoder:
    """Encode the columns of a frame as one float64 matrix, each by an encoder of its own.

    Numbers come first, then flags of gaps, then categories. What a column is, is decided once, in
    `fit`: text that holds numbers or dates but for a few cells is read as such, other text and
    booleans are categories, dates become their age, year and cycles, and the time between two
    date columns is a column of its own. Gaps are filled and flagged. Identifiers and row numbers
    are left out.

    Attributes
    ----------
    encoders_ : list of ColumnEncoder
        One per column of the frame, in its order.
    differences_ : list of DateDifference
        One per pair of date columns.

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
    >>> print(encoder.describe())
    column  inputs  how it is read
    city         2  one-hot, 2 categories
    size         2  gaps filled with the median, flagged
    """

    encoders_: list[ColumnEncoder]
    differences_: list[DateDifference]

    def fit(self, frame: pd.DataFrame) -> TableEncoder:
        """Learn from training rows what each column is and how to encode it."""
        check_finite(frame)
        columns = [column for _, column in frame.items()]
        self.encoders_ = [fit_column(column) for column in columns]
        numbers = {
            j: found
            for j, column in enumerate(columns)
            if type(self.encoders_[j]) is NumericColumn and (found := row_number(column))
        }
        others = [each for j, each in enumerate(self.encoders_) if j not in numbers and each.blocks]
        if others:  # a lone column of numbers that count up is an input, not a row number
            self.encoders_ = [numbers.get(j, each) for j, each in enumerate(self.encoders_)]
        self.differences_ = self._fit_differences(columns)
        if not any(encoder.blocks for encoder in self.encoders_):
            raise DataError(f"No columns are left to learn from. {'; '.join(self.notes)}".rstrip())
        return self

    def fit_matrix(self, X: Array) -> TableEncoder:
        """Learn medians and gaps of a matrix of numbers, (n, d), in which no column is dropped."""
        self.encoders_ = [NumericColumn.fit(f"x{j}", pd.Series(X[:, j])) for j in range(X.shape[1])]
        self.differences_ = []
        return self

    def with_categories(self, counts: Mapping[str, pd.Series[Any]]) -> TableEncoder:
        """Return the encoder with the categories of all rows, where it was fitted to a sample.

        Parameters
        ----------
        counts : mapping of str to Series
            Number of rows of each label, by column; other columns stay as they are.
        """
        encoders = (
            encode_categories(each.name, counts[each.name])
            if isinstance(each, OneHotColumn | CodedColumn) and each.name in counts
            else each
            for each in self.encoders_
        )
        return self.from_fields(encoders, self.differences_)

    def with_codes(self, frame: pd.DataFrame, y: Array) -> TableEncoder:
        """Return the encoder with categories for whole numbers whose order says nothing about y.

        A network learns little from the numbers of shops or patients unless they are categories.
        Columns named after a time stay numbers, and so do decimals: ``frame.astype({"zone":
        float})`` makes a quantity of whole numbers. Without such codes the result is the encoder
        itself.

        Parameters
        ----------
        frame : DataFrame of n rows
            The training rows.
        y : array of shape (n,)
        """
        may_be = [
            j
            for j, (name, column) in enumerate(frame.items())
            if type(self.encoders_[j]) is NumericColumn
            and holds_whole_numbers(column)
            and not names_a_time(name)
        ]
        if not may_be:
            return self
        rows = sample_rows(len(y))
        sample = frame.iloc[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # `fit` has warned of broken cells
            rest = unexplained(self.transform(sample), y[rows])
        codes = [j for j in may_be if are_codes(sample.iloc[:, j], rest)]
        if not codes:
            return self
        encoders = list(self.encoders_)
        for j in codes:
            encoders[j] = fit_categories(encoders[j].name, frame.iloc[:, j])
        return self.from_fields(encoders, self.differences_)

    def transform(self, frame: pd.DataFrame) -> Array:
        """Encode a frame with the columns of the training frame, (n, d)."""
        check_finite(frame)
        columns = [column for _, column in frame.items()]
        parts = [
            encoder.transform(column)
            for encoder, column in zip(self.encoders_, columns, strict=True)
        ]
        stamps = self._stamps(columns)
        parts += [
            each.transform(days_between(stamps[each.earlier], stamps[each.later]))
            for each in self.differences_
        ]
        blocks = [block for each in self._all for block in each.blocks]
        return np.hstack(parts).take(np.argsort(blocks, kind="stable"), axis=1)

    def with_left_out(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Add columns that are not learned from and not there, so that new rows may lack them."""
        names = [each.name for each in self.encoders_]
        absent = [name for name in self.left_out if name not in frame.columns]
        if not absent or list(frame.columns) != [name for name in names if name not in absent]:
            return frame
        return frame.reindex(columns=names)

    @property
    def is_identity(self) -> bool:
        """Whether rows without gaps are encoded as they are."""
        return all(type(each) is NumericColumn and not each.flags_gaps for each in self.encoders_)

    @property
    def left_out(self) -> list[str]:
        """Names of the columns that are not learned from."""
        return [each.name for each in self.encoders_ if isinstance(each, DroppedColumn)]

    @property
    def row_names(self) -> list[str]:
        """Names of the columns that are left out because they name the rows."""
        dropped = (each for each in self.encoders_ if isinstance(each, DroppedColumn))
        return [each.name for each in dropped if each.names_rows]

    @property
    def categories_(self) -> dict[str, list[str]]:
        """Categories by column name; in a CSV file these columns must be read as text."""
        return {
            encoder.name: list(encoder.categories)
            for encoder in self.encoders_
            if isinstance(encoder, OneHotColumn | CodedColumn)
        }

    @property
    def notes(self) -> list[str]:
        """What was done to the columns that are not used as they are, in words."""
        return [
            f"{encoder.name}: {encoder.description}"
            for kind in KINDS
            for encoder in self._all
            if type(encoder) is kind and encoder.description
        ]

    @property
    def surprises(self) -> list[str]:
        """What a user should know: columns that were left out, cells that count as gaps."""
        return [f"{each.name}: {each.note}" for each in self._all if each.note]

    @property
    def summary(self) -> list[ColumnRow]:
        """One row per column: its name, the number of its inputs, and how it is read."""
        return rows_of(self._all)

    def describe(self, width: int = 80) -> str:
        """What was done to each column, as a table of text in lines of at most `width`."""
        return column_table(self.summary, width)

    def __str__(self) -> str:
        """As `describe`, once it is fitted."""
        return self.describe() if hasattr(self, "encoders_") else repr(self)

    def saved_fields(self) -> dict[str, Any]:
        """What a model folder holds."""
        return {"encoders": self.encoders_, "differences": self.differences_}

    @classmethod
    def from_fields(
        cls, encoders: Iterable[ColumnEncoder], differences: Iterable[DateDifference]
    ) -> Self:
        """Rebuild the object from its `saved_fields`."""
        encoder = cls()
        encoder.encoders_, encoder.differences_ = list(encoders), list(differences)
        return encoder

    @property
    def _all(self) -> list[ColumnEncoder]:
        return [*self.encoders_, *cast(list[ColumnEncoder], self.differences_)]

    def _stamps(self, columns: list[pd.Series[Any]]) -> dict[int, pd.Series[Any]]:
        """Dates of the date columns, by position."""
        return {
            j: encoder.stamps(columns[j])
            for j, encoder in enumerate(self.encoders_)
            if isinstance(encoder, DateColumn)
        }

    def _fit_differences(self, columns: list[pd.Series[Any]]) -> list[DateDifference]:
        stamps = self._stamps(columns)
        return [
            DateDifference.fit(
                f"{columns[later].name} - {columns[earlier].name}",
                earlier,
                later,
                days_between(stamps[earlier], stamps[later]),
            )
            for earlier, later in combinations(list(stamps)[:_MOST_DATES], 2)
        ]
