"""What both recalibrators share: any model, out-of-fold rows only, helpful errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor

from calibrant import ConformalRecalibrator, HeteroscedasticRegressor, IsotonicRecalibrator
from calibrant.distributions import Normal, Recalibrated
from calibrant.errors import DataError, NotFittedError, ParameterError
from calibrant.metrics import coverage, ecpe, noise_floor

RECALIBRATORS = {"isotonic": IsotonicRecalibrator, "conformal": ConformalRecalibrator}
QUICK: dict[str, Any] = {"hidden": (16,), "epochs": 40, "random_state": 0, "device": "cpu"}


@pytest.fixture(params=list(RECALIBRATORS))
def method(request: pytest.FixtureRequest):
    return RECALIBRATORS[request.param]


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, 2 * X[:, 0] + np.exp(X[:, 1]) * (rng.gamma(2.0, size=n) - 2.0)


class Recorder(RegressorMixin, BaseEstimator):
    """Remembers what it was fitted on and predicts 1 for those rows, 0 for others."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.seen_, self.weight_, self.groups_ = X[:, 0].copy(), sample_weight, groups
        return self

    def predict(self, X):
        return np.isin(X[:, 0], self.seen_).astype(float)


# ---- models of all kinds -------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        RandomForestRegressor(30, min_samples_leaf=5, random_state=0),
        HeteroscedasticRegressor(**QUICK),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_wrapped_model_covers_what_it_says(method, model) -> None:
    X, y = draw(2400)
    model = clone(model).fit(X[:600], y[:600])
    fitted = method().fit(model, X[600:1600], y[600:1600])
    dist, y_test = fitted.predict_dist(X[1600:]), y[1600:]
    assert isinstance(dist, Recalibrated)
    assert ecpe(dist, y_test) < 2 * noise_floor(440).ecpe  # 1/440 is about 1/1000 + 1/800
    assert fitted.model_ is model
    assert fitted.n_calibration_ == 1000
    assert fitted.score(X[1600:], y_test) > 0.2


def test_cross_fit_of_a_network(method) -> None:
    X, y = draw(900)
    unfitted = HeteroscedasticRegressor(**(QUICK | {"epochs": 20}))
    fitted = method().cross_fit(unfitted, X[:500], y[:500], cv=3)
    assert not hasattr(unfitted, "module_")
    assert fitted.n_calibration_ == 500
    assert coverage(fitted.predict_dist(X[500:]), y[500:], coverage=0.8) == pytest.approx(
        0.8, abs=0.08
    )


def test_shapes_and_defaults(method) -> None:
    X, y = draw(120)
    fitted = method().cross_fit(LinearRegression(), X, y)
    assert fitted.predict(X).shape == (120,)
    assert len(fitted.predict_dist(X)) == 120
    np.testing.assert_array_equal(fitted.predict_interval(X), fitted.predict_interval(X, 0.9))
    assert fitted.predict_interval(X).shape == (120, 2)
    nested = fitted.predict_interval(X, [0.5, 0.9])
    assert nested.shape == (120, 2, 2)
    assert np.all(nested[:, 0, 1] <= nested[:, 0, 0])
    assert np.all(nested[:, 1, 1] >= nested[:, 1, 0])
    assert fitted.predict_quantiles(X).shape == (120, 3)
    assert fitted.predict_quantiles(X, 0.5).shape == (120,)
    assert np.all(np.diff(fitted.predict_quantiles(X, np.linspace(0.001, 0.999, 200)), axis=1) >= 0)


def test_shapes_with_a_guarantee() -> None:
    X, y = draw(120)
    fitted = ConformalRecalibrator(guarantee=True).fit(LinearRegression().fit(X, y), X, y)
    assert fitted.predict_interval(X).shape == (120, 2)
    assert fitted.predict_interval(X, [0.5, 0.9]).shape == (120, 2, 2)
    assert fitted.predict_quantiles(X).shape == (120, 3)
    assert fitted.predict_quantiles(X, 0.5).shape == (120,)


@pytest.mark.parametrize("table", ["list", "pandas", "polars", "torch"])
def test_frames_tensors_and_lists(method, table: str) -> None:
    X, y = draw(100)
    weight = (np.arange(100) % 5 > 0).astype(float)  # rows have to be taken from the table
    make = {
        "list": lambda a: a.tolist(),
        "pandas": lambda a: (
            pd.DataFrame(a, index=np.arange(len(a))[::-1]) if a.ndim > 1 else pd.Series(a)
        ),
        "polars": lambda a: pl.DataFrame(a) if a.ndim > 1 else pl.Series(a),
        "torch": lambda a: torch.tensor(a, requires_grad=a.ndim == 1),
    }[table]
    model = SimpleNamespace(predict=lambda X: np.asarray(X)[:, 0])
    ours = method().fit(model, make(X), make(y), sample_weight=weight)
    plain = method().fit(model, X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_quantiles(make(X)), plain.predict_quantiles(X))
    if table != "torch":
        crossed = method().cross_fit(LinearRegression(), make(X), make(y), cv=3)
        plain = method().cross_fit(LinearRegression(), X, y, cv=3)
        np.testing.assert_allclose(crossed.predict(make(X)), plain.predict(X))


