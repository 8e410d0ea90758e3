"""Targets of the nearest training rows as inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant import Ensemble, Matching, MMDRegressor
from calibrant.estimators import Windows
from calibrant.estimators.neighbours import NeighbourIndex, Neighbours


def make(**changes: Any) -> MMDRegressor:
    model = MMDRegressor(quality="best", hidden=(16,), batch_size=64, epochs=2)
    model.set_params(
        device="cpu",
        random_state=0,
        ensemble=Ensemble(members=1, submodels=2, kinds=("relu", "neighbours"), periodic=0.0),
        matching=Matching(epochs=20, lr=1e-2),
    )
    return model.set_params(**changes)


def plain(known: Neighbours, numbers: np.ndarray) -> np.ndarray:
    return numbers * known.scale + known.loc


def features(index: NeighbourIndex, rows: np.ndarray | None = None) -> np.ndarray:
    return plain(index.neighbours, index.features(rows))


def test_numbers_of_new_rows() -> None:
    x = np.arange(40.0)[:, None]
    y = np.arange(40.0) ** 2
    known = NeighbourIndex(x, y).neighbours
    (row,) = plain(known, known.transform(np.array([[0.0]])))
    near = np.arange(16.0)
    weight = 1 / (near + known.near)
    expected = [
        0.0, (weight * near**2).sum() / weight.sum(), np.mean(near[:4] ** 2), np.mean(near**2),
        np.std(near**2), np.log(known.near), np.log(15.0 + known.near),
    ]  # fmt: skip
    np.testing.assert_allclose(row, expected, atol=1e-12)


def test_no_training_row_is_its_own_neighbour() -> None:
    """Its target does not show in its own numbers, whatever it is; equal rows inform each other."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (60, 2)).astype(float)  # nearly every row has equals
    y = rng.normal(size=60)
    known = NeighbourIndex(x, y)
    for row in range(0, 60, 7):
        moved = y.copy()
        moved[row] += 100.0
        again = NeighbourIndex(x, moved)
        after, before = features(again), features(known)
        np.testing.assert_allclose(after[row], before[row])
        assert not np.allclose(after, before)  # but in the numbers of others


def test_groups_do_not_inform_each_other() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    groups = np.repeat(np.arange(30), 2)
    y = rng.normal(size=60)
    known = NeighbourIndex(x, y, groups)
    moved = y + 100.0 * (groups == 3)
    again = NeighbourIndex(x, moved, groups)
    after, before = features(again), features(known)
    np.testing.assert_allclose(after[groups == 3], before[groups == 3])
    assert (before[:, 5] > np.log(2 * known.neighbours.near)).all()  # never at distance 0


def test_rows_to_be_judged_on_do_not_show_in_those_to_learn_from() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    learned, judged = np.arange(60), np.arange(60, 80)
    moved = y.copy()
    moved[judged] += 100.0
    known, again = NeighbourIndex(x, y), NeighbourIndex(x, moved)
    before, after = features(known, learned), features(again, learned)
    np.testing.assert_allclose(after, before)
    # what they know of each other is what they would know alone
    alone = NeighbourIndex(x[learned], y[learned])
    alone.neighbours.near = known.neighbours.near
    np.testing.assert_allclose(before, features(alone))


def test_nor_where_a_row_knows_no_other() -> None:
    """A whole cluster apart from the rest is held out, or is all that is near."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(5), 50)
    x = rng.normal(size=(250, 2)) + 40.0 * groups[:, None]
    y = rng.normal(size=250)
    learned = np.flatnonzero(groups != 3)
    moved = y + 100.0 * (groups == 3)
    known, again = NeighbourIndex(x, y, groups), NeighbourIndex(x, moved, groups)
    before, after = features(known, learned), features(again, learned)
    np.testing.assert_allclose(after, before)


def test_groups_of_very_different_size() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], [185, 15])
    known = NeighbourIndex(rng.normal(size=(200, 2)), rng.normal(size=200), groups)
    assert known.neighbours.count == 15
    new = known.neighbours.transform(np.zeros((3, 2)))
    assert new.shape == known.features()[:3].shape == (3, 7)


def repeated(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noise that only a row met before explains: 200 places, each with a value of its own."""
    rng = np.random.default_rng(seed)
    places, values = np.random.default_rng(9).normal(size=(200, 2)), rng.normal(size=200)
    chosen = rng.integers(0, 200, n)
    values = np.random.default_rng(8).normal(size=200)
    return places[chosen], values[chosen] + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("folds", [0, 2])
def test_rows_met_before_are_known_again_and_calibration_holds(folds: int) -> None:
    X, y = repeated()
    X_new, y_new = repeated(seed=1)
    model = make(ensemble__folds=folds).fit(X, y)
    without = make(ensemble__folds=folds, ensemble__kinds=("relu",)).fit(X, y)
    assert model.predict_dist(X_new).crps(y_new).mean() < 0.6 * (
        without.predict_dist(X_new).crps(y_new).mean()
    )
    inside = model.predict_interval(X_new, coverage=0.8)
    covered = np.mean((inside[:, 0] <= y_new) & (y_new <= inside[:, 1]))
    assert 0.7 < covered < 0.9


def test_a_loaded_model_knows_its_neighbours(tmp_path) -> None:
    X, y = repeated(200)
    model = make(ensemble__folds=0, matching__epochs=1).fit(X, y)
    model.save(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_not_in_time_nor_among_few_rows() -> None:
    X, y = repeated(200)
    few: dict[str, Any] = {"ensemble__folds": 0, "matching__epochs": 1}
    in_time = make(**few)
    in_time.fit(X, y, cv=[(np.arange(150), np.arange(150, 200))])
    assert in_time.predictor_.features.neighbours is None
    assert make(**few).fit(X[:80], y[:80]).predictor_.features.neighbours is None
    windows = Windows(np.column_stack([X, y]), np.arange(4, 199), 5)
    assert make(**few).fit(windows, y[5:]).predictor_.features.neighbours is None
