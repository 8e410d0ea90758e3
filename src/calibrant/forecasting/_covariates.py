"""Covariates by role: known up to now, known ahead, or constant in a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._rows import Array
from calibrant.forecasting._table import SeriesTable
from calibrant.tables import TableEncoder


@dataclass(frozen=True)
class Covariates:
    """Columns of X by role, and how they become numbers.

    A numeric column is one column, gaps included; a categorical one becomes one column a
    category of the training rows, missing among them.

    Parameters
    ----------
    past, future, static : lists of names
    encoders : mapping of name to encoder
        Of the categorical columns.
    """

    past: tuple[str, ...]
    future: tuple[str, ...]
    static: tuple[str, ...]
    encoders: dict[str, TableEncoder]

    @classmethod
    def learn(
        cls,
        frame: pd.DataFrame | None,
        past: Sequence[str] | None,
        future: Sequence[str] | None,
        static: Sequence[str] | None,
    ) -> Covariates:
        """Give every column of X its role; columns without one are past covariates.

        With `past` given, columns that no role names are left out.
        """
        ahead, constant = tuple(future or ()), tuple(static or ())
        columns = () if frame is None else tuple(str(name) for name in frame.columns)
        named = (*(past or ()), *ahead, *constant)
        unknown = [name for name in named if name not in columns]
        if unknown:
            raise DataError(
                f"X has no column {', '.join(map(repr, unknown))}, which past, future or static "
                f"names. Its columns are: {', '.join(columns) or 'none, X was not given'}."
            )
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ParameterError(f"Columns can have one role only, but {twice} have several.")
        if past is None:
            past = [name for name in columns if name not in ahead + constant]
        encoders = {}
        for name in (*past, *ahead, *constant):
            assert frame is not None
            if not pd.api.types.is_numeric_dtype(frame[name].dtype):
                encoders[name] = TableEncoder(impute=True).fit(frame[[name]])
        return cls(tuple(past), ahead, constant, encoders)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns in use, in the order of the encoded matrix."""
        return self.past + self.future + self.static

    def encode(self, frame: pd.DataFrame | None, n: int) -> Array:
        """Encoded covariates of n rows, (n, c)."""
        if not self.names or not n:
            return np.zeros((n, self.width(self.names)))
        if frame is None:
            raise DataError(
                f"The model was fitted with the covariates {', '.join(self.names)}: pass X."
            )
        return self._matrix(frame, self.names)

    def encode_future(self, frame: pd.DataFrame) -> Array:
        """Matrix of rows whose known-future covariates alone are known, (n, c)."""
        x = np.full((len(frame), self.width(self.names)), np.nan)
        first = self.width(self.past)
        x[:, first : first + self.width(self.future)] = self._matrix(frame, self.future)
        return x

    def check_static(self, table: SeriesTable) -> None:
        """Complain about static covariates that change within a series."""
        values = table.x[:, self.parts()[2]]
        changes = np.any(np.diff(values, axis=0) != 0, axis=1) & (np.diff(table.code) == 0)
        if changes.any():
            raise DataError(
                f"Static covariates ({', '.join(self.static)}) must be constant in each series, "
                f"but change {int(changes.sum())} times. Make those that change past or future "
                "ones."
            )

    def width(self, names: Sequence[str]) -> int:
        """Encoded columns of some covariates."""
        return sum(
            sum(map(len, self.encoders[name].categories_.values())) if name in self.encoders else 1
            for name in names
        )

    def parts(self) -> tuple[slice, slice, slice]:
        """Encoded columns of past, future and static covariates."""
        stops = np.cumsum([self.width(names) for names in (self.past, self.future, self.static)])
        a, b, c = (int(stop) for stop in stops)
        return slice(0, a), slice(a, b), slice(b, c)

    def _matrix(self, frame: pd.DataFrame, names: Sequence[str]) -> Array:
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise DataError(f"X has no column {', '.join(map(repr, missing))}.")
        return np.hstack([self._column(frame[[name]], name) for name in names])

    def _column(self, frame: pd.DataFrame, name: str) -> Array:
        if name in self.encoders:
            return self.encoders[name].transform(frame)
        try:
            column = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise DataError(f"Column {name!r} of X must hold numbers: {error}") from error
        if np.isinf(column).any():
            raise DataError(f"Column {name!r} of X has infinite values.")
        return column[:, None]

    def to_manifest(self) -> dict[str, Any]:
        """State as JSON values."""
        return {
            "past": list(self.past),
            "future": list(self.future),
            "static": list(self.static),
            "encoders": {name: each.to_manifest() for name, each in self.encoders.items()},
        }

    @classmethod
    def from_manifest(cls, state: dict[str, Any]) -> Covariates:
        """Restore what `to_manifest` gave."""
        past, future, static = (tuple(state[role]) for role in ("past", "future", "static"))
        encoders = {
            name: TableEncoder.from_manifest(each) for name, each in state["encoders"].items()
        }
        return cls(past, future, static, encoders)