def test_a_column_of_targets_is_flattened(method) -> None:
    X, y = draw(50)
    model = LinearRegression().fit(X, y[:, None])  # predicts a column as well
    fitted = method().fit(model, X, y[:, None])
    assert fitted.predict(X).shape == (50,)


def test_a_recalibrator_can_be_wrapped(method) -> None:
    X, y = draw(400)
    inner = IsotonicRecalibrator().fit(
        LinearRegression().fit(X[:100], y[:100]), X[100:200], y[100:200]
    )
    assert len(method().fit(inner, X[200:], y[200:]).predict_dist(X)) == 400


def test_same_call_same_result_and_the_global_generator_is_left_alone(method) -> None:
    X, y = draw(100)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (method().cross_fit(LinearRegression(), X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# ---- folds ---------------------------------------------------------------------------------


def test_a_model_that_memorises_does_not_fool_cross_fit(method) -> None:
    X, y = draw(600)
    memory = KNeighborsRegressor(1)
    assert memory.fit(X[:300], y[:300]).score(X[:300], y[:300]) == 1.0
    fitted = method().cross_fit(memory, X[:300], y[:300])
    dist = fitted.predict_dist(X[300:])
    assert coverage(dist, y[300:], coverage=0.9) == pytest.approx(0.9, abs=0.06)
    with pytest.raises(DataError, match=r"All calibration residuals equal 0.*or cross_fit"):
        method().fit(memory, X[:300], y[:300])


@pytest.mark.parametrize(
    "cv",
    [2, 5, KFold(3), [(np.arange(50, 100), np.arange(50)), (np.arange(50), np.arange(50, 100))]],
)
def test_only_rows_that_were_not_seen_teach_the_map(cv) -> None:
    X = np.random.default_rng(0).permutation(100)[:, None].astype(float)
    y = np.random.default_rng(1).standard_normal(100)
    fitted = ConformalRecalibrator().cross_fit(Recorder(), X, y, cv=cv)
    np.testing.assert_allclose(fitted.scores_, np.sort(y))  # all predictions were 0
    np.testing.assert_array_equal(np.sort(fitted.model_.seen_), np.arange(100))


def test_groups_are_held_out_together_and_handed_on() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 5)
    X, y = groups[:, None].astype(float), rng.standard_normal(100)  # rows of a group look alike
    fitted = ConformalRecalibrator().cross_fit(Recorder(), X, y, cv=4, groups=groups)
    np.testing.assert_allclose(fitted.scores_, np.sort(y))
    np.testing.assert_array_equal(fitted.model_.groups_, groups)
    fitted = ConformalRecalibrator().cross_fit(Recorder(), X, y, GroupKFold(5), groups)
    np.testing.assert_allclose(fitted.scores_, np.sort(y))
    # Without the labels the folds cut through groups, and the model knows the rows it predicts.
    leaky = ConformalRecalibrator().cross_fit(Recorder(), X, y, cv=4)
    np.testing.assert_allclose(leaky.scores_, np.sort(y - 1.0))


def test_blocks_in_time_leave_the_first_rows_out(method) -> None:
    X, y = draw(60)
    fitted = method().cross_fit(LinearRegression(), X, y, cv=TimeSeriesSplit(5))
    assert fitted.n_calibration_ == 50


def test_rows_held_out_by_several_splits_stay_on_their_targets() -> None:
    X, y = draw(30)
    splits = [(np.arange(10, 30), np.arange(10)), (np.arange(20), np.arange(20, 30))]
    fitted = ConformalRecalibrator().cross_fit(Recorder(), X, y, cv=splits)
    np.testing.assert_allclose(fitted.scores_, np.sort(np.concatenate([y[:10], y[20:]])))


def test_weights_reach_the_model_and_the_map(method) -> None:
    X, y = draw(60)
    weight = np.where(np.arange(60) < 20, 0.0, 1.5)
    fitted = method().cross_fit(Recorder(), X, y, sample_weight=weight, cv=3)
    np.testing.assert_array_equal(fitted.model_.weight_, weight)
    assert fitted.n_calibration_ == 40
    assert method().cross_fit(Recorder(), X, y).model_.weight_ is None
    with pytest.raises(ParameterError, match="KNeighborsRegressor takes no sample_weight"):
        method().cross_fit(KNeighborsRegressor(), X, y, sample_weight=weight)


def test_rows_without_weight_do_not_count(method) -> None:
    X, y = draw(60)
    model = SimpleNamespace(predict=lambda X: X[:, 0])
    weight = (np.arange(60) < 40).astype(float)
    padded = method().fit(model, X, y, sample_weight=weight)
    assert padded.monotone_ == method().fit(model, X[:40], y[:40]).monotone_


# ---- scikit-learn's conventions and errors -------------------------------------------------


def test_parameters_and_clone(method) -> None:
    assert clone(method()).get_params() == method().get_params()
    assert ConformalRecalibrator(normalize=False).get_params() == {
        "guarantee": False,
        "normalize": False,
    }


def test_not_fitted(method) -> None:
    X, y = draw(20)
    for error in (NotFittedError, SklearnNotFittedError, ValueError):
        with pytest.raises(error, match=r"fit\(model, X_cal, y_cal\) or cross_fit\(model, X, y\)"):
            method().predict(X)
    for model in (LinearRegression(), HeteroscedasticRegressor()):
        with pytest.raises(
            NotFittedError, match=f"{type(model).__name__} is not fitted.*cross_fit"
        ):
            method().fit(model, X, y)
    with pytest.raises(NotFittedError):
        ConformalRecalibrator(guarantee=True).predict_interval(X)


def test_an_error_leaves_no_fitted_state(method) -> None:
    model = method()
    with pytest.raises(DataError):
        model.fit(SimpleNamespace(predict=lambda X: X[:, 0]), np.ones((3, 1)), np.ones(3))
    with pytest.raises(NotFittedError):
        model.predict(np.ones((3, 1)))


@pytest.mark.parametrize("model", [object(), LinearRegression, None, np.zeros((3, 1))])
def test_something_that_is_no_model(method, model) -> None:
    with pytest.raises(ParameterError, match=r"with predict_dist or predict.*got"):
        method().fit(model, *draw(5))
    with pytest.raises(ParameterError, match=r"with predict_dist or predict.*got"):
        method().cross_fit(model, *draw(5))


def test_a_model_that_cannot_be_cloned(method) -> None:
    with pytest.raises(ParameterError, match="SimpleNamespace has no fit or no get_params"):
        method().cross_fit(SimpleNamespace(predict=len), *draw(5))


def test_strange_predictions(method) -> None:
    X, y = draw(6)
    strange = SimpleNamespace(predict_dist=lambda X: {"mean": X})
    with pytest.raises(ParameterError, match=r"must return a distribution .* got dict"):
        method().fit(strange, X, y)
    with pytest.raises(DataError, match="predicts 1 values for 6 rows"):
        method().fit(SimpleNamespace(predict=lambda X: [1.0]), X, y)
    with pytest.raises(DataError, match="predicts 1 values for 6 rows"):
        method().fit(SimpleNamespace(predict_dist=lambda X: Normal([0.0], [1.0])), X, y)
    with pytest.raises(DataError, match=r"predictions must have one number per row.*\(6, 2\)"):
        method().fit(SimpleNamespace(predict=lambda X: X), X, y)
    with pytest.raises(DataError, match="predictions must be finite, but 6 of 6"):
        method().fit(SimpleNamespace(predict=lambda X: X[:, 0] * np.nan), X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_cal": np.ones(4)}, "got 5 rows of X and 4 of y"),
        ({"X_cal": 1.0}, "X must have rows, got a single number"),
        ({"y_cal": [1.0, 2.0, np.nan, 3.0, 4.0]}, "y must be finite.*nan in row 2"),
        ({"y_cal": [1.0, 2.0, np.inf, 3.0, 4.0]}, "y must be finite.*inf in row 2"),
        ({"y_cal": list("abcde")}, "y must be numbers"),
        ({"y_cal": np.ones((5, 2))}, "y must have one number per row"),
        ({"y_cal": None}, "y must"),
        ({"X_cal": np.ones((1, 1)), "y_cal": [1.0]}, "at least 2 rows .* got 1"),
        ({"sample_weight": [0, 0, 0, 0, 1]}, "at least 2 rows .* got 1"),
        ({"sample_weight": [1, 1]}, "Expected 5 sample weights, got 2"),
        ({"sample_weight": [1, 1, 1, 1, -1]}, "must not be negative, got -1"),
        ({"sample_weight": [1, 1, 1, 1, np.nan]}, "sample_weight must be finite"),
    ],
)
def test_bad_rows(method, change: dict[str, Any], message: str) -> None:
    rows = {"X_cal": np.ones((5, 1)), "y_cal": np.arange(5.0)}
    with pytest.raises(DataError, match=message):
        method().fit(SimpleNamespace(predict=lambda X: np.zeros(len(X))), **(rows | change))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cv": 1}, ParameterError, "folds from 2 to 20, got 1"),
        ({"cv": 21}, ParameterError, "folds from 2 to 20, got 21"),
        ({"cv": "five"}, ParameterError, "cv must be a number of folds"),
        ({"cv": None}, ParameterError, "cv must be a number of folds"),
        ({"cv": [([0], [99])]}, ParameterError, "Can't split 20 rows"),
        ({"cv": []}, ParameterError, "at least one split"),
        ({"cv": [(np.arange(20), [0, 1])]}, DataError, "different rows on the two sides"),
        ({"cv": [(np.arange(19), [19])]}, DataError, "at least 2 rows"),
        ({"groups": np.arange(3)}, DataError, r"one label per row, \(20,\), got \(3,\)"),
        ({"groups": np.zeros(20)}, ParameterError, "Can't split 20 rows"),
    ],
)
def test_bad_folds(method, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        method().cross_fit(LinearRegression(), *draw(20), **options)
