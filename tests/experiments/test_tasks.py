from __future__ import annotations

import os

import numpy as np
import pytest
from tests.experiments.conftest import stand_in

from calibrant.errors import ParameterError
from calibrant.experiments.tasks import TASKS, make_split

needs_data = pytest.mark.skipif(
    not os.environ.get("CALIBRANT_DATA"), reason="CALIBRANT_DATA is not set"
)

# Test rows of the nine tasks, as FACTS of the paper's floor list them.
TEST_ROWS = {
    "metro_traffic": 14460,
    "bike_sharing": 2592,
    "pickups": 1302,
    "pm25": 656,
    "air_quality": 2790,
    "power_plant": 1914,
    "protein": 9146,
    "naval": 2387,
    "wine": 980,
}


@needs_data
@pytest.mark.parametrize(("name", "rows"), TEST_ROWS.items())
def test_published_sizes(name: str, rows: int) -> None:
    split = make_split(TASKS[name], "published", 0)
    assert len(split.y_test) == len(split.X_test) == rows


@needs_data
def test_published_series_is_the_authors_split() -> None:
    split = make_split(TASKS["bike_sharing"], "published", 3)
    assert np.std(split.y_test) == pytest.approx(131.5, abs=0.05)


@needs_data
@pytest.mark.parametrize("name", ["wine", "protein"])
def test_honest_tables_have_no_copies_of_training_rows_in_the_test(name: str) -> None:
    def keys(X: np.ndarray) -> set[bytes]:
        return {row.tobytes() for row in X}

    honest = make_split(TASKS[name], "honest", 0)
    leaky = make_split(TASKS[name], "published", 0)
    assert not keys(honest.X_train) & keys(honest.X_test)
    assert keys(leaky.X_train) & keys(leaky.X_test)
    assert len(honest.y_test) == pytest.approx(len(leaky.y_test), rel=0.01)


@needs_data
def test_honest_metro_has_every_hour_once() -> None:
    split = make_split(TASKS["metro_traffic"], "honest", 0)
    assert len(split.y_train) + len(split.y_test) == 40575 - 5


@pytest.mark.usefixtures("stand_ins")
class TestWithStandIns:
    def test_published_table_is_a_permutation_by_trial(self) -> None:
        one, two = (make_split(TASKS["wine"], "published", trial) for trial in (0, 1))
        assert (len(one.y_train), len(one.y_test)) == (160, 40)
        y = stand_in("wine", "raw").y
        assert sorted([*one.y_train, *one.y_test]) == sorted(y)
        order = np.random.default_rng(0).permutation(200)
        np.testing.assert_array_equal(one.y_test, y[order[160:]])
        assert not np.array_equal(one.y_test, two.y_test)
        assert one.hold_out == {}

    def test_honest_table_keeps_equal_inputs_together(self) -> None:
        split = make_split(TASKS["wine"], "honest", 0)
        assert sorted([*split.y_train, *split.y_test]) == sorted(stand_in("wine", "raw").y)
        train, test = ({tuple(row) for row in X} for X in (split.X_train, split.X_test))
        assert not train & test
        assert abs(len(split.y_train) - 160) <= 1
        groups = split.hold_out["groups"]
        assert len(np.unique(groups)) == len(train)

    @pytest.mark.parametrize("protocol", ["published", "shuffled", "honest"])
    def test_a_window_ends_just_before_its_target(self, protocol: str) -> None:
        split = make_split(TASKS["pm25"], protocol, 0)
        for X, y in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
            assert X.shape[1:] == (5, 3)
            past = np.asarray(X)[:, :, 2]  # the target of the stand-in is its position
            np.testing.assert_array_equal(past, y[:, None] + np.arange(-5, 0))

    def test_published_series_is_shuffled_the_same_in_every_trial(self) -> None:
        one, two = (make_split(TASKS["pm25"], "published", trial) for trial in (0, 1))
        np.testing.assert_array_equal(one.y_test, two.y_test)
        order = np.random.RandomState(2).permutation(195)
        np.testing.assert_array_equal(one.y_train, 5 + order[:136])

    def test_shuffled_differs_from_published_in_the_split_of_series(self) -> None:
        for name in ("wine", "pm25"):
            one, two = (make_split(TASKS[name], "shuffled", trial) for trial in (0, 1))
            assert sorted(one.y_test) != sorted(two.y_test)
            assert one.hold_out == {}
        order = np.random.default_rng(1).permutation(195)
        np.testing.assert_array_equal(two.y_train, 5 + order[:136])
        table, published = (make_split(TASKS["wine"], p, 3) for p in ("shuffled", "published"))
        np.testing.assert_array_equal(table.y_test, published.y_test)

    @pytest.mark.parametrize("name", ["wine", "pm25"])
    def test_small_is_the_start_of_shuffled(self, name: str) -> None:
        small, whole = (make_split(TASKS[name], p, 1) for p in ("small-50", "shuffled"))
        np.testing.assert_array_equal(small.y_train, whole.y_train[:50])
        np.testing.assert_array_equal(np.asarray(small.X_train), np.asarray(whole.X_train)[:50])
        np.testing.assert_array_equal(small.y_test, whole.y_test)

    def test_honest_series_predicts_the_future(self) -> None:
        split = make_split(TASKS["pm25"], "honest", 0)
        assert split.y_train.max() < split.y_test.min()
        ((fit, held_out),) = split.hold_out["cv"]
        assert split.y_train[fit].max() < split.y_train[held_out].min()
        assert len(fit) + len(held_out) == len(split.y_train)

    def test_honest_metro_leaves_repeated_hours_out(self) -> None:
        honest = make_split(TASKS["metro_traffic"], "honest", 0)
        assert set(honest.y_train) | set(honest.y_test) == set(np.arange(10.0, 200.0, 2.0))
        assert len(make_split(TASKS["metro_traffic"], "published", 0).y_train) == 136

    def test_few_rows(self) -> None:
        assert len(make_split(TASKS["pm25"], "honest", 0, rows=50).y_train) == 31
        table = make_split(TASKS["wine"], "published", 0, rows=50)
        assert len(table.y_train) + len(table.y_test) == 50

    def test_unknown_protocol(self) -> None:
        with pytest.raises(ParameterError, match="small-50, honest; got 'fair'"):
            make_split(TASKS["wine"], "fair", 0)
