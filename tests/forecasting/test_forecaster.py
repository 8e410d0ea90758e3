"""Fit, predict, update and refit, for one and several series."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from tests.forecasting.conftest import hourly, tiny, wave

from calibrant import Forecaster, GlobalNetwork
from calibrant.errors import CalibrantError, DataError, DataWarning, NotFittedError, ParameterError
from calibrant.estimators import NetworkRegressor
from calibrant.recalibration import AdaptiveRecalibrator


def forecaster(**changes: Any) -> Forecaster:
    return Forecaster(tiny(), **({"horizon": 2, "random_state": 0} | changes))


def same_networks(one: Forecaster, other: Forecaster) -> bool:
    """Whether weights and scalings of all steps are the same to the last bit."""
    return all(
        np.array_equal(a, b)
        for mine, theirs in zip(one.steps_, other.steps_, strict=True)
        for a, b in zip(numbers(mine.estimator), numbers(theirs.estimator), strict=True)
    )


def numbers(model: NetworkRegressor) -> list[NDArray[Any]]:
    scalers = [model.predictor_.features.scaler, model.predictor_.target]
    return [
        *(value.numpy() for value in model.module_.state_dict().values()),
        *(np.asarray(part) for scaler in scalers for part in (scaler.loc, scaler.scale)),
    ]


# ---- predict --------------------------------------------------------------------------------


def test_shapes_and_stamps(dated: pd.Series[float]) -> None:
    model = forecaster(horizon=3).fit(dated)
    assert model.predict().shape == (3,)
    assert model.predict(fh=2).shape == (1,)
    assert model.predict_interval(fh=[1, 3], coverage=[0.5, 0.9]).shape == (2, 2, 2)
    assert model.predict_quantiles(alpha=0.5).shape == (3,)
    assert len(model.predict_dist(range(1, 3))) == 2
    assert model.predict_paths(7).shape == (7, 3)
    assert list(model.future_index()) == list(dated.index[-1] + pd.to_timedelta([1, 2, 3], "h"))


def test_the_horizon_of_fit_is_the_default_of_predict(y: NDArray[np.float64]) -> None:
    model = forecaster().fit(y, fh=[2])
    np.testing.assert_array_equal(model.predict(), model.predict(fh=2))
    assert model.future_index().tolist() == [151]


def test_every_step_is_its_own_model(y: NDArray[np.float64]) -> None:
    model = forecaster().fit(y)
    windows = np.lib.stride_tricks.sliding_window_view(y, 5)[-1:, :, None]
    static = forecaster(recalibrate=None).fit(y)
    for step in (1, 2):
        expected = static.steps_[step - 1].estimator.predict_dist(windows)
        np.testing.assert_allclose(static.predict(fh=step), expected.mean, rtol=1e-12)
    assert same_networks(model, static)


def test_same_seed_same_forecast_and_clones_are_unfitted(y: NDArray[np.float64]) -> None:
    model = forecaster().fit(y)
    again = clone(model)
    with pytest.raises(NotFittedError, match="Call fit"):
        again.predict()
    np.testing.assert_array_equal(again.fit(y).predict_quantiles(), model.predict_quantiles())


def test_the_default_is_one_network_for_all_steps() -> None:
    assert isinstance(Forecaster()._estimator(), GlobalNetwork)


def test_recurrent_networks_run(y: NDArray[np.float64]) -> None:
    model = Forecaster(tiny(network="gru"), random_state=0).fit(y)
    assert np.isfinite(model.predict_interval()).all()


# ---- update and refit -----------------------------------------------------------------------


def test_update_moves_the_recalibration_and_leaves_the_networks(y: NDArray[np.float64]) -> None:
    model, static = forecaster().fit(y[:120]), forecaster(recalibrate=None).fit(y[:120])
    calm = model.predict_interval(fh=1)
    model.update(y[120:])
    static.update(y[120:])
    assert same_networks(model, static)
    assert model.future_index()[0] == 150
    # A sudden change of level, which the network never saw, widens what comes after it.
    wide = forecaster().fit(y[:120]).update(5 * y[120:])
    assert np.ptp(wide.predict_interval(fh=1)) > 2 * np.ptp(calm)


def test_an_update_may_leave_the_recalibration(y: NDArray[np.float64]) -> None:
    model, static = forecaster().fit(y[:120]), forecaster().fit(y[:120])
    model.update(5 * y[120:])
    static.update(5 * y[120:], recalibrate=False)
    assert static.future_index()[0] == 150
    assert np.ptp(static.predict_interval(fh=1)) < np.ptp(model.predict_interval(fh=1))
    frozen = forecaster(recalibrate=None).fit(y[:120]).update(5 * y[120:])
    assert same_networks(static, frozen)


def test_updates_row_by_row_are_one_update(y: NDArray[np.float64]) -> None:
    one, many = forecaster().fit(y[:140]), forecaster().fit(y[:140])
    one.update(y[140:])
    for row in y[140:]:
        many.update([row])
    np.testing.assert_array_equal(one.predict_quantiles(), many.predict_quantiles())


def test_refit_is_a_fit_on_all_rows(y: NDArray[np.float64]) -> None:
    model = forecaster().fit(y[:120]).update(y[120:])
    whole = forecaster().fit(y)
    assert not same_networks(model, whole)
    model.refit()
    assert same_networks(model, whole)
    np.testing.assert_array_equal(model.predict_quantiles(), whole.predict_quantiles())


def test_the_recalibrator_can_be_chosen(y: NDArray[np.float64]) -> None:
    own = AdaptiveRecalibrator(memory=[30])
    model = forecaster(recalibrate=own).fit(y)
    assert model.steps_[0].recalibrator is not own
    assert model.steps_[0].recalibrator is not None
    assert model.steps_[0].recalibrator.memory == (30.0,)
    with pytest.raises(ParameterError, match="recalibrate must be"):
        forecaster(recalibrate="isotonic").fit(y)


# ---- covariates and panels ------------------------------------------------------------------


def inputs(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "wind": rng.normal(size=n),
            "price": rng.normal(size=n),
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
        },
        index=pd.date_range("2024-01-01", periods=n, freq="h"),
    )


def test_future_covariates_matter_and_past_ones_of_the_future_do_not() -> None:
    y, X = hourly(150), inputs(160)
    model = forecaster(future=["price"]).fit(y, X)
    base = model.predict(X=X)
    np.testing.assert_array_equal(model.predict(X=X.assign(wind=7.0)), base)
    np.testing.assert_array_equal(model.predict(X=X.iloc[150:]), base)
    assert np.all(model.predict(X=X.assign(price=X["price"] + 1)) != base)
    assert model.update(y.iloc[:0], X).predict(X=X) == pytest.approx(base)


def test_columns_without_a_role_are_left_out_where_past_is_named() -> None:
    y, X = hourly(150), inputs(150)
    model = forecaster(past=["wind"], calendar=False).fit(y, X)
    assert model.steps_[0].estimator.n_features_in_ == 2
    everything = forecaster(calendar=False).fit(y, X)
    assert everything.steps_[0].estimator.n_features_in_ == 1 + 2 + 2  # kind has two categories


def panel(n: int = 80) -> pd.Series[float]:
    return pd.concat({"a": hourly(n), "b": 5 + hourly(n, seed=1)}, names=["shop", "at"])


def test_a_panel_is_one_model_with_a_forecast_a_series() -> None:
    model = Forecaster(tiny(epochs=20, lr=0.01), horizon=2, random_state=0).fit(panel())
    dist = model.predict_dist()
    assert [key[0] for key in model.future_index()] == ["a", "a", "b", "b"]
    assert model.predict_paths(3).shape == (3, 2, 2)
    one = model.predict(fh=2)
    np.testing.assert_array_equal(dist.mean[[1, 3]], one)
    assert np.all(dist.mean[2:] > dist.mean[:2])


def test_static_covariates_must_be_constant_in_a_series() -> None:
    y = panel()
    size = pd.DataFrame({"size": np.repeat([1.0, 3.0], 80)}, index=y.index)
    assert forecaster(static=["size"]).fit(y, size).predict().shape == (4,)
    with pytest.raises(DataError, match="constant in each series"):
        forecaster(static=["size"]).fit(y, size + np.arange(160.0)[:, None])


def test_a_series_unseen_in_training_is_refused() -> None:
    model = forecaster().fit(panel())
    later = hourly(90).iloc[80:]
    with pytest.raises(DataError, match="'c' were not in the training data"):
        model.update(pd.concat({"c": later}))
    with pytest.raises(DataError, match="fitted on a panel"):
        model.update(later)
    model.update(pd.concat({"b": later}))  # one series may be ahead of the other
    assert model.future_index()[2][1] - model.future_index()[0][1] == pd.Timedelta("10h")


# ---- what is wrong with a series ------------------------------------------------------------


def test_repairs_are_told_and_kept_in_the_report() -> None:
    y = hourly(150)
    y.iloc[70] = np.nan
    y = pd.concat([y.drop(y.index[[30, 31]]), y.iloc[[100]]])
    with pytest.warns(DataWarning) as caught:
        model = forecaster().fit(y)
    said = " ".join(str(warning.message) for warning in caught)
    for words in ("out of order", "stamp of a later one", "1 gap in time, the longest 0 days 03"):
        assert words in said
    report = model.report_
    assert (report.repeated, report.gaps, report.missing_target) == (1, 1, 1)
    with pytest.raises(DataError, match="repair='error' forbids it"):
        forecaster(repair="error").fit(y)


def test_a_clean_series_says_nothing(dated: pd.Series[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert forecaster(repair="error").fit(dated).report_.notes == []


def test_a_gap_in_new_rows_is_told_and_breaks_the_window(dated: pd.Series[float]) -> None:
    model = forecaster().fit(dated.iloc[:100])
    with pytest.warns(DataWarning, match="1 gap in time"):
        model.update(dated.iloc[103:106])
    with pytest.raises(DataError, match="no complete window to forecast from"):
        model.predict()
    model.update(dated.iloc[106:110])
    assert model.predict().shape == (2,)


def test_a_refused_update_leaves_the_model_as_it_was(dated: pd.Series[float]) -> None:
    model = forecaster(repair="error").fit(dated.iloc[:100])
    before = model.predict_quantiles()
    with pytest.raises(DataError, match="1 gap in time"):
        model.update(dated.iloc[103:120])
    np.testing.assert_array_equal(model.predict_quantiles(), before)
    assert model.future_index()[0] == dated.index[100]


def long_enough() -> NDArray[np.float64]:
    return wave(60)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: forecaster(window=50, horizon=5).fit(long_enough()[:40]), "has 40 rows.*takes 55"),
        (lambda: forecaster(window=50).fit(long_enough()), "Only 10? windows|windows of 50 rows"),
        (lambda: forecaster().fit(np.zeros((60, 2))), "one column besides series and time, got 2"),
        (lambda: forecaster(window=0).fit(long_enough()), "window must be a whole number"),
        (lambda: forecaster(horizon=1.5).fit(long_enough()), "horizon must be a whole number"),
        (lambda: forecaster(repair="drop").fit(long_enough()), "repair must be"),
        (lambda: forecaster(future=["z"]).fit(long_enough()), "no column 'z'.*X was not given"),
        (lambda: forecaster(calendar=["hour"]).fit(long_enough()), "need time stamps"),
        (lambda: forecaster(calendar=["moon"]).fit(hourly(60)), "list of hour, weekday, season"),
        (lambda: forecaster(holidays=["x"]).fit(hourly(60)), "holidays must be a list of dates"),
        (lambda: forecaster().fit(long_enough(), fh=3), "between 1 and the horizon 2, got 3 to 3"),
        (lambda: forecaster().fit(hourly(60), inputs(60)).update(hourly(70).iloc[60:]), "pass X"),
    ],
)
def test_bad_fits(fit: Any, message: str) -> None:
    with pytest.raises(CalibrantError, match=message):
        fit()


def with_third(values: NDArray[np.float64]) -> pd.Series[float]:
    """The panel with a third series of these values."""
    return pd.concat([panel(), pd.concat({"c": hourly(len(values)) * 0 + values})])


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: forecaster().fit(wave(60) * np.nan), "values of its target: this one has 0 in 60"),
        (lambda: forecaster().fit(with_third(np.full(80, np.nan))), "'c' has 0 in 80 rows. Leave"),
        (lambda: forecaster().fit(with_third(np.ones(4))), "5 rows of a window: 'c' has 4. Leave"),
        (lambda: forecaster(horizon=60).fit(wave(60)), "has 60 rows, too few for a horizon of 60"),
        (lambda: forecaster(horizon=90).fit(panel()), "longest series has 80 rows, too few for"),
        (
            lambda: forecaster().fit(np.where(np.arange(60) % 4 == 3, np.nan, wave(60))),
            "without a gap or a missing value has 3 rows, and a window with its target takes 6",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.* without a target")
def test_series_without_enough_values(fit: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit()


@pytest.mark.parametrize("fh", [0, -1, 3, [1, 9], 1.5, [], "1", [[1, 2]]])
def test_steps_out_of_reach(y: NDArray[np.float64], fh: Any) -> None:
    model = forecaster().fit(y)
    with pytest.raises(ParameterError, match="fh must"):
        model.predict(fh=fh)


def test_covariates_missing_for_the_horizon() -> None:
    y, X = hourly(150), inputs(160)
    model = forecaster(future=["price"]).fit(y, X)
    with pytest.raises(DataError, match="needs the values of price for the next 2"):
        model.predict()
    with pytest.raises(DataError, match=r"no row for 1 of 2 .*2024-01-07 07:00:00"):
        model.predict(X=X.iloc[:151])
    with pytest.raises(DataError, match="missing values of price"):
        model.predict(X=X.assign(price=np.nan))
    assert model.predict(fh=1, X=X.iloc[:151]).shape == (1,)


def test_time_never_runs_backwards(dated: pd.Series[float]) -> None:
    model = forecaster().fit(dated)
    with pytest.raises(DataError, match="must be later than those already seen"):
        model.update(dated.iloc[-3:])
