"""Several outputs: marginals as alone, dependence from held-out rows, bad input."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

from calibrant import MultiOutput, datasets, evaluate, load_model
from calibrant.errors import DataError, DataWarning, ModelFileError, NotFittedError, ParameterError
from calibrant.estimators import (
    DeepEnsembleRegressor,
    DeepGPRegressor,
    Ensemble,
    HeteroscedasticRegressor,
    Matching,
    MMDRegressor,
    NetworkRegressor,
    QuantileNetworkRegressor,
)

SMALL: dict[str, Any] = {"hidden": (16,), "epochs": 15, "device": "cpu", "random_state": 0}
FOLDS = MMDRegressor(**SMALL, matching=Matching(epochs=5), ensemble=Ensemble(members=2, folds=2))
RHO = 0.8


def table(n: int, seed: int = 0) -> tuple[np.ndarray, pd.DataFrame]:
    """Two outputs whose errors are correlated and a third in another unit, independent of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    noise = rng.multivariate_normal([0, 0, 0], [[1, RHO, 0], [RHO, 1, 0], [0, 0, 1]], n)
    truth = np.column_stack([X[:, 0], X[:, 0] - X[:, 1], 100 * X[:, 1]])
    return X, pd.DataFrame(truth + noise * [0.5, 0.5, 50], columns=["a", "b", "c"])


def test_bounds_of_one_output(tmp_path: Path) -> None:
    X, Y = table(150)
    bounded = HeteroscedasticRegressor(**SMALL, bounds=(-300.0, None))
    model = MultiOutput(bounded, bounds={"a": (0, 1), "b": None}).fit(X, Y)
    model.save(tmp_path / "saved")
    loaded = load_model(tmp_path / "saved")
    assert dict(loaded.bounds) == {"a": (0, 1), "b": None, "c": (-300, None)}
    for each in (model, loaded, loaded.fit(X, Y)):
        low, high = each.predict_interval(X, 0.999).transpose(1, 2, 0)[0]
        assert low.min() == 0
        assert high.max() == 1
        assert each.predict_interval(X, 0.999)[:, 1, 0].min() < 0
    with pytest.raises(ParameterError, match=r"bounds are given for 'd', which is not an output"):
        MultiOutput(bounded, bounds={"d": None}).fit(X, Y)


