"""Numbers and rows, or errors that say what is wrong with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.sparse import csr_array

from calibrant.checks import as_numbers, finite_numbers, name_of, show, take_rows
from calibrant.errors import DataError, ParameterError


def test_as_numbers() -> None:
    assert as_numbers([1, 2], "x").dtype == np.float64
    with pytest.raises(ParameterError, match=r"^scale must be numbers, got 'wide'\.$"):
        as_numbers("wide", "scale")
    with pytest.raises(DataError, match=r"y must be numbers, got \['a', .*\.\.\.\.$"):
        as_numbers(["a"] * 100, "y", DataError)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        np.array([[1.0], [2.0]]),
        pd.Series([1, 2]),
        torch.tensor([1.0, 2.0]).requires_grad_(),
    ],
    ids=["list", "column", "series", "tensor"],
)
def test_finite_numbers(values: object) -> None:
    found = finite_numbers(values, "y")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1.0, 2.0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a"], "y must be numbers"),
        (np.ones((2, 3)), r"y must have one number per row, got shape \(2, 3\)"),
        (3.0, r"one number per row, got shape \(\)"),
        ([1, np.nan, np.inf], r"2 of 3 values are not \(the first is nan in row 1\)"),
    ],
)
def test_numbers_that_are_not(values: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        finite_numbers(values, "y")


def test_take_rows() -> None:
    rows, X = np.array([2, 0]), np.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(X, index=[7, 8, 9])
    np.testing.assert_array_equal(take_rows(X, rows), X[rows])
    assert list(take_rows(frame, rows).index) == [9, 7]
    np.testing.assert_array_equal(take_rows(csr_array(X), rows).toarray(), X[rows])
    np.testing.assert_array_equal(take_rows(torch.tensor(X), rows).numpy(), X[rows])


def test_show() -> None:
    assert show(np.array([[1.0, 2.0]])) == "[1. 2.]"
    assert show(np.arange(100.0)) == "[ 0.  1. ... 98. 99.]"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Series([1.0], name="price"), "price"),
        (pl.Series("price", [1.0]), "price"),
        (pd.Series([1.0]), None),
        (pd.Series([1.0], name=3), None),
        (pl.Series([1.0]), None),
        (np.zeros(2), None),
    ],
)
def test_names_of_series(values: object, expected: str | None) -> None:
    assert name_of(values) == expected
