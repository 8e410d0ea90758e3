"""Features from a random forest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibrant.errors import ModelFileError
from calibrant.estimators.forest import Forest, _grow, fit_forest
from calibrant.persistence import pack, unpack


def make_data(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, (x[:, 0] > 0.3) + (x[:, 1] * x[:, 2] > 0) + 0.1 * rng.normal(size=n)


def unscaled(forest: Forest, features: np.ndarray) -> np.ndarray:
    return features * forest.scale + forest.loc


@pytest.mark.parametrize("decimals", [1, 16])
def test_trees_predict_as_they_were_grown(decimals: int) -> None:
    x, y = make_data()
    x = x.round(decimals)  # thresholds in the middle of two values that repeat
    forest, _ = fit_forest(x, y, np.ones(len(y)), None, 0)
    trees = _grow(x, y, np.ones(len(y)), 0)
    new = np.vstack([x, make_data(5000, seed=1)[0].round(decimals)])
    expected = np.transpose([tree.predict(new.astype(np.float32)) for tree in trees.estimators_])
    np.testing.assert_allclose(forest.predictions(new), expected, rtol=1e-6, atol=1e-7)
    few = forest.predictions(new[:3])
    np.testing.assert_array_equal(few, forest.predictions(new)[:3])
    spread = np.log(expected.std(axis=1) + 0.01)
    features = unscaled(forest, forest.transform(new))
    np.testing.assert_allclose(features, np.c_[expected.mean(axis=1), spread], atol=1e-5)


def test_depth_is_that_of_the_deepest_tree() -> None:
    x, y = make_data()
    trees = _grow(x, y, np.ones(len(y)), 0)
    forest, _ = fit_forest(x, y, np.ones(len(y)), None, 0)
    assert forest.depth == max(tree.get_depth() for tree in trees.estimators_)


def test_no_training_row_is_told_its_own_target() -> None:
    x, y = make_data(200)
    forest, features = fit_forest(x, y, np.ones(len(y)), None, 0)
    for row in (0, 77, 199):
        moved = y.copy()
        moved[row] += 100.0
        again, after = fit_forest(x, moved, np.ones(len(y)), None, 0)
        own = unscaled(again, after)[row]
        np.testing.assert_allclose(own, unscaled(forest, features)[row], rtol=1e-9)
        assert not np.allclose(unscaled(again, after), unscaled(forest, features))


def test_groups_do_not_inform_each_other() -> None:
    x, y = (np.repeat(part, 2, axis=0) for part in make_data(100))
    groups = np.repeat(np.arange(100), 2)
    forest, features = fit_forest(x, y, np.ones(len(y)), groups, 0)
    again, after = fit_forest(x, y + 100.0 * (groups == 3), np.ones(len(y)), groups, 0)
    before, after = unscaled(forest, features), unscaled(again, after)
    np.testing.assert_allclose(after[groups == 3], before[groups == 3], rtol=1e-9)
    assert not np.allclose(after, before)


def test_unseen_rows_of_training_look_like_new_ones() -> None:
    """Networks learn from the former and predict the latter: both must be as good a guide."""
    x, y = make_data(2000)
    forest, features = fit_forest(x, y, np.ones(len(y)), None, 0)
    x_new, y_new = make_data(2000, seed=1)
    trained = np.sqrt(np.mean((unscaled(forest, features)[:, 0] - y) ** 2))
    tested = np.sqrt(np.mean((unscaled(forest, forest.transform(x_new))[:, 0] - y_new) ** 2))
    assert abs(trained / tested - 1.0) < 0.1
    assert tested < 0.5 * y.std()


def test_weights_count() -> None:
    x, y = make_data()
    weight = np.where(x[:, 0] > 0, 1.0, 1e-6)
    forest, _ = fit_forest(x, np.where(weight == 1.0, y, y + 50.0), weight, None, 0)
    assert unscaled(forest, forest.transform(x[weight == 1.0]))[:, 0].max() < 10.0


def test_a_constant_target_has_features_of_zero() -> None:
    x, _ = make_data(150)
    forest, features = fit_forest(x, np.zeros(150), np.ones(150), None, 0)
    np.testing.assert_allclose(features, 0.0, atol=1e-9)
    np.testing.assert_allclose(forest.transform(x), 0.0, atol=1e-9)


def test_forests_are_saved() -> None:
    x, y = make_data()
    forest, _ = fit_forest(x, y, np.ones(len(y)), None, 0)
    arrays: dict[str, np.ndarray] = {}
    again = unpack(pack(forest, arrays, "forest"), arrays)
    np.testing.assert_array_equal(again.transform(x), forest.transform(x))
    # Twelve bytes for each node, about 0.7 nodes for three training rows and tree.
    assert sum(array.nbytes for array in arrays.values()) < 500 * len(y)


def test_damaged_trees_are_refused() -> None:
    forest, _ = fit_forest(*make_data(), np.ones(400), None, 0)
    with pytest.raises(ModelFileError, match="folder is damaged"):
        replace(forest, right=np.zeros_like(forest.right))


def test_many_columns() -> None:
    rng = np.random.default_rng(0)
    x = np.zeros((30, 40_000))
    x[:, -1] = rng.normal(size=30)
    forest, _ = fit_forest(x, np.sign(x[:, -1]), np.ones(30), None, 0)
    assert set(forest.column) == {-1, 39_999}
