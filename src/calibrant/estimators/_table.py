"""From what users have (frames, arrays, tensors) to one float64 matrix."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from calibrant.errors import DataError, DataWarning

Array = NDArray[np.float64]
_MISSING = "(missing)"


def to_local(values: Any) -> Any:
    """Bring polars frames to pandas and torch tensors to NumPy; leave the rest as it is."""
    package = type(values).__module__.split(".", 1)[0]
    if package == "polars":
        return values.to_pandas()
    if package == "torch":
        return values.detach().cpu().numpy()
    return values


class TableEncoder:
    """Frames with categories or gaps as a matrix: a scikit-learn pipeline that JSON can hold.

    Categorical columns become one column a category, numeric gaps the median of the training
    rows with a flag column beside it. The pipeline is restored by fitting it again to three
    exemplary rows which have just that median, those gaps and those categories.

    Parameters
    ----------
    impute : bool
        Fill gaps; otherwise a gap is an error.
    """

    def __init__(self, *, impute: bool) -> None:
        self.impute = impute

    def fit(self, frame: pd.DataFrame) -> TableEncoder:
        """Learn medians, gaps and categories from training rows."""
        self.columns_ = [str(name) for name in frame.columns]
        table = self._check(frame)
        self.categories_ = {
            name: sorted(table[name].unique()) for name in self.columns_ if _is_text(table[name])
        }
        self.medians_: dict[str, float] = {}
        self.flagged_: list[str] = []
        for name in self.columns_:
            if name in self.categories_:
                continue
            values = table[name].to_numpy(dtype=np.float64)
            known = values[~np.isnan(values)]
            self.medians_[name] = float(np.median(known)) if len(known) else 0.0
            if len(known) < len(values):
                self.flagged_.append(name)
        self._build()
        return self

    def transform(self, frame: pd.DataFrame) -> Array:
        """Encode a frame with the columns of the training frame, (n, d)."""
        table = self._check(frame)
        for name, known in self.categories_.items():
            new = sorted(set(table[name]) - set(known))
            if new:
                warnings.warn(
                    f"Column {name!r} has categories that were not in the training data: "
                    f"{', '.join(map(repr, new[:5]))}. They count as none of the known ones.",
                    DataWarning,
                    stacklevel=2,
                )
        return np.asarray(self._pipeline.transform(table), dtype=np.float64)

    @property
    def notes(self) -> list[str]:
        """What was done to the columns, in words."""
        notes = [
            f"{name}: one-hot, {len(known)} categories" for name, known in self.categories_.items()
        ]
        return notes + [f"{name}: gaps filled with the median, flagged" for name in self.flagged_]

    def to_manifest(self) -> dict[str, Any]:
        """State as JSON values."""
        return {
            "impute": self.impute,
            "columns": self.columns_,
            "categories": self.categories_,
            "medians": self.medians_,
            "flagged": self.flagged_,
        }

    @classmethod
    def from_manifest(cls, state: dict[str, Any]) -> TableEncoder:
        """Restore what `to_manifest` gave."""
        encoder = cls(impute=bool(state["impute"]))
        encoder.columns_ = [str(name) for name in state["columns"]]
        # In the order of the columns: JSON objects promise none.
        categories, medians = state["categories"], state["medians"]
        encoder.categories_ = {
            name: [str(value) for value in categories[name]]
            for name in encoder.columns_
            if name in categories
        }
        encoder.medians_ = {
            name: float(medians[name]) for name in encoder.columns_ if name not in categories
        }
        encoder.flagged_ = [str(name) for name in state["flagged"]]
        encoder._build()
        return encoder

    def _build(self) -> None:
        categorical = list(self.categories_)
        self._pipeline = ColumnTransformer(
            [
                (
                    "numeric",
                    SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
                    list(self.medians_),
                ),
                (
                    "categorical",
                    OneHotEncoder(
                        categories=list(self.categories_.values()),
                        handle_unknown="ignore",
                        sparse_output=False,
                    ),
                    categorical,
                ),
            ]
        )
        exemplar: dict[str, Any] = {}
        for name in self.columns_:
            if name in self.categories_:
                exemplar[name] = [self.categories_[name][0]] * 3
            else:
                median = self.medians_[name]
                last = np.nan if name in self.flagged_ else median
                exemplar[name] = [median, median, last]
        self._pipeline.fit(pd.DataFrame(exemplar))

    def _check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Numeric columns as float64, categorical ones as text; anything else is an error."""
        check_finite(frame)
        table: dict[str, Any] = {}
        strange, gaps = [], []
        for name, (_, column) in zip(self.columns_, frame.items(), strict=True):
            if isinstance(column.dtype, pd.CategoricalDtype):
                text = column.astype("object").where(column.notna(), _MISSING).astype(str)
                table[name] = text.astype(object)
            elif pd.api.types.is_numeric_dtype(column.dtype):  # booleans are numeric
                table[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            elif name in getattr(self, "categories_", {}):  # text for a column known as categorical
                text = column.where(column.notna(), _MISSING).astype(str)
                table[name] = text.astype(object)
            else:
                strange.append(f"{name!r} ({column.dtype})")
                continue
            if column.isna().any():
                gaps.append(repr(name))
        if strange:
            raise DataError(
                f"Columns that are neither numeric nor categorical: {', '.join(strange)}. Turn "
                "text into categories with .astype('category'), dates into numbers, or drop them."
            )
        if gaps and not self.impute:
            raise DataError(
                f"Input X contains NaN: missing values in {', '.join(gaps)}. Fill them, or use "
                'missing="impute" for the median with a flag column.'
            )
        return pd.DataFrame(table, index=frame.index, columns=self.columns_)


def needs_encoder(frame: pd.DataFrame, *, impute: bool) -> bool:
    """Whether a frame has more than complete numbers."""
    return impute or not all(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes)


def check_finite(frame: pd.DataFrame) -> None:
    """Complain about columns with infinite numbers, by name; gaps are another matter."""
    infinite = [
        repr(name)
        for name, column in frame.items()
        if pd.api.types.is_numeric_dtype(column.dtype)
        and np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)).any()
    ]
    if infinite:
        raise DataError(
            f"Input X contains infinity, in {', '.join(infinite)}. Leave these rows out, or make "
            "them gaps (NaN), which can be imputed."
        )


def _is_text(column: pd.Series[Any]) -> bool:
    return column.dtype == object


def as_frame(X: Any) -> pd.DataFrame:
    """Frames as they are, other tables with the columns x0, x1, ..."""
    if isinstance(X, pd.DataFrame):
        if all(isinstance(name, str) for name in X.columns):
            return X
        return X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1)
    array = np.asarray(X)
    return pd.DataFrame(cast(Any, array), columns=[f"x{j}" for j in range(array.shape[1])])
