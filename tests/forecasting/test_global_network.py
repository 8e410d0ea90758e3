"""One network for all steps, series and targets."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.forecasting.conftest import hourly

from calibrant import Forecaster, GlobalNetwork, backtest
from calibrant.errors import CalibrantError, DataError, DataWarning, ParameterError
from calibrant.metrics import coverage
from calibrant.recalibration import AdaptiveRecalibrator

DAY = 24


def daily(n: int, seed: int = 0, level: float = 0.0, scale: float = 1.0) -> pd.Series[float]:
    """A daily cycle with noise of standard deviation 0.2, hour by hour."""
    rng = np.random.default_rng(seed)
    values = np.sin(2 * np.pi * np.arange(n) / DAY) + 0.2 * rng.standard_normal(n)
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.Series(level + scale * values, index, name="load")


def small(**changes: Any) -> GlobalNetwork:
    settings = {"members": 1, "hidden": 16, "batch_size": 32, "device": "cpu"}
    return GlobalNetwork(**(settings | changes))


def forecaster(**changes: Any) -> Forecaster:
    options = {"estimator": small(), "window": 4 * DAY, "horizon": 6, "random_state": 0}
    return Forecaster(**(options | changes))


def panel(n: int = 400) -> pd.DataFrame:
    """Two series, two targets each, in a long frame."""
    parts = [
        pd.DataFrame(
            {
                "id": name,
                "time": daily(n).index,
                "load": daily(n, seed, level=10 * seed).to_numpy(),
                "flow": daily(n, 9 + seed, level=-5, scale=3).to_numpy(),
            }
        )
        for seed, name in enumerate("ab")
    ]
    return pd.concat(parts, ignore_index=True)


# ---- what it forecasts ----------------------------------------------------------------------


def test_shapes_stamps_and_order() -> None:
    y = daily(400)
    model = forecaster().fit(y)
    assert model.predict().shape == (6,)
    assert model.predict_interval(fh=[1, 3], coverage=[0.5, 0.9]).shape == (2, 2, 2)
    np.testing.assert_allclose(model.predict(fh=3), model.predict()[2:3])
    assert list(model.future_index()) == list(y.index[-1] + pd.to_timedelta(range(1, 7), "h"))
    quantiles = model.predict_quantiles(alpha=np.linspace(0.01, 0.99, 50))
    assert np.all(np.diff(quantiles, axis=1) >= 0)


@pytest.mark.slow
def test_forecasts_follow_the_season_and_cover_the_noise() -> None:
    y = daily(1500)
    model = forecaster(horizon=DAY).fit(y.iloc[:1200])
    truth = np.sin(2 * np.pi * np.arange(1200, 1224) / DAY)
    # The window has four days: the mean of four noisy values is off by 0.1.
    assert np.sqrt(np.mean((model.predict() - truth) ** 2)) < 0.12
    found, actual = [], []
    for start in range(1200, 1476, 12):
        found.append(model.predict_interval(coverage=0.9))
        actual.append(y.iloc[start : start + DAY].to_numpy())
        model.update(y.iloc[start : start + 12])
    bounds, outcome = np.concatenate(found), np.concatenate(actual)
    covered = np.mean((bounds[:, 0] <= outcome) & (outcome <= bounds[:, 1]))
    # 552 outcomes, every one of them twice: three standard errors of 276, and the calibration's.
    assert abs(covered - 0.9) < 0.08


def test_several_targets_and_series_are_one_model() -> None:
    y = panel()
    model = forecaster(series_id="id", time="time").fit(y)
    index = model.future_index()
    assert index.names == ["id", "target", "time"]
    assert index.droplevel("time").unique().tolist() == [
        ("a", "load"), ("a", "flow"), ("b", "load"), ("b", "flow")
    ]  # fmt: skip
    means = model.predict().reshape(4, 6).mean(axis=1)
    np.testing.assert_allclose(means, [0, -5, 10, -5], atol=4)
    assert model.predict_paths(5, random_state=0).shape == (5, 4, 6)
    alone = forecaster().fit(y[y["id"] == "a"].set_index("time")[["load", "flow"]])
    assert alone.future_index().names == ["target", "time"]


def test_known_future_covariates_matter() -> None:
    y = daily(600)
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {"on": rng.integers(0, 2, 620)}, pd.date_range(y.index[0], periods=620, freq="h")
    )
    y = y + 3.0 * X["on"].iloc[:600]
    model = Forecaster(
        small(epochs=20, lr=0.005), window=48, horizon=4, future=["on"], random_state=0
    ).fit(y, X)
    on, off = (model.predict(X=X.assign(on=value)) for value in (1, 0))
    assert np.all(on - off > 1.5)
    with pytest.raises(DataError, match=r"no row for 1 of 4"):
        model.predict(X=X.iloc[:603])


def test_past_and_static_covariates_are_used() -> None:
    y = panel()
    X = y[["id", "time"]].assign(wind=np.arange(len(y)) % 7, size=(y["id"] == "a") * 1.0)
    model = forecaster(series_id="id", time="time", static=["size"]).fit(y, X)
    assert model.model_.ensemble.networks[0].shape.n_past == 1
    assert model.model_.ensemble.networks[0].shape.n_static == 3  # and scale and gaps of the window
    assert model.predict().shape == (24,)


def test_same_seed_same_forecast() -> None:
    y = daily(300)
    one, two = forecaster().fit(y), forecaster().fit(y)
    np.testing.assert_array_equal(one.predict_quantiles(), two.predict_quantiles())
    other = forecaster(random_state=1).fit(y)
    assert not np.array_equal(one.predict(), other.predict())


def test_units_do_not_matter() -> None:
    y = daily(300)
    one, two = forecaster().fit(y), forecaster().fit(1e6 + 1000 * y)
    np.testing.assert_allclose(
        two.predict_quantiles(), 1e6 + 1000 * one.predict_quantiles(), atol=1
    )


def test_backtest_and_predict_agree_at_an_origin() -> None:
    y = daily(500)
    result = backtest(forecaster(), y, start=400)
    model = forecaster().fit(y.iloc[:400]).update(y.iloc[400:460])
    dist = model.predict_dist()
    for step, found in result.by_horizon.items():
        row = int(np.flatnonzero(found.index == y.index[459 + step])[0])
        np.testing.assert_allclose(
            found.dist[row : row + 1].ppf([0.05, 0.5, 0.95]),
            dist[step - 1 : step].ppf([0.05, 0.5, 0.95]),
        )


# ---- update, refit, save --------------------------------------------------------------------


def test_update_moves_the_recalibration_and_leaves_the_networks() -> None:
    y = daily(500)
    model, static = forecaster().fit(y.iloc[:400]), forecaster(recalibrate=None).fit(y.iloc[:400])
    before = np.ptp(model.predict_interval(), axis=1).mean()
    np.testing.assert_allclose(model.predict_quantiles(), static.predict_quantiles())
    rng = np.random.default_rng(0)
    noisy = y.iloc[400:] + 3 * rng.standard_normal(100)
    model.update(noisy)
    static.update(noisy)
    for mine, theirs in zip(
        model.model_.ensemble.networks[0].parameters(),
        static.model_.ensemble.networks[0].parameters(),
        strict=True,
    ):
        assert mine.equal(theirs)
    after, unadapted = (np.ptp(m.predict_interval(), axis=1).mean() for m in (model, static))
    assert after > max(before, 1.2 * unadapted)


@pytest.mark.slow
def test_updates_row_by_row_are_one_update() -> None:
    y = daily(330)
    one, many = forecaster().fit(y.iloc[:300]), forecaster().fit(y.iloc[:300])
    one.update(y.iloc[300:])
    for at in range(300, 330):
        many.update(y.iloc[at : at + 1])
    np.testing.assert_allclose(one.predict_quantiles(), many.predict_quantiles(), rtol=1e-6)


@pytest.mark.slow
def test_refit_trains_again_and_warm_goes_on() -> None:
    y = daily(300)  # less than two weeks, so that the weekday is no input of either fit
    model = forecaster().fit(y.iloc[:240]).update(y.iloc[240:])
    before = model.predict()
    warm = model.refit(warm=True).predict()
    assert not np.array_equal(before, warm)
    np.testing.assert_array_equal(model.refit().predict(), forecaster().fit(y).predict())


def test_a_saved_model_goes_on(tmp_path: Path) -> None:
    y = panel(320)
    late = y["time"] >= y["time"].iloc[300]
    own = AdaptiveRecalibrator(memory=[20, np.inf])
    model = forecaster(series_id="id", time="time", recalibrate=own).fit(y[~late])
    model.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    assert loaded.recalibrate.memory == (20.0, np.inf)
    for each in (model, loaded):
        each.update(y[late])
    np.testing.assert_array_equal(model.predict_quantiles(), loaded.predict_quantiles())
    assert loaded.estimator.hidden == 16
    np.testing.assert_array_equal(
        model.predict_paths(3, random_state=0), loaded.predict_paths(3, random_state=0)
    )


# ---- bad input ------------------------------------------------------------------------------


def test_gaps_are_told_and_forecast_across() -> None:
    y = daily(400)
    y.iloc[[50, 51, 380]] = np.nan
    with pytest.warns(DataWarning, match="gap in time"):
        model = forecaster().fit(y.drop(y.index[200:260]))
    with pytest.warns(DataWarning, match="gap in time"):
        model.update(daily(440).iloc[420:])  # twenty rows never came
    assert np.isfinite(model.predict_interval()).all()


def test_a_series_unseen_in_training_is_served_and_said() -> None:
    y = panel(300).drop(columns="flow")
    model = forecaster(series_id="id", time="time").fit(y)
    new = y[y["id"] == "a"].assign(id="c", load=lambda f: 50 + f["load"]).tail(60)
    with pytest.warns(DataWarning, match="'c' were not in the training data.*in common"):
        model.update(new)
    assert model.future_index().get_level_values(0).unique().tolist() == ["a", "b", "c"]
    dist = model.predict_dist()
    assert np.all(np.abs(dist.mean[12:] - 50) < 3)
    model.update(y.assign(time=y["time"] + pd.Timedelta("300h"), id="c").head(0))
    model.refit()
    assert model.model_.n_trained == 3


def test_a_series_shorter_than_the_window_is_padded() -> None:
    y = panel(300).drop(columns="flow")
    short = y[(y["id"] == "a") | (y.groupby("id").cumcount() >= 270)]
    model = forecaster(series_id="id", time="time").fit(short)
    assert np.isfinite(model.predict_interval()).all()


def test_a_short_monthly_series_is_forecast() -> None:
    months = pd.period_range("2018-01", periods=61, freq="M")
    y = pd.Series(np.sin(np.arange(60.0) / 2), months[:60])
    model = forecaster(window=6, horizon=1).fit(y)
    assert np.isfinite(model.predict_interval()).all()
    assert list(model.future_index()) == [months[60]]


def test_a_constant_series_has_a_narrow_forecast() -> None:
    y = pd.concat({"a": daily(300), "flat": 0 * daily(300) + 7.0}, names=["id", "time"])
    model = forecaster().fit(y)
    low, high = model.predict_interval()[6:].T
    np.testing.assert_allclose(low, 7.0, atol=1e-3)
    np.testing.assert_allclose(high, 7.0, atol=1e-3)


def test_daylight_saving_has_no_gap() -> None:
    hours = pd.date_range("2024-03-20", periods=300, freq="h", tz="Europe/Berlin")
    y = pd.Series(daily(300).to_numpy(), hours)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = forecaster().fit(y)
    assert model.future_index()[0] == hours[-1] + pd.Timedelta("1h")


@pytest.mark.parametrize(
    ("start", "message"),
    [("2024-03-20", "gap in time"), ("2024-10-20", "time stamp of a later one")],
)
def test_local_hours_without_a_zone_skip_one_or_repeat_one(start: str, message: str) -> None:
    hours = pd.date_range(start, periods=300, freq="h", tz="Europe/Berlin").tz_localize(None)
    with pytest.warns(DataWarning, match=message):
        model = forecaster().fit(pd.Series(daily(300).to_numpy(), hours))
    assert model.future_index()[0] == hours[-1] + pd.Timedelta("1h")
    assert np.isfinite(model.predict_interval()).all()


def test_repeated_and_unsorted_times_are_told() -> None:
    y = daily(300)
    with pytest.warns(DataWarning, match="time stamp of a later one"):
        model = forecaster().fit(pd.concat([y, y.iloc[[10]]]))
    assert model.report_.repeated == 1


def test_polars_frames_are_read() -> None:
    polars = pytest.importorskip("polars")
    y = panel(300)
    mine = forecaster(series_id="id", time="time").fit(polars.from_pandas(y)).predict()
    np.testing.assert_allclose(mine, forecaster(series_id="id", time="time").fit(y).predict())


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: forecaster(horizon=500).fit(daily(400)), "has 400 rows, too few for a horizon of"),
        (lambda: forecaster(horizon=350).fit(daily(400)), "has 400 rows.*takes 446"),
        (lambda: forecaster(window=200, horizon=190).fit(daily(400)), "longer series or a smaller"),
        (lambda: forecaster().fit(daily(400) * np.nan), "this one has 0 in 400 rows"),
        (
            lambda: forecaster(series_id="id", time="time").fit(
                panel().assign(flow=lambda y: y["flow"].where(y["id"] == "a"))),
            r"\('b', 'flow'\) has 0 in 400 rows",
        ),
        (lambda: forecaster(estimator=small(members=0)).fit(daily(400)), "members must be a whole"),
        (lambda: forecaster(estimator=small(dropout=1.0)).fit(daily(400)), "dropout must be"),
        (lambda: forecaster(estimator=small(season="day")).fit(daily(400)), "season must be"),
        (
            lambda: forecaster().fit(pd.Series(np.arange(40.0) ** 2, pd.to_datetime(
                np.arange(40) ** 2, unit="h"))),
            "no regular spacing",
        ),
    ],
)  # fmt: skip
def test_bad_fits(fit: Any, message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.raises(CalibrantError, match=message):
            fit()


def test_nothing_left_to_forecast_from() -> None:
    y = daily(500)
    model = forecaster().fit(y.iloc[:300])
    with pytest.warns(DataWarning, match="without a target"):
        model.update(y.iloc[300:] * np.nan)
    with pytest.raises(DataError, match="nothing to forecast from"):
        model.predict()


def test_only_the_network_goes_on_training(dated: pd.Series[float]) -> None:
    from tests.forecasting.conftest import tiny

    with pytest.raises(ParameterError, match="is for the GlobalNetwork"):
        Forecaster(tiny()).fit(dated).refit(warm=True)


def test_hourly_clocks_have_seasons_of_a_day() -> None:
    model = forecaster().fit(hourly(300))
    assert model.series_.clock.season == DAY
    assert coverage(model.predict_dist(), model.predict()) == 1.0


def test_the_report_says_what_the_network_does_with_gaps() -> None:
    y = daily(300)
    y.iloc[50] = np.nan
    with pytest.warns(DataWarning, match="gaps are filled with earlier seasons"):
        model = forecaster().fit(y)
    assert model.report_.bridged
