"""Inner splits: no row, group or future on the wrong side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import TimeSeriesSplit

from calibrant.errors import DataError, ParameterError
from calibrant.estimators.splits import inner_split

OPTIONS = {"fraction": 0.2, "groups": None, "cv": None, "random_state": 0}


@given(n=st.integers(10, 200), fraction=st.floats(0.01, 0.9), seed=st.integers(0, 99))
def test_every_row_is_on_one_side(n: int, fraction: float, seed: int) -> None:
    train, held_out = inner_split(
        np.ones(n), fraction=fraction, groups=None, cv=None, random_state=seed
    )
    assert sorted([*train, *held_out]) == list(range(n))
    assert min(len(train), len(held_out)) >= 2
    assert abs(len(held_out) - fraction * n) < 2 or len(held_out) == 2


@pytest.mark.parametrize("cv", [None, 4])
def test_rows_without_weight_are_on_neither_side(cv: int | None) -> None:
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    train, held_out = inner_split(weights, **(OPTIONS | {"cv": cv}))
    assert sorted([*train, *held_out]) == list(np.flatnonzero(weights))


def test_own_positions_count_all_rows() -> None:
    weights = np.ones(20)
    weights[[0, 15]] = 0
    pairs = [(np.arange(5), np.arange(5, 9)), (np.arange(10), np.arange(12, 20))]
    train, held_out = inner_split(weights, **(OPTIONS | {"cv": pairs}))
    assert list(train) == list(range(1, 10))
    assert list(held_out) == [12, 13, 14, 16, 17, 18, 19]
    masks = [(np.arange(20) < 10, np.arange(20) >= 12)]
    assert list(inner_split(weights, **(OPTIONS | {"cv": masks}))[1]) == list(held_out)


def test_time_order() -> None:
    train, held_out = inner_split(np.ones(50), **(OPTIONS | {"cv": TimeSeriesSplit(4)}))
    assert train.max() < held_out.min()
    assert held_out.max() == 49


@pytest.mark.parametrize("cv", [None, 3])
def test_groups_stay_together(cv: int | None) -> None:
    groups = np.array(list("aabbbccddddeeffgg"))
    train, held_out = inner_split(np.ones(17), **(OPTIONS | {"cv": cv, "groups": groups}))
    assert not set(groups[train]) & set(groups[held_out])


def test_errors() -> None:
    with pytest.raises(DataError, match="different rows on the two sides"):
        inner_split(np.ones(20), **(OPTIONS | {"cv": [(np.arange(10), np.arange(5, 15))]}))
    with pytest.raises(ParameterError, match="Can't split 20 rows"):
        inner_split(np.ones(20), **(OPTIONS | {"cv": [(np.arange(10), np.arange(15, 25))]}))
    with pytest.raises(ParameterError, match="from 2 to 20, got 1"):
        inner_split(np.ones(20), **(OPTIONS | {"cv": 1}))
    with pytest.raises(DataError, match="leaves 0 rows to train on"):
        inner_split(
            np.r_[np.zeros(10), np.ones(10)],
            **(OPTIONS | {"cv": [(np.arange(10), np.arange(10, 20))]}),
        )
