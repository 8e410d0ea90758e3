from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import DataError, DataWarning
from calibrant.persistence import pack, unpack
from calibrant.tables import (
    CodedColumn,
    DateColumn,
    DateDifference,
    DroppedColumn,
    DurationColumn,
    NumericColumn,
    OneHotColumn,
)
from calibrant.tables.categories import fit_categories
from calibrant.tables.encoder import KINDS

EXAMPLES = [
    (NumericColumn("age", 2.0, flags_gaps=True), ["1", "2", "1"]),
    (OneHotColumn("city", ("1", "2")), ["1", "2", "1"]),
    (CodedColumn("zone", ("1", "2"), (7, 8)), ["1", "2", "1"]),
    (DroppedColumn("key", "it has no values", names_rows=True), ["1", "2", "1"]),
    (DurationColumn("wait", 2.0, flags_gaps=False, of_day=True), ["1:02", "2:03", None]),
    (
        DateColumn("day", "2024-01-31T00:00:00", 2.5, ("year", "hour"), flags_gaps=True),
        ["2024-02-03", "2025-02-03 10:30", None],
    ),
    (DateDifference("b - a", 0, 1, 2.5), np.array([1.0, np.nan, 2.0])),
]


@pytest.mark.parametrize("encoder", [each for each, _ in EXAMPLES], ids=lambda each: each.name)
def test_encoders_survive_json(encoder) -> None:
    content = json.loads(json.dumps(pack(encoder, {}, "encoder")))
    assert unpack(content, {}) == encoder


