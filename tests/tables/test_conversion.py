from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from calibrant.errors import DataError
from calibrant.tables import as_frame, check_finite, to_local, to_numbers


def test_polars_and_torch_become_pandas_and_numpy() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    pd.testing.assert_frame_equal(to_local(pl.from_pandas(frame)), frame)
    values = to_local(torch.tensor([1.0, 2.0], requires_grad=True))
    assert isinstance(values, np.ndarray)
    assert to_local(frame) is frame


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (pd.DataFrame({"a": [1], "b": [2]}), ["a", "b"]),
        (pd.DataFrame({0: [1], 1: [2]}), ["x0", "x1"]),
        (pd.DataFrame({"a": [1], 1: [2]}), ["x0", "x1"]),
        (np.ones((1, 2)), ["x0", "x1"]),
        ([[1, 2]], ["x0", "x1"]),
    ],
)
def test_columns_of_a_frame_have_names(table, names) -> None:
    assert list(as_frame(table).columns) == names


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, np.nan, 2.5]),
        pd.Series([1.0, None, 2.5], dtype="Float64"),
        pd.Series(["1", None, "2.5"]),
        pd.Series(["1", None, "2.5"], dtype="category"),
        pd.Series([1, None, "2.5"], dtype=object),
    ],
)
def test_numbers_and_text_that_looks_like_them(column) -> None:
    np.testing.assert_array_equal(to_numbers(column), [1.0, np.nan, 2.5])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (pd.Series(["1", "large"], name="size"), "large"),
        (pd.Series([None, "large"], name="size", dtype="category"), "large"),
        (pd.Series([pd.NaT, pd.Timestamp("2024-01-31")], name="size"), "2024-01-31 00:00:00"),
        (pd.Series([pd.NaT, pd.Timedelta("1D")], name="size"), "1 days 00:00:00"),
    ],
)
def test_the_first_value_that_is_no_number_is_named(column, value) -> None:
    with pytest.raises(DataError) as caught:
        to_numbers(column, "t.csv")
    assert str(caught.value) == (
        f"Column 'size' of t.csv must hold numbers, but row 2 has {value!r}."
    )


def test_infinite_values_are_named_by_their_columns() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [1.0, -np.inf], "text": ["inf", "x"]})
    with pytest.raises(DataError, match=r"contains infinity, in 'b'\."):
        check_finite(frame)
    check_finite(frame[["a", "text"]])


def test_arrow_and_sparse_become_pandas_and_numpy() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "day": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    pd.testing.assert_frame_equal(to_local(pa.Table.from_pandas(frame)), frame, check_dtype=False)
    pd.testing.assert_frame_equal(to_local(pl.from_pandas(frame).lazy()), frame, check_dtype=False)
    dense = np.eye(3)
    for matrix in (sparse.csr_array(dense), sparse.coo_matrix(dense)):
        np.testing.assert_array_equal(to_local(matrix), dense)


def test_a_sparse_matrix_that_is_too_large() -> None:
    with pytest.raises(DataError, match=r"1,000,000 rows and 90,000 columns.*671 GiB.*Truncated"):
        to_local(sparse.csr_array((1_000_000, 90_000)))
