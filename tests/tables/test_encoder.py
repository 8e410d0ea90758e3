from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from calibrant.errors import DataError
from calibrant.persistence import pack, unpack
from calibrant.tables import TableEncoder


@pytest.fixture
def frame() -> pd.DataFrame:
    """60 rows with every kind of column, categories in front."""
    rng = np.random.default_rng(0)
    n = 60
    return pd.DataFrame(
        {
            "city": pd.Series(rng.choice(["Bonn", "Ulm", "Köln"], n)).mask(rng.random(n) < 0.1),
            "size": rng.normal(size=n),
            "age": pd.Series(rng.integers(0, 90, n).astype(float)).mask(rng.random(n) < 0.2),
            "key": [f"k{i}" for i in range(n)],
            "sold": rng.random(n) < 0.5,
            "rooms": pd.Series(rng.integers(1, 6, n), dtype="Int64").mask(rng.random(n) < 0.1),
        }
    )


def test_same_matrix_as_a_pipeline_of_scikit_learn(frame) -> None:
    numbers = ["size", "age", "rooms"]
    table = frame.astype(dict.fromkeys(numbers, float)).assign(
        city=frame["city"].fillna("(missing)"), sold=frame["sold"].astype(str)
    )
    pipeline = ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), numbers),
            ("texts", OneHotEncoder(sparse_output=False), ["city", "sold"]),
        ]
    ).fit(table[:40])
    encoder = TableEncoder().fit(frame[:40].drop(columns="key"))
    for rows in (slice(0, 40), slice(40, 60)):
        matrix = encoder.transform(frame[rows].drop(columns="key"))
        np.testing.assert_array_equal(matrix, pipeline.transform(table[rows]))
        assert matrix.flags.c_contiguous


def test_saved_encoders_encode_alike(frame) -> None:
    encoder = TableEncoder().fit(frame)
    restored = unpack(json.loads(json.dumps(pack(encoder, {}, "encoder"))), {})
    assert restored.encoders_ == encoder.encoders_
    assert restored.notes == encoder.notes
    np.testing.assert_array_equal(restored.transform(frame), encoder.transform(frame))


def test_notes_say_what_was_done(frame) -> None:
    encoder = TableEncoder().fit(frame)
    assert encoder.notes == [
        "key: left out, 60 different texts in 60 rows look like an identifier",
        "city: one-hot, 4 categories",
        "sold: one-hot, 2 categories",
        "age: gaps filled with the median, flagged",
        "rooms: gaps filled with the median, flagged",
    ]
    assert encoder.categories_ == {
        "city": ["(missing)", "Bonn", "Köln", "Ulm"],
        "sold": ["False", "True"],
    }


def test_new_rows_may_lack_columns_that_are_left_out(frame) -> None:
    encoder = TableEncoder().fit(frame)
    without = frame.drop(columns="key")
    np.testing.assert_array_equal(
        encoder.transform(encoder.with_left_out(without)), encoder.transform(frame)
    )
    assert encoder.with_left_out(frame) is frame
    other = without.rename(columns={"age": "aeg"})  # left for others to complain about
    assert encoder.with_left_out(other) is other


def test_the_table_tells_what_was_done_to_each_column(frame) -> None:
    encoder = TableEncoder().fit(frame.assign(more=frame["size"] ** 2))
    assert encoder.describe(width=60).splitlines() == [
        "column     inputs  how it is read",
        "city            4  one-hot, 4 categories",
        "age             2  gaps filled with the median, flagged",
        "key             0  left out, 60 different texts in 60 rows",
        "                   look like an identifier",
        "sold            2  one-hot, 2 categories",
        "rooms           2  gaps filled with the median, flagged",
        "2 columns       2  numbers, as they are: size, more",
    ]
    assert [row["inputs"] for row in encoder.summary] == [4, 1, 2, 0, 2, 2, 1]
    assert encoder.summary[1] == {"column": "size", "inputs": 1, "read": "number, as it is"}


def test_a_matrix_keeps_all_its_columns() -> None:
    X = np.column_stack([np.arange(40.0), np.where(np.arange(40) % 4, 1.0, np.nan)])
    encoder = TableEncoder().fit_matrix(X)
    assert encoder.left_out == []
    assert not encoder.is_identity
    assert TableEncoder().fit_matrix(X[:, :1]).is_identity


def test_categories_that_the_user_chose_are_never_left_out(frame) -> None:
    encoder = TableEncoder().fit(frame[["key"]].astype("category"))
    assert encoder.transform(frame[["key"]]).shape == (60, 60)


def test_columns_with_the_same_name_keep_their_places() -> None:
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    matrix = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_array_equal(matrix, frame.to_numpy())


def test_nothing_to_learn_from(frame) -> None:
    with pytest.raises(DataError, match=r"No columns are left to learn from\. key: left out, 60"):
        TableEncoder().fit(frame[["key"]])


def test_infinity_is_an_error() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.inf]})
    with pytest.raises(DataError, match="contains infinity, in 'b'"):
        TableEncoder().fit(frame)
    encoder = TableEncoder().fit(frame[:1])
    with pytest.raises(DataError, match="contains infinity, in 'b'"):
        encoder.transform(frame)


def test_complete_numbers_are_encoded_as_they_are(frame) -> None:
    assert TableEncoder().fit(frame[["size"]]).is_identity
    assert not TableEncoder().fit(frame[["size", "age"]]).is_identity  # age has gaps
    assert not TableEncoder().fit(frame[["size", "city"]]).is_identity
