"""Sequence inputs: windows into a series, for every estimator."""

from __future__ import annotations

import doctest
import tracemalloc
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.model_selection import TimeSeriesSplit, cross_val_predict

import calibrant
import calibrant.estimators.predictor as predictor
from calibrant import (
    DeepEnsembleRegressor,
    DeepGPRegressor,
    EnsembleLikelihoodRegressor,
    HeteroscedasticRegressor,
    IsotonicRecalibrator,
    LaplaceRegressor,
    Matching,
    MCDropoutLikelihoodRegressor,
    MCDropoutRegressor,
    MMDRegressor,
    QuantileNetworkRegressor,
)
from calibrant.distributions import Distribution
from calibrant.errors import CalibrantError, DataError, ParameterError
from calibrant.estimators import Windows
from calibrant.estimators import windows as windows_module
from calibrant.estimators.combine import MatchedMoments

STEPS = 4
QUICK: dict[str, Any] = {"hidden": (8, 6), "epochs": 2, "random_state": 0, "device": "cpu"}
LSTM = QUICK | {"network": "lstm"}
ESTIMATORS = {
    "heteroscedastic": partial(HeteroscedasticRegressor, **LSTM),
    "mixture": partial(HeteroscedasticRegressor, components=2, **LSTM),
    "passes": partial(HeteroscedasticRegressor, dropout=0.1, mc_passes=4, **LSTM),
    "gru": partial(HeteroscedasticRegressor, **(QUICK | {"network": "gru"})),
    "mlp": partial(HeteroscedasticRegressor, **QUICK),
    "ensemble": partial(DeepEnsembleRegressor, members=2, **LSTM),
    "adversarial": partial(DeepEnsembleRegressor, members=2, adversarial=0.01, **LSTM),
    "ell": partial(EnsembleLikelihoodRegressor, members=2, **LSTM),
    "mcd": partial(MCDropoutRegressor, passes=4, **LSTM),
    "mc-nll": partial(MCDropoutLikelihoodRegressor, passes=4, training_passes=3, **LSTM),
    "mmd": partial(MMDRegressor, matching=Matching(epochs=2), **LSTM),
    "mmd-published": partial(
        MMDRegressor.as_published, matching__epochs=2, **(LSTM | {"hidden": None, "epochs": 1})
    ),
    "quantile": partial(QuantileNetworkRegressor, **LSTM),
    "laplace": partial(LaplaceRegressor, **LSTM),
    "laplace-mlp": partial(LaplaceRegressor, **QUICK),
    "dgp": partial(
        DeepGPRegressor, inducing=8, prediction_samples=4, epochs=2, random_state=0, device="cpu"
    ),
}


def make_series(n: int = 90, seed: int = 0) -> tuple[Windows, np.ndarray]:
    """Windows of an autoregression with a second column that tells nothing; the next value."""
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(n + STEPS, 2))
    for t in range(1, len(series)):
        series[t, 0] += 0.9 * series[t - 1, 0]
    return Windows(series, np.arange(STEPS - 1, n + STEPS - 1), STEPS), series[STEPS:, 0]


@pytest.fixture(params=list(ESTIMATORS))
def method(request: pytest.FixtureRequest):
    return ESTIMATORS[request.param]


def state_of(model) -> dict[str, np.ndarray]:
    state = {name: value.numpy() for name, value in model.module_.by_name().items()}
    fitted = model.predictor_
    for name, scaler in (("x", fitted.features.scaler), ("y", fitted.target)):
        state |= {f"{name}.loc": scaler.loc, f"{name}.scale": scaler.scale}
    return state


def test_arrays_tensors_and_windows_agree_and_come_back_from_disk(method, tmp_path) -> None:
    windows, y = make_series()
    model = method().fit(windows, y)
    dist = model.predict_dist(windows)
    assert len(dist) == len(y)
    assert (model.n_steps_, model.n_features_in_) == (STEPS, 2)
    array = np.asarray(windows)
    for X in (array, torch.tensor(array)):
        np.testing.assert_allclose(model.predict(X), dist.mean, rtol=1e-12)
    # The rows of a copied array are added in another order: the same up to rounding.
    np.testing.assert_allclose(method().fit(array, y).predict(array), dist.mean, rtol=1e-5)
    model.save(tmp_path / "model")
    again = calibrant.load_model(tmp_path / "model")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict_interval(windows), model.predict_interval(windows))
    with pytest.raises(DataError, match=r"table .*fitted on sequences"):
        again.predict(windows.flat())


