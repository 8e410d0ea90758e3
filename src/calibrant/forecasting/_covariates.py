"""Covariates by role: known up to now, known ahead, or constant in a series."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.errors import DataError, DataWarning, ParameterError
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.persistence import savable_part


@savable_part
@dataclass(frozen=True)
class Covariates:
    """Columns of X by role, and how they become numbers.

    A numeric column stays one column, missing values included; a categorical one becomes one
    column per category of the training rows, "(missing)" among them.

    Parameters
    ----------
    past, future, static : sequences of str
        Columns of each role.
    categories : dict of str to sequence of str
        Categories of the categorical columns.
    """

    past: Sequence[str] = ()
    future: Sequence[str] = ()
    static: Sequence[str] = ()
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def learn(
        cls,
        frame: pd.DataFrame,
        past: Sequence[str] | None,
        future: Sequence[str] | None,
        static: Sequence[str] | None,
    ) -> Covariates:
        """Assign the columns of the training rows to roles and learn their categories.

        Columns without a role are past covariates; with `past` given they are left out.
        """
        future, static = future or [], static or []
        named = [*(past or []), *future, *static]
        columns = list(map(str, frame.columns))
        unknown = [name for name in named if name not in columns]
        if unknown:
            raise DataError(
                f"X has no column {', '.join(map(repr, unknown))}, which past, future or static "
                f"names. Its columns are: {', '.join(columns) or 'none, X was not given'}."
            )
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ParameterError(
                f"A column of X has one role, but past, future and static name {twice} repeatedly."
            )
        if past is None:
            past = [name for name in columns if name not in named]
        categories = {
            name: _learn_categories(frame[name])
            for name in [*past, *future, *static]
            if not pd.api.types.is_numeric_dtype(frame[name].dtype)
        }
        return cls(list(past), list(future), list(static), categories)

    @property
    def names(self) -> list[str]:
        """All columns in use."""
        return [*self.past, *self.future, *self.static]

    def columns(self, names: Iterable[str]) -> list[str]:
        """Encoded columns of some columns."""
        return [
            column
            for name in names
            for column in (
                [f"{name}={category}" for category in self.categories[name]]
                if name in self.categories
                else [name]
            )
        ]

    def encode(self, series: SeriesFrame) -> SeriesFrame:
        """Return the series with its covariates as numbers: past, future, then static ones."""
        frame = series.covariates
        if self.names and len(series) and not len(frame.columns):
            raise DataError(
                f"The model was fitted with the covariates {', '.join(self.names)}: pass X."
            )
        return replace(series, covariates=self._encode(frame, self.names if len(series) else ()))

    def encode_future(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Encode coming rows, of which only the known-future covariates are known."""
        encoded = self._encode(frame, self.future)
        if encoded[self.columns(self.future)].isna().any(axis=None):
            raise DataError(
                f"X has missing values of {', '.join(self.future)} among the time stamps to "
                "forecast."
            )
        return encoded

    def split(self, series: SeriesFrame) -> tuple[Array, Array, Array]:
        """Encoded past, future and static covariates, (T, c) each."""
        stops = np.cumsum([len(self.columns(names)) for names in (self.past, self.future)])
        values = series.covariates.to_numpy(dtype=np.float64)
        past, future, static = np.split(values, stops, axis=1)
        return past, future, static

    def check_static(self, series: SeriesFrame) -> None:
        """Refuse static covariates that change within a series."""
        _, _, values = self.split(series)
        changes = np.any(np.diff(values, axis=0) != 0, axis=1) & (np.diff(series.code) == 0)
        if changes.any():
            raise DataError(
                f"Static covariates ({', '.join(self.static)}) must be constant in each series, "
                f"but change {int(changes.sum())} times. Pass those that change as past or future "
                "ones."
            )

    def _encode(self, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
        """Encode the named columns; all others in use are missing."""
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise DataError(f"X has no column {', '.join(map(repr, absent))}.")
        frame = frame.reset_index(drop=True)
        encoded = [
            _one_hot(frame[name], self.categories[name])
            if name in self.categories
            else _numbers(frame[name]).to_frame()
            for name in names
        ]
        table = pd.concat([pd.DataFrame(index=frame.index), *encoded], axis=1)
        return table.reindex(columns=self.columns(self.names)).astype(np.float64)


def _learn_categories(column: pd.Series[Any]) -> list[str]:
    if not isinstance(column.dtype, pd.CategoricalDtype):
        raise DataError(
            f"Column {column.name!r} of X is neither numeric nor categorical but {column.dtype}. "
            "Turn text into categories with .astype('category'), dates into numbers, or drop it."
        )
    return sorted(set(_as_text(column)))


def _one_hot(column: pd.Series[Any], categories: Sequence[str]) -> pd.DataFrame:
    """Indicators of the categories; those unseen in training have none."""
    text = _as_text(column)
    new = sorted(set(text) - set(categories))
    if new:
        warnings.warn(
            f"Column {column.name!r} of X has categories that were not in the training data: "
            f"{', '.join(map(repr, new[:5]))}. They count as none of the known ones.",
            DataWarning,
            stacklevel=2,
        )
    return pd.DataFrame({f"{column.name}={category}": text == category for category in categories})


def _as_text(column: pd.Series[Any]) -> pd.Series[str]:
    return column.astype(object).where(column.notna(), "(missing)").astype(str)


def _numbers(column: pd.Series[Any]) -> pd.Series[float]:
    try:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"Column {column.name!r} of X must hold numbers: {error}") from error
    if np.isinf(numbers).any():
        raise DataError(f"Column {column.name!r} of X has infinite values.")
    return pd.Series(numbers, name=column.name)
