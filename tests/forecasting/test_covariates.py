"""Covariates by role, as numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.forecasting.conftest import hourly

from calibrant.errors import DataError, DataWarning, ParameterError
from calibrant.forecasting import SeriesFrame
from calibrant.forecasting._covariates import Covariates


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "wind": [1.0, np.nan, 3.0],
            "kind": pd.Categorical(["v", None, "u"]),
            "price": [7, 8, 9],
        },
        index=hourly(3).index,
    )


def read(X: pd.DataFrame) -> SeriesFrame:
    return SeriesFrame.read(hourly(len(X)), X)


def test_roles_decide_the_order_and_categories_become_indicators() -> None:
    covariates = Covariates.learn(frame(), None, ["price"], None)
    series = covariates.encode(read(frame()))
    assert list(series.covariates.columns) == [
        *("wind", "kind=(missing)", "kind=u", "kind=v", "price")
    ]
    past, future, static = covariates.split(series)
    np.testing.assert_array_equal(past, [[1, 0, 0, 1], [np.nan, 1, 0, 0], [3, 0, 1, 0]])
    np.testing.assert_array_equal(future, [[7], [8], [9]])
    assert static.shape == (3, 0)


def test_a_new_category_is_none_of_the_known_ones() -> None:
    covariates = Covariates.learn(frame(), ["kind"], None, None)
    with pytest.warns(DataWarning, match="'kind' of X has categories .* training data: 'w'"):
        series = covariates.encode(read(frame().assign(kind=["w", "u", "v"])))
    np.testing.assert_array_equal(series.covariates, [[0, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_of_coming_rows_the_future_covariates_alone_are_known() -> None:
    covariates = Covariates.learn(frame(), ["wind"], ["kind", "price"], None)
    coming = covariates.encode_future(frame().drop(columns="wind"))
    assert coming["wind"].isna().all()
    np.testing.assert_array_equal(coming["price"], [7, 8, 9])
    np.testing.assert_array_equal(coming["kind=(missing)"], [0, 1, 0])
    with pytest.raises(DataError, match="missing values of kind, price"):
        covariates.encode_future(frame().assign(price=[1.0, np.nan, 2.0]))
    with pytest.raises(DataError, match="X has no column 'price'"):
        covariates.encode_future(frame().drop(columns="price"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b", "c"], "'wind' of X is neither numeric nor categorical"),
        (hourly(3).index, "'wind' of X is neither numeric nor categorical but datetime64"),
        ([1.0, np.inf, 2.0], "'wind' of X has infinite values"),
    ],
)
def test_columns_that_are_no_numbers(column: object, message: str) -> None:
    broken = frame().assign(wind=column)
    with pytest.raises(DataError, match=message):
        Covariates.learn(broken, ["wind"], None, None).encode(read(broken))


def test_a_column_has_one_role() -> None:
    with pytest.raises(ParameterError, match=r"\['wind'\] repeatedly"):
        Covariates.learn(frame(), ["wind"], ["wind"], None)