def test_every_kind_has_an_example() -> None:
    assert [type(each) for each, _ in EXAMPLES] == [
        *(NumericColumn, OneHotColumn, CodedColumn, DroppedColumn, DurationColumn),
        *(DateColumn, DateDifference),
    ]
    assert {type(each) for each, _ in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize(
    ("encoder", "values"), EXAMPLES, ids=lambda each: getattr(each, "name", "")
)
def test_every_encoded_column_belongs_to_a_block(encoder, values) -> None:
    column = values if isinstance(values, np.ndarray) else pd.Series(values)
    matrix = encoder.transform(column)
    assert matrix.shape == (3, len(encoder.blocks))
    assert matrix.dtype == np.float64
    assert not np.isnan(matrix).any()


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

    def test_hardly_any_gaps_are_not_worth_a_flag(self) -> None:
        encoder = NumericColumn.fit("a", pd.Series([*range(300), None]))
        assert encoder == NumericColumn("a", 149.5, flags_gaps=False, few_gaps=True)
        assert encoder.description == "gaps filled with the median"

    def test_a_column_of_gaps_is_zero(self) -> None:
        encoder = NumericColumn.fit("a", pd.Series([np.nan, np.nan]))
        np.testing.assert_array_equal(encoder.transform(pd.Series([np.nan])), [[0.0, 1.0]])

    def test_numbers_may_come_as_text_later(self) -> None:
        encoder = NumericColumn("a", 2.0, flags_gaps=False)
        np.testing.assert_array_equal(encoder.transform(pd.Series(["1.5", None])), [[1.5], [2.0]])
        with pytest.raises(DataError, match="'a' of X must hold numbers, but row 2 has 'many'"):
            encoder.transform(pd.Series(["1.5", "many"], name="a"))

    def test_words_for_a_gap_are_gaps(self) -> None:
        encoder = NumericColumn("a", 2.0, flags_gaps=False)
        column = pd.Series(["n/a", " Unknown ", "-"])
        np.testing.assert_array_equal(encoder.transform(column), [[2.0], [2.0], [2.0]])

    def test_a_few_other_cells_of_new_rows_are_gaps_with_a_warning(self) -> None:
        encoder = NumericColumn("a", 2.0, flags_gaps=False)
        column = pd.Series([*map(str, range(30)), "1o5"], name="a")
        with pytest.warns(DataWarning, match=r"'a': one cell is not a number .* a gap: '1o5'\."):
            assert encoder.transform(column)[-1] == 2.0


class TestOneHotColumn:
    @pytest.mark.parametrize("dtype", [object, "str", "category"])
    def test_one_column_per_category_and_one_for_gaps(self, dtype) -> None:
        column = pd.Series(["Ulm", None, "Bonn"], dtype=dtype)
        encoder = fit_categories("city", column)
        assert encoder.categories == ("(missing)", "Bonn", "Ulm")
        np.testing.assert_array_equal(encoder.transform(column), np.eye(3)[[2, 0, 1]])
        assert encoder.description == "one-hot, 3 categories"

    def test_unknown_categories_are_none_of_the_known_ones(self) -> None:
        encoder = OneHotColumn("city", ("Bonn", "Ulm"))
        with pytest.warns(DataWarning, match="'city' has categories .*: 'Köln'"):
            matrix = encoder.transform(pd.Series(["Köln", "Ulm", None]))
        np.testing.assert_array_equal(matrix, [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])

    def test_whole_numbers_as_categories(self) -> None:
        encoder = fit_categories("zone", pd.Series([7, 8], dtype="category"))
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
        encoder = fit_categories("sold", column)
        assert encoder.categories == ("(missing)", "False", "True")
        for other in (column, pd.Series(["true", "False", None])):
            np.testing.assert_array_equal(encoder.transform(other), np.eye(3)[[2, 1, 0]])

    def test_true_among_other_texts_is_a_text(self) -> None:
        encoder = fit_categories("answer", pd.Series(["true", "TRUE", "maybe"]))
        assert encoder.categories == ("TRUE", "maybe", "true")


class TestCodedColumn:
    levels = pd.Series([f"zone {i % 300}" for i in range(900)])

    def test_many_categories_have_codes_that_differ(self) -> None:
        encoder = fit_categories("zone", self.levels)
        assert type(encoder) is CodedColumn
        matrix = encoder.transform(self.levels[:300])
        assert set(np.unique(matrix[:, 1:])) == {-1.0, 1.0}
        agreement = matrix[:, 1:] @ matrix[:, 1:].T / 128  # 1 with itself, about 0 with others
        others = agreement[~np.eye(300, dtype=bool)]
        # 44,850 pairs of 128 fair signs: mean 0, standard deviation 0.088 each.
        assert abs(others.mean()) < 5 * 0.088 / np.sqrt(300)
        assert others.max() < 6 * 0.088

    def test_frequency_comes_first(self) -> None:
        column = pd.Series([*self.levels, *["zone 7"] * 5])
        matrix = fit_categories("zone", column).transform(pd.Series(["zone 7", "zone 8"]))
        np.testing.assert_allclose(matrix[:, 0], np.log1p([8, 3]))

    def test_the_code_of_a_text_never_changes(self) -> None:
        """Saved models hold the texts, not the codes."""
        code = fit_categories("zone", self.levels).transform(pd.Series(["zone 0"]))[0, 1:9]
        assert code.tolist() == [1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0]

    def test_new_categories_are_between_all_codes(self) -> None:
        encoder = fit_categories("zone", self.levels)
        with pytest.warns(DataWarning, match="'zone' has categories .*: 'Mars'"):
            assert not encoder.transform(pd.Series(["Mars"])).any()

    def test_gaps_are_a_category(self) -> None:
        encoder = fit_categories("zone", pd.Series([*self.levels, None, None]))
        matrix = encoder.transform(pd.Series([None, None]))
        assert (np.abs(matrix[:, 1:]) == 1.0).all()

    def test_whole_numbers_beside_gaps_are_the_same_text(self) -> None:
        encoder = fit_categories("zone", pd.Series([1, 2, 3] * 4))
        for column in (pd.Series([1.0, None])[:1], pd.Series(["1.0"]), pd.Series(["1"])):
            np.testing.assert_array_equal(encoder.transform(column), [[1.0, 0.0, 0.0]])


class TestDurationColumn:
    @pytest.mark.parametrize(
        "column",
        [
            pd.Series(pd.to_timedelta(["0:01:30", None, "1 days"])),
            pd.Series(["00:01:30", None, "24:00:00"]),
            pd.Series(["0 days 00:01:30", "n/a", "1 days 00:00:00"]),
            pd.Series(["00:01:30", "?", "1 days"]),
        ],
    )
    def test_seconds(self, column) -> None:
        encoder = DurationColumn.fit("wait", column)
        assert encoder.median == (90 + 86_400) / 2
        np.testing.assert_array_equal(encoder.transform(column)[:, 0], [90, 43_245, 86_400])

    def test_times_of_day_are_on_a_circle(self) -> None:
        clock = pd.Series([f"{hour}:30" for hour in range(24)])
        encoder = DurationColumn.fit("at", clock)
        assert encoder.description == "time of day"
        late, early, noon, gap = encoder.transform(pd.Series(["23:59", "0:01", "12:00", None]))
        assert np.linalg.norm(late[1:] - early[1:]) < 0.01
        np.testing.assert_allclose(noon, [43_200, 0.0, -1.0], atol=1e-12)
        np.testing.assert_array_equal(gap[1:], 0.0)
        for other in (clock[:10], pd.to_timedelta(clock + ":00")):
            assert not DurationColumn.fit("wait", other).of_day

    def test_hours_and_minutes(self) -> None:
        wait = DurationColumn("wait", 0.0, flags_gaps=False)
        np.testing.assert_array_equal(wait.parse(pd.Series(["13:45"])), [49_500])