def test_rows_that_no_training_window_sees_leave_no_trace(method) -> None:
    """Scaling included: the fitted model is the same to the last bit."""
    windows, y = make_series()
    train = windows.take(slice(0, 60))
    spoilt = windows.series.copy()
    spoilt[train.ends[-1] + 1 :] = 1e6
    fits = [
        method().fit(Windows(series, train.ends, STEPS), y[:60])
        for series in (windows.series, spoilt)
    ]
    first, second = (state_of(model) for model in fits)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(second[name], value)
    np.testing.assert_array_equal(fits[1].predict(train), fits[0].predict(train))


@pytest.mark.parametrize("network", ["lstm", "gru", "mlp"])
def test_learns_an_autoregression(network: str) -> None:
    """One-step errors have variance 1: R2 of the truth is 1 - 1 / Var y."""
    windows, y = make_series(600)
    model = HeteroscedasticRegressor(
        **(QUICK | {"network": network, "hidden": (16,), "epochs": 40, "lr": 1e-2})
    ).fit(windows.take(slice(0, 450)), y[:450], cv=TimeSeriesSplit(4))
    test = windows.take(slice(450, None))
    errors = model.predict(test) - y[450:]
    # 150 errors: the mean square has a standard error of sqrt(2 / 150) = 0.12.
    assert np.mean(errors**2) < 1.0 + 0.12 * 3
    assert model.n_held_out_ == 90


def test_scaling_counts_a_row_as_often_as_training_windows_show_it() -> None:
    windows, y = make_series()
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    rows, counts = windows.seen_rows(weights)
    steps = np.asarray(windows).reshape(-1, 2)
    per_step = np.repeat(weights, STEPS)
    np.testing.assert_allclose(
        np.average(rows, axis=0, weights=counts), np.average(steps, axis=0, weights=per_step)
    )
    held_out = np.arange(70, len(y))
    model = HeteroscedasticRegressor(**LSTM).fit(windows, y, cv=[(np.arange(70), held_out)])
    seen = np.asarray(windows.take(slice(0, 70))).reshape(-1, 2)
    np.testing.assert_allclose(model.predictor_.features.scaler.loc, seen.mean(axis=0))
    np.testing.assert_allclose(model.predictor_.features.scaler.scale, seen.std(axis=0))


def test_groups_and_weights_work_as_for_tables() -> None:
    windows, y = make_series()
    model = HeteroscedasticRegressor(**LSTM)
    model.fit(windows, y, groups=np.repeat(np.arange(9), 10), cv=3)
    assert model.n_held_out_ == 30
    weights = np.r_[np.ones(60), np.zeros(len(y) - 60)]
    zero = HeteroscedasticRegressor(**LSTM).fit(windows, y, weights)
    short = HeteroscedasticRegressor(**LSTM).fit(windows.take(slice(0, 60)), y[:60])
    np.testing.assert_array_equal(zero.predict(windows), short.predict(windows))


