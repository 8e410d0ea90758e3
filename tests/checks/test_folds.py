"""Folds from whatever scikit-learn calls cv; errors are tested with the recalibrators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit

from calibrant.checks.folds import make_folds
from calibrant.errors import ParameterError

X = np.zeros((12, 1))


def test_every_row_is_held_out_once() -> None:
    folds = make_folds(3, X, None, None)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), range(12))
    assert all(len(train) == 8 for train, _ in folds)
    again = make_folds(3, X, None, None)
    np.testing.assert_array_equal(folds[0][1], again[0][1])
    assert np.any(folds[0][1] != make_folds(3, X, None, None, random_state=1)[0][1])


def test_groups_stay_whole() -> None:
    groups = np.repeat(np.arange(4), 3)
    for train, test in make_folds(2, X, None, groups):
        assert not set(groups[train]) & set(groups[test])


def test_splitters_positions_and_masks() -> None:
    first = make_folds(TimeSeriesSplit(3), X, None, None)[0]
    np.testing.assert_array_equal(first[0], [0, 1, 2])
    mask = np.arange(12) < 4
    (split,) = make_folds([(~mask, mask)], X, None, None)
    np.testing.assert_array_equal(split[1], [0, 1, 2, 3])


def test_a_splitter_that_fails_is_named() -> None:
    with pytest.raises(
        ParameterError, match=r"Can't split 12 rows with TimeSeriesSplit.* folds=21"
    ):
        make_folds(TimeSeriesSplit(20), X, None, None)
