from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import DataError, DataWarning
from calibrant.tables import DroppedColumn, NumericColumn, OneHotColumn
from calibrant.tables.columns import KINDS

EXAMPLES = [
    NumericColumn("age", 2.0, flags_gaps=True),
    OneHotColumn("city", ("1", "2")),
    DroppedColumn("key", "left out"),
]


@pytest.mark.parametrize("encoder", EXAMPLES, ids=lambda each: each.kind)
def test_encoders_survive_json(encoder) -> None:
    state = json.loads(json.dumps(encoder.to_manifest()))
    assert KINDS[encoder.kind].from_manifest(state) == encoder


@pytest.mark.parametrize("encoder", EXAMPLES, ids=lambda each: each.kind)
def test_every_encoded_column_belongs_to_a_block(encoder) -> None:
    column = pd.Series(["1", "2", "1"])
    assert encoder.transform(column).shape == (3, len(encoder.blocks))


class TestNumericColumn:
    def test_gaps_become_the_median_with_a_flag(self) -> None:
        encoder = NumericColumn.fit("a", pd.Series([1.0, np.nan, 3.0, 10.0]))
        assert encoder == NumericColumn("a", 3.0, flags_gaps=True)
        np.testing.assert_array_equal(
            encoder.transform(pd.Series([5.0, np.nan])), [[5.0, 0.0], [3.0, 1.0]]
        )
        assert encoder.description == "gaps filled with the median, flagged"

    def test_without_gaps_in_training_there_is_no_flag(self) -> None:
        encoder = NumericColumn.fit("a", pd.Series([1, 2, 3]))
        np.testing.assert_array_equal(encoder.transform(pd.Series([5.0, np.nan])), [[5.0], [2.0]])
        assert encoder.description == ""

    def test_a_column_of_gaps_is_zero(self) -> None:
        encoder = NumericColumn.fit("a", pd.Series([np.nan, np.nan]))
        np.testing.assert_array_equal(encoder.transform(pd.Series([np.nan])), [[0.0, 1.0]])

    def test_numbers_may_come_as_text_later(self) -> None:
        encoder = NumericColumn("a", 2.0, flags_gaps=False)
        np.testing.assert_array_equal(encoder.transform(pd.Series(["1.5", None])), [[1.5], [2.0]])
        with pytest.raises(DataError, match="'a' of X must hold numbers, but row 2 has 'many'"):
            encoder.transform(pd.Series(["1.5", "many"], name="a"))


class TestOneHotColumn:
    @pytest.mark.parametrize("dtype", [object, "str", "category"])
    def test_one_column_per_category_and_one_for_gaps(self, dtype) -> None:
        column = pd.Series(["Ulm", None, "Bonn"], dtype=dtype)
        encoder = OneHotColumn.fit("city", column)
        assert encoder.categories == ("(missing)", "Bonn", "Ulm")
        np.testing.assert_array_equal(encoder.transform(column), np.eye(3)[[2, 0, 1]])
        assert encoder.description == "one-hot, 3 categories"

    def test_unknown_categories_are_none_of_the_known_ones(self) -> None:
        encoder = OneHotColumn("city", ("Bonn", "Ulm"))
        with pytest.warns(DataWarning, match="'city' has categories .*: '\\(missing\\)', 'Köln'"):
            matrix = encoder.transform(pd.Series(["Köln", "Ulm", None]))
        np.testing.assert_array_equal(matrix, [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])

    def test_whole_numbers_as_categories(self) -> None:
        encoder = OneHotColumn.fit("zone", pd.Series([7, 8], dtype="category"))
        for column in (pd.Series([8]), pd.Series(["8"]), pd.Series([8], dtype="category")):
            np.testing.assert_array_equal(encoder.transform(column), [[0.0, 1.0]])

    @pytest.mark.parametrize(
        "column",
        [
            pd.Series([True, False, None], dtype=object),
            pd.Series([True, False, None], dtype="boolean"),
            pd.Series(["true", "false", None]),
            pd.Series(["TRUE", "FALSE", None], dtype="category"),
        ],
    )
    def test_booleans_are_the_same_however_they_are_spelled(self, column) -> None:
        encoder = OneHotColumn.fit("sold", column)
        assert encoder.categories == ("(missing)", "False", "True")
        for other in (column, pd.Series(["true", "False", None])):
            np.testing.assert_array_equal(encoder.transform(other), np.eye(3)[[2, 1, 0]])

    def test_true_among_other_texts_is_a_text(self) -> None:
        encoder = OneHotColumn.fit("answer", pd.Series(["true", "TRUE", "maybe"]))
        assert encoder.categories == ("TRUE", "maybe", "true")