def test_memory_grows_with_the_series_and_not_with_the_window() -> None:
    """A window of 500: a copy of every window would take 800 MB, the series takes 16."""
    series = np.random.default_rng(0).normal(size=(20_000, 100))
    windows = Windows(series, np.arange(500, 2_500), 500)
    tracemalloc.start()
    rows, _ = windows.seen_rows(np.ones(len(windows)))
    taken = windows.take(slice(0, 1_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken.series is series
    assert len(rows) == 2_499
    assert peak < 2 * series.nbytes


def test_windows_are_predicted_chunk_by_chunk(monkeypatch) -> None:
    windows, y = make_series()
    model = DeepEnsembleRegressor(members=2, **LSTM).fit(windows, y)
    whole = model.predict(windows)
    sizes: list[int] = []

    class Spy(MatchedMoments):
        def __call__(self, networks: Any, x: torch.Tensor) -> Distribution:
            sizes.append(len(x))
            return super().__call__(networks, x)

    monkeypatch.setattr(predictor, "_PREDICT_ROWS", 2 * STEPS * 40)
    model.predictor_ = replace(model.predictor_, combine=Spy())
    np.testing.assert_allclose(model.predict(windows), whole, rtol=1e-12)
    assert sizes == [40, 40, 10]


def test_a_module_of_ones_own_reads_sequences() -> None:
    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(2, 5, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lstm(x)[0][:, -1]

    windows, y = make_series()
    model = HeteroscedasticRegressor(**(QUICK | {"network": Own()})).fit(windows, y)
    assert np.isfinite(model.predict(windows)).all()


def test_scikit_learn_and_recalibration_take_rows_of_windows() -> None:
    windows, y = make_series()
    model = HeteroscedasticRegressor(**LSTM)
    assert cross_val_predict(model, windows, y, cv=3).shape == y.shape
    wrapped = IsotonicRecalibrator().cross_fit(model, windows, y, cv=2)
    assert len(wrapped.predict_dist(windows)) == len(y)


def test_the_example_in_the_docstring_runs() -> None:
    assert doctest.testmod(windows_module).failed == 0


def test_windows() -> None:
    series = np.arange(12.0).reshape(6, 2)
    windows = Windows(series, [2, 5, 3], 3)
    assert windows.series is series
    assert (windows.shape, len(windows)) == ((3, 3, 2), 3)
    np.testing.assert_array_equal(np.asarray(windows)[1], series[3:])
    np.testing.assert_array_equal(windows.flat()[2], series[1:4].ravel())
    chosen = windows.take([1, 0])
    np.testing.assert_array_equal(chosen.ends, [5, 2])
    assert chosen.series is series
    np.testing.assert_array_equal(windows[np.array([False, True, False])].ends, [5])
    half = Windows(series.astype(np.float32), [5], 2)
    assert half.series.dtype == np.float32
    assert half.flat().dtype == np.float64
    assert repr(windows) == "Windows(shape=(3, 3, 2), series=(6, 2))"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(5), [3], 2), r"series must be \(T, d\)"),
        ((np.zeros((0, 2)), [], 2), r"series must be \(T, d\)"),
        ((np.array([["a"], ["b"]]), [1], 2), "series must be numbers"),
        ((np.array([[0.0], [np.nan], [1.0]]), [2], 2), "contains NaN: 1 rows.*row 1"),
        ((np.array([[0.0], [np.inf]]), [1], 2), "contains infinity"),
        ((np.zeros((5, 1)), [0.5], 2), "whole numbers"),
        ((np.zeros((5, 1)), [[3]], 2), r"whole numbers of shape \(n,\)"),
        ((np.zeros((5, 1)), [0, 3], 2), "ends between 1 and 4, got ends from 0 to 3"),
        ((np.zeros((5, 1)), [5], 2), "ends between 1 and 4"),
        ((np.zeros((5, 1)), [4], 0), "length must be"),
        ((np.zeros((5, 1)), [4], 2.0), "length must be"),
    ],
)
def test_bad_windows(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CalibrantError, match=message) as caught:
        Windows(*arguments)
    assert isinstance(caught.value, ValueError)


def test_bad_inputs() -> None:
    windows, y = make_series()
    X = np.asarray(windows)
    with pytest.raises(ParameterError, match=r'network="lstm" reads sequences.*\(n, steps, d\)'):
        HeteroscedasticRegressor(**LSTM).fit(windows.flat(), y)
    model = HeteroscedasticRegressor(**LSTM).fit(X, y)
    with pytest.raises(DataError, match=r"sequences \(n, 3, d\), but .* sequences \(n, 4, d\)"):
        model.predict(X[:, 1:])
    with pytest.raises(DataError, match=r"X has 1 features, but .* is expecting 2 features"):
        model.predict(X[..., :1])
    with pytest.raises(DataError, match="0 sample"):
        model.predict(X[:0])
    with pytest.raises(DataError, match="contains NaN"):
        model.predict(np.full_like(X, np.nan))
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        HeteroscedasticRegressor(**LSTM).fit(windows, y[:-1])
    table = HeteroscedasticRegressor(**QUICK).fit(windows.flat(), y)
    with pytest.raises(DataError, match=r"sequences \(n, 4, d\), but .* a table"):
        table.predict(X)


@pytest.mark.parametrize(
    ("network", "dropout", "dropped"),
    [("lstm", None, 0.1), ("gru", None, 0.1), ("mlp", None, None), ("lstm", 0.0, None)],
)
def test_recurrent_networks_drop_units_unless_told(network, dropout, dropped) -> None:
    windows, y = make_series()
    settings = QUICK | {"network": network, "dropout": dropout}
    model = HeteroscedasticRegressor(**settings).fit(windows, y)
    layers = [m for m in model.module_.modules() if isinstance(m, torch.nn.Dropout)]
    assert {layer.p for layer in layers} == (set() if dropped is None else {dropped})
    many = HeteroscedasticRegressor(**settings, mc_passes=20)
    if dropped is None:
        with pytest.raises(ParameterError, match=f"need dropout > 0, got .*dropout={dropout}"):
            many.fit(windows, y)
    else:
        assert np.all(many.fit(windows, y).predict_dist(windows).epistemic > 0)
