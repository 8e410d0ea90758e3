"""Distributions around the points of regressors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from calibrant import calibrate
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import coverage, ecpe, noise_floor

from .conftest import draw


@pytest.fixture(scope="module")
def linear(rows):
    X, y, _ = rows
    return calibrate(LinearRegression(), X, y)


@pytest.mark.slow
def test_points_stay_as_they_are(linear, rows, fresh) -> None:
    X, y, _ = rows
    points = LinearRegression().fit(X, y).predict(fresh[0])
    np.testing.assert_array_equal(linear.predict(fresh[0]), points)
    # The distributions stay around them: within a tenth of the smaller deviation.
    assert np.abs(linear.predict_dist(fresh[0]).mean - points).max() < 0.1


@pytest.mark.slow
def test_spread_follows_the_features(linear, fresh) -> None:
    X, y, scale = fresh
    assert linear.chosen == "given features and prediction"
    dist = linear.predict_dist(X)
    for own in (scale == 1.0, scale == 0.2):
        assert abs(coverage(dist[own], y[own], coverage=0.9) - 0.9) < 0.04
        assert np.median(dist.stddev[own]) == pytest.approx(scale[own][0], rel=0.25)


@pytest.mark.slow
def test_coverage_is_as_good_as_the_calibration_rows_allow() -> None:
    """On average over tables: the network adds no noise of a map of its own."""
    found = []
    for seed in range(3):
        X, y, _ = draw(1000, seed=10 + seed)
        model = calibrate(LinearRegression(), X, y)
        X, y, _ = draw(1000, seed=20 + seed)
        found.append(ecpe(model.predict_dist(X), y))
    # 1,000 rows to learn from and as many to judge: sqrt(2) floors, with an error of a third.
    assert np.mean(found) < 2 * noise_floor(1000).ecpe


def test_an_unfitted_model_stays_unfitted_and_its_training_residuals_are_not_used(
    rows, fresh, quick
) -> None:
    X, y, _ = rows
    tree = DecisionTreeRegressor(random_state=0)  # its training residuals are all 0
    model = calibrate(tree, X, y, learner=quick, cv=5)
    assert not hasattr(tree, "tree_")
    assert abs(coverage(model.predict_dist(fresh[0]), fresh[1], coverage=0.8) - 0.8) < 0.06


def test_a_fitted_model_is_calibrated_on_fresh_rows(rows, fresh, quick) -> None:
    X, y, _ = rows
    forest = RandomForestRegressor(20, random_state=0).fit(X[:600], y[:600])
    model = calibrate(forest, X[600:], y[600:], learner=quick)
    assert model.source.model is forest
    assert abs(coverage(model.predict_dist(fresh[0]), fresh[1], coverage=0.8) - 0.8) < 0.06


def test_training_rows_of_a_perfect_fit_are_refused(rows) -> None:
    X, y, _ = rows
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    with pytest.raises(DataError, match="Are they the rows that the model was fitted on"):
        calibrate(tree, X, y)


def test_learning_the_location_repairs_a_biased_model(rows, fresh, quick) -> None:
    X, y, _ = rows
    constant = LinearRegression().fit(X[:50, 2:], y[:50])

    def points(X):
        return constant.predict(X[:, 2:])

    kept, learned = (
        calibrate(_Points(points), X, y, location=location, learner=quick)
        for location in ("keep", "learn")
    )
    scores = [model.predict_dist(fresh[0]).crps(fresh[1]).mean() for model in (kept, learned)]
    assert scores[1] < 0.6 * scores[0]
    np.testing.assert_array_equal(learned.predict(fresh[0]), points(fresh[0]))


class _Points:
    """A fitted model of another kind: ``predict`` alone."""

    def __init__(self, function) -> None:
        self.predict = function


def test_frames_with_text_are_features(quick) -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["calm", "wild"], 600)
    frame = pd.DataFrame({"x": rng.normal(size=600), "kind": kind})
    y = frame.x.to_numpy() + np.where(kind == "wild", 1.0, 0.1) * rng.normal(size=600)
    model = calibrate(_Points(lambda X: np.asarray(X["x"], float)), frame, y, learner=quick)
    spread = model.predict_dist(frame).stddev
    assert np.median(spread[kind == "wild"]) > 4 * np.median(spread[kind == "calm"])
    other = calibrate(_Points(lambda X: X["x"].to_numpy()), pl.from_pandas(frame), y, learner=quick)
    np.testing.assert_allclose(other.predict_dist(pl.from_pandas(frame)).stddev, spread, rtol=1e-6)


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table])
def test_polars_and_arrow_go_in_and_come_out(kind, rows, fresh, quick) -> None:
    X, new = (kind({f"x{j}": each[:300, j] for j in range(3)}) for each in (rows[0], fresh[0]))
    y = rows[1][:300]
    for model in (LinearRegression(), LinearRegression().fit(X, y)):  # cross-fitted, and as it is
        calibrated = calibrate(model, X, y, learner=quick)
        found = calibrated.predict_table(new, coverage=0.5)
        assert type(found) is type(X)
        expected = calibrated.predict_dist(new).interval(0.5)[:, 0]
        np.testing.assert_array_equal(np.asarray(found["lower_50"]), expected)


def test_few_rows_do_without_a_network(rows, fresh) -> None:
    X, y, _ = rows
    model = calibrate(LinearRegression(), X[:100], y[:100])
    assert model.chosen == "one map"
    assert list(model.scores) == ["one map"]
    assert model.predict_interval(fresh[0], [0.5, 0.9]).shape == (3000, 2, 2)


def test_discrete_targets_keep_their_values(rows, quick) -> None:
    X, y, _ = rows
    grades = np.round(y)
    dist = calibrate(LinearRegression(), X, grades, learner=quick).predict_dist(X)
    quantiles = dist.ppf([0.1, 0.5, 0.9])
    inner = np.abs(quantiles) <= 2
    np.testing.assert_array_equal(quantiles[inner], np.round(quantiles[inner]))
    assert ecpe(dist, grades) < 0.04


def test_groups_are_held_out_together(rows, quick) -> None:
    X, y, _ = rows
    groups = np.repeat(np.arange(300), 4)
    seen = []

    class Recorder(LinearRegression):
        def fit(self, X, y):
            seen.append({int(label) for label in X[:, 0]})
            return super().fit(X, y)

    labelled = np.column_stack([groups, X])
    calibrate(Recorder(), labelled, y, groups=groups, learner=quick, cv=3)
    assert sorted(map(len, seen)) == [200, 200, 200, 300]


def test_a_model_that_changes_is_noticed(rows, fresh, quick) -> None:
    X, y, _ = rows
    forest = RandomForestRegressor(10, random_state=0).fit(X[:600], y[:600])
    model = calibrate(forest, X[600:], y[600:], learner=quick)
    model.predict_dist(fresh[0][:5])
    forest.fit(X[:600], -y[:600])
    with pytest.raises(
        ParameterError, match=r"has changed since.* Calibrate it again, or calibrate a copy"
    ):
        model.predict_dist(fresh[0][:5])


def test_bad_input_says_what_to_do(rows) -> None:
    X, y, _ = rows
    fitted = LinearRegression().fit(X, y)
    with pytest.raises(DataError, match=r"at least 20 rows, got 10. Pass more, or"):
        calibrate(fitted, X[:10], y[:10])
    with pytest.raises(DataError, match="20 rows to learn the correction from, got 18"):
        calibrate(fitted, X[:26], y[:26], guarantee=True)
    with pytest.raises(DataError, match="as many rows, got 1200 and 1199"):
        calibrate(fitted, X, y[:-1])
    with pytest.raises(DataError, match="y must be finite"):
        calibrate(fitted, X, np.where(np.arange(1200) == 3, np.nan, y))
    with pytest.raises(ParameterError, match="got the class LinearRegression"):
        calibrate(LinearRegression, X, y)
    with pytest.raises(ParameterError, match="LogisticRegression is a classifier"):
        calibrate(LogisticRegression(), X, y > 0)
    with pytest.raises(ParameterError, match='location must be "keep" or "learn"'):
        calibrate(fitted, X, y, location="move")
    with pytest.raises(ParameterError, match="refine trains networks"):
        calibrate(fitted, X, y, refine="head")
    with pytest.raises(DataError, match=r"predictions must be finite.* Drop or impute these rows"):
        calibrate(_Points(lambda X: np.full(len(X), np.nan)), X, y)
    with pytest.raises(
        DataError, match=r"3 values for 1200 rows. It must return one prediction per row"
    ):
        calibrate(_Points(lambda X: np.zeros(3)), X, y)
    with pytest.raises(ParameterError, match="has no fit or no get_params"):
        calibrate(_Unfittable(), X, y)
    with pytest.raises(DataError, match="X is missing"):
        calibrate(fitted, None, y)


class _Unfittable:
    """Says that it is not fitted, and can't be cloned."""

    def is_fitted(self) -> bool:
        return False

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.slow
@pytest.mark.parametrize("package", ["lightgbm", "catboost"])
def test_boosted_trees(package: str, rows, fresh, quick) -> None:
    module = pytest.importorskip(package)
    if package == "lightgbm":
        unfitted = module.LGBMRegressor(n_estimators=20, n_jobs=1, verbose=-1)
    else:
        options = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
        unfitted = module.CatBoostRegressor(iterations=20, **options)
    X, y, _ = rows
    model = calibrate(unfitted, X, y, learner=quick, cv=3)
    assert abs(coverage(model.predict_dist(fresh[0]), fresh[1], coverage=0.8) - 0.8) < 0.06