@pytest.mark.parametrize(
    "estimator",
    [
        HeteroscedasticRegressor(**SMALL),
        DeepEnsembleRegressor(**SMALL, members=2),
        QuantileNetworkRegressor(**SMALL),
        pytest.param(FOLDS, marks=pytest.mark.slow),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_marginals_are_those_of_the_outputs_alone(estimator: NetworkRegressor) -> None:
    X, Y = table(200)
    model = MultiOutput(estimator).fit(X[:150], Y[:150])
    dist = model.predict_dist(X[150:])
    assert dist.names == ("a", "b", "c")
    assert dist.mean.shape == model.predict(X[150:]).shape == (50, 3)
    assert model.predict_interval(X[150:], [0.5, 0.9]).shape == (50, 3, 2, 2)
    assert model.predict_quantiles(X[150:]).shape == (50, 3, 3)
    estimator.fit(X[:150], Y["b"][:150])
    alone = estimator.predict_dist(X[150:]).ppf([0.1, 0.9])
    np.testing.assert_array_equal(dist.marginal("b").ppf([0.1, 0.9]), alone)


@pytest.mark.parametrize(
    "estimator",
    [HeteroscedasticRegressor(**SMALL), pytest.param(FOLDS, marks=pytest.mark.slow)],
)
def test_dependence_is_learned_from_rows_that_were_held_out(estimator: NetworkRegressor) -> None:
    X, Y = table(1200)
    model = MultiOutput(estimator.set_params(epochs=40)).fit(X[:800], Y[:800])
    assert model.n_held_out_ == (800 if estimator is FOLDS else 160)
    # Errors of an imperfect mean dilute the correlation a little; 4 standard errors otherwise.
    error = 4 / np.sqrt(model.n_held_out_)
    assert RHO - 0.1 - error * (1 - RHO**2) < model.correlation_[0, 1] < RHO + error
    assert abs(model.correlation_[0, 2]) < error
    result = evaluate(model.predict_dist(X[800:]), Y[800:])
    for score in (result.energy_score, result.variogram_score):
        assert score.value < score.independent - 2 * score.difference_error


def test_joint_draws_reproduce_the_difference_of_two_outputs() -> None:
    X, Y = table(1200)
    model = MultiOutput(HeteroscedasticRegressor(**SMALL).set_params(epochs=60))
    dist = model.fit(X[:800], Y[:800]).predict_dist(X[800:])
    gap = (Y["a"] - Y["b"])[800:].to_numpy()

    def covered(draws: np.ndarray) -> float:
        low, high = np.quantile(draws[:, :, 0] - draws[:, :, 1], [0.05, 0.95], axis=1)
        return float(np.mean((low <= gap) & (gap <= high)))

    assert abs(covered(dist.sample(300, random_state=0)) - 0.9) < 0.06
    assert covered(dist.independent().sample(300, random_state=0)) > 0.97  # far too wide


def test_saved_and_loaded(tmp_path: Path) -> None:
    X, Y = table(120)
    model = MultiOutput(HeteroscedasticRegressor(**SMALL)).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, MultiOutput)
    assert list(loaded.models_) == ["a", "b", "c"]
    np.testing.assert_array_equal(
        loaded.predict_dist(X).sample(5, random_state=0),
        model.predict_dist(X).sample(5, random_state=0),
    )
    assert loaded.estimator.get_params()["hidden"] == (16,)
    (tmp_path / "model" / "output_1" / "manifest.json").unlink()
    with pytest.raises(ModelFileError, match="output_1 is missing or was exchanged"):
        load_model(tmp_path / "model")


def test_deep_gps_are_trained_one_by_one() -> None:
    pytest.importorskip("gpytorch")
    X, Y = table(60)
    model = MultiOutput(DeepGPRegressor(epochs=2, device="cpu", random_state=0)).fit(X, Y)
    assert model.predict(X).shape == (60, 3)


def test_validation_rows_and_weights() -> None:
    X, Y = table(200)
    model = MultiOutput(HeteroscedasticRegressor(**SMALL))
    validation = (X[150:], Y[["c", "a", "b"]][150:])  # columns are found by their names
    model.fit(X[:150], Y[:150], np.arange(150.0), validation_data=validation)
    assert model.n_held_out_ == 50
    with pytest.raises(DataError, match="Y has no column 'b'"):
        model.fit(X[:150], Y[:150], validation_data=(X[150:], Y[["a", "c"]][150:]))


def test_a_generator_gives_all_outputs_the_same_rows() -> None:
    X, Y = table(100)
    estimator = HeteroscedasticRegressor(**SMALL).set_params(random_state=None)
    model = MultiOutput(estimator).fit(X, Y)
    assert len({each.random_state for each in model.models_.values()}) == 1


def test_a_time_budget_is_refused() -> None:
    X, Y = table(60)
    with pytest.raises(ParameterError, match=r"same held-out rows .* set quality or epochs"):
        MultiOutput(MMDRegressor(time_budget=1.5, device="cpu")).fit(X, Y)


def test_a_constant_output_depends_on_nothing() -> None:
    X, Y = table(300)
    with pytest.warns(DataWarning, match="The target is constant"):
        model = MultiOutput(HeteroscedasticRegressor(**SMALL)).fit(X, Y.assign(c=7.0))
    np.testing.assert_allclose(model.predict(X)[:, 2], 7.0, atol=1e-3)
    assert np.abs(model.correlation_[2, :2]).max() < 4 / np.sqrt(60)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.ones(50), r"Y must have shape \(n, m\).*got \(50,\).*use the estimator itself"),
        (
            pd.DataFrame(np.ones((50, 2)), columns=["a", "a"]),
            "must differ, but 'a' occurs more than once",
        ),
        (
            pd.DataFrame({"a": np.arange(50.0), "b": [np.nan, *range(49)]}),
            r"Output 'b' has 1 missing or infinite values of 50 \(the first in row 0\)",
        ),
        (pd.DataFrame({"a": ["x"] * 50, "b": 1.0}), "Column 'a' of Y must hold numbers"),
    ],
)
def test_bad_targets(Y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        MultiOutput(HeteroscedasticRegressor(**SMALL)).fit(np.ones((50, 2)), Y)


def test_one_column_is_one_output() -> None:
    X, Y = table(60)
    model = MultiOutput(HeteroscedasticRegressor(**SMALL)).fit(X, Y[["a"]])
    assert model.predict(X).shape == (60, 1)
    np.testing.assert_array_equal(model.correlation_, [[1.0]])


def test_other_misuse() -> None:
    X, Y = table(60)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MultiOutput(HeteroscedasticRegressor()).predict(X)
    with pytest.raises(ParameterError, match=r"needs a network method of calibrant.*got str"):
        MultiOutput("mmd").fit(X, Y)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"For several outputs use MultiOutput\(estimator\)"):
        HeteroscedasticRegressor(**SMALL).fit(X, Y)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("CALIBRANT_DATA"), reason="CALIBRANT_DATA is not set: it names the data"
)
def test_pollutants_of_air_quality() -> None:
    """Errors of four pollutants from the same sensors go together."""
    frame = datasets.load("air_quality").frame
    outputs = ["CO(GT)", "NOx(GT)", "C6H6(GT)", "NO2(GT)"]
    inputs = [name for name in frame.select_dtypes("number") if "(GT)" not in name]
    known = frame.dropna(subset=outputs)[::3].sample(frac=1, random_state=0)
    train, test = known[:1500], known[1500:]
    model = MultiOutput(MMDRegressor(quality="fast", device="cpu", random_state=0))
    model.fit(train[inputs], train[outputs])
    result = evaluate(model.predict_dist(test[inputs]), test[outputs])
    assert model.correlation_[0, 1] > 0.2
    assert result.energy_score.value < result.energy_score.independent


def test_scikit_learn_sees_a_regressor_of_several_outputs() -> None:
    model = MultiOutput(HeteroscedasticRegressor(hidden=(8,), epochs=5, random_state=0))
    tags = get_tags(model)
    assert is_regressor(model)
    assert tags.target_tags.multi_output
    assert tags.input_tags.allow_nan
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert cross_val_score(model, X, X, cv=2).shape == (2,)
