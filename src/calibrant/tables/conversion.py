"""Conversions between the containers and types that users pass, and checks of their values."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

from calibrant.checks import package_of
from calibrant.errors import DataError

_MOST_CELLS = 2**28  # of a sparse matrix: 2 GiB once all of them are written out


def to_local(values: Any) -> Any:
    """Convert polars and Arrow to pandas, torch and sparse to NumPy; return the rest unchanged.

    Arrow is any object with ``__arrow_c_stream__``, whichever library it comes from.
    """
    package = package_of(values)
    if package == "polars":
        return (values.collect() if hasattr(values, "collect") else values).to_pandas()
    if package != "pandas" and hasattr(values, "__arrow_c_stream__"):
        return _from_stream(values)
    if package == "pyarrow":  # an array, which is no stream
        if hasattr(values, "get_fragments"):
            raise DataError(
                "Expected rows in memory, got a dataset of pyarrow: ArrowSource(dataset, "
                "target=...) reads it part by part, for fit, predict_parquet and evaluate_source."
            )
        return values.to_pandas()
    if package == "torch":
        return values.detach().cpu().numpy()
    if package == "scipy" and hasattr(values, "toarray"):
        return _dense(values)
    return values


def _from_stream(values: Any) -> Any:
    """Read a table or a column, once: some streams can't be read again."""
    import pyarrow as pa

    column = pa.chunked_array(values)
    is_table = pa.types.is_struct(column.type)
    return (pa.Table.from_struct_array(column) if is_table else column).to_pandas()


def _dense(matrix: Any) -> NDArray[Any]:
    cells = int(np.prod(matrix.shape, dtype=np.float64))
    if cells > _MOST_CELLS:
        raise DataError(
            f"X is sparse with {matrix.shape[0]:,} rows and {matrix.shape[1]:,} columns, which a "
            f"network reads in full: {8 * cells / 2**30:,.0f} GiB. Reduce the columns first, for "
            "example with sklearn.decomposition.TruncatedSVD."
        )
    dense: NDArray[Any] = matrix.toarray()
    return dense


def as_frame(X: Any) -> pd.DataFrame:
    """Convert a table to a frame; columns without text names are called x0, x1, ...

    Parameters
    ----------
    X : DataFrame or array-like of shape (n, d)
    """
    if isinstance(X, pd.DataFrame):
        if all(isinstance(name, str) for name in X.columns):
            return X
        return X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1)
    array = np.asarray(X)
    frame = pd.DataFrame(cast(Any, array), columns=[f"x{j}" for j in range(array.shape[1])])
    return frame.infer_objects() if array.dtype == object else frame


def to_numbers(column: pd.Series[Any], source: str = "X") -> NDArray[np.float64]:
    """Convert a column to numbers, (n,); gaps are NaN and text is parsed.

    Parameters
    ----------
    column : Series of n values
    source : str
        What the error message calls the table.

    Raises
    ------
    DataError
        If a value is neither a number nor a gap; the message names the first such row.

    Examples
    --------
    >>> to_numbers(pd.Series(["1.5", None, "2"]))
    array([1.5, nan, 2. ])
    """
    if is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = column.astype(object)
    if is_datetime64_any_dtype(column.dtype) or is_timedelta64_dtype(column.dtype):
        values = values.map(str, na_action="ignore")  # pandas would count nanoseconds
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.isnan(numbers) & column.notna().to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"Column {column.name!r} of {source} must hold numbers, but row {row + 1} has "
            f"{str(column.iloc[row])!r}."
        )
    return numbers


def _as_floats(column: pd.Series[Any]) -> NDArray[np.float64]:
    if column.dtype == np.float64:  # as it is, in a tenth of the time
        return column.to_numpy()
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def check_finite(frame: pd.DataFrame) -> None:
    """Raise `DataError` if numeric columns hold infinite values, naming them; gaps may stay."""
    infinite = [
        repr(name)
        for name, column in frame.items()
        if is_numeric_dtype(column.dtype) and np.isinf(_as_floats(column)).any()
    ]
    if infinite:
        raise DataError(
            f"Input X contains infinity, in {', '.join(infinite)}. Leave these rows out, or make "
            "them gaps (NaN), which can be imputed."
        )
