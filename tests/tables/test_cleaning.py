from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrant.tables import clean_table, is_categorical


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([1, 2]), False),
        (pd.Series([1, None], dtype="Int64"), False),
        (pd.Series([True, False]), True),
        (pd.Series(["a", "b"]), True),
        (pd.Series(["a", "b"], dtype="category"), True),
        (pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])), True),
    ],
)
def test_everything_but_numbers_is_categorical(column, expected) -> None:
    assert is_categorical(column) is expected


def test_identifiers_and_row_numbers_are_left_out() -> None:
    n = 40
    raw = pd.DataFrame(
        {
            "Unnamed: 0": np.arange(n),
            "key": [f"k{i}" for i in range(n)],
            "when": pd.date_range("2024-01-01", periods=n),
            "number": np.arange(n),  # numbers may all differ
            "city": ["Bonn", "Ulm"] * (n // 2),
        }
    )
    cleaned, notes = clean_table(raw)
    assert list(cleaned.columns) == ["number", "city"]
    assert notes == [
        "Unnamed: 0: left out, a column without a name is taken for row numbers",
        "key: left out, 40 different texts in 40 rows look like an identifier",
        "when: left out, 40 different texts in 40 rows look like an identifier",
    ]


@pytest.mark.parametrize(("rows", "different"), [(100, 50), (5000, 1000)])
def test_limits_of_what_counts_as_an_identifier(rows, different) -> None:
    at_limit = pd.DataFrame({"code": [f"c{i % different}" for i in range(rows)]})
    beyond = pd.DataFrame({"code": [f"c{i % (different + 1)}" for i in range(rows)]})
    assert list(clean_table(at_limit)[0].columns) == ["code"]
    assert list(clean_table(beyond)[0].columns) == []


def test_text_and_booleans_become_categories_and_gaps_stay() -> None:
    raw = pd.DataFrame({"city": ["Bonn", None, "Bonn", "Ulm"], "sold": [True, False, True, True]})
    cleaned, notes = clean_table(raw)
    assert notes == []
    assert list(cleaned["city"].cat.categories) == ["Bonn", "Ulm"]
    assert cleaned["city"].isna().tolist() == [False, True, False, False]
    assert list(cleaned["sold"].cat.categories) == ["False", "True"]
    assert raw["sold"].dtype == bool  # the user's frame is left alone
