"""Rolling origins: nothing known too early, and the same as forecasting day by day."""

from __future__ import annotations

import pickle
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from tests.forecasting.conftest import hourly, own_network, tiny, wave
from tests.forecasting.test_forecaster import forecaster, panel, same_networks

from calibrant import AdaptiveRecalibrator, Forecaster, backtest, evaluate
from calibrant.errors import CalibrantError, DataWarning
from calibrant.training import Progress

LEVELS = [0.05, 0.3, 0.5, 0.9]


def later(y: pd.Series[float], X: pd.DataFrame, row: int) -> tuple[Any, Any]:
    """The series with everything from a row on changed."""
    rng = np.random.default_rng(9)
    y, X = y.copy(), X.copy()
    y.iloc[row:] = 100 * rng.normal(size=len(y) - row)
    X.iloc[row:] = 100 * rng.normal(size=X.iloc[row:].shape)
    return y, X


@pytest.mark.parametrize(
    ("policy", "row"),
    [("update", 100), ("update", 101), ("update", 117), ("static", 117), ("refit", 117)],
)
def test_what_comes_later_changes_nothing(policy: Any, row: int) -> None:
    y = hourly(130)
    X = pd.DataFrame({"a": wave(130, 4)}, index=y.index)
    model = forecaster(horizon=3)
    every = 15 if policy == "refit" else None
    before = backtest(model, y, X, start=100, policy=policy, every=every)
    after = backtest(model, *later(y, X, row), start=100, policy=policy, every=every)
    if policy != "refit":
        assert same_networks(before.forecaster, after.forecaster)
    for step, found in before.by_horizon.items():
        origin = found.index - step * pd.Timedelta("1h")
        known = np.asarray(origin < y.index[row])
        assert known.sum() == min(row - 99, 31 - step)
        other = after.by_horizon[step].dist
        np.testing.assert_array_equal(found.dist[known].ppf(LEVELS), other[known].ppf(LEVELS))
        assert np.all(found.dist[~known].mean != other[~known].mean)


def test_the_fit_of_a_back_test_is_the_fit_on_the_rows_before() -> None:
    y = wave(130)
    result = backtest(forecaster(), y, start=100)
    assert same_networks(result.forecaster, forecaster().fit(y[:100]))


def test_an_update_policy_is_predicting_and_updating_day_by_day() -> None:
    y = wave(130)
    result = backtest(forecaster(), y, start=100, policy="update")
    model = forecaster().fit(y[:100])
    for row in range(30):
        said = model.predict_quantiles(alpha=LEVELS)
        for step in (1, 2):
            if row + step <= 30:
                found = result.by_horizon[step].dist[row].ppf(LEVELS)[0]
                np.testing.assert_allclose(said[step - 1], found, rtol=1e-10)
        model.update(y[100 + row : 101 + row])


def test_a_panel_learns_from_outcomes_known_by_then_only() -> None:
    y = panel(80)
    result = backtest(forecaster(), y, start=60)
    changed = y.copy()
    times = y.index.get_level_values(1)
    changed[times >= times[70]] = 50.0
    other = backtest(forecaster(), changed, start=60)
    for step, found in result.by_horizon.items():
        target = found.index.get_level_values(1)
        assert target.is_monotonic_increasing
        known = np.asarray(target - step * pd.Timedelta("1h") < times[70])
        assert known.sum() == 2 * 11
        theirs = other.by_horizon[step].dist[known]
        np.testing.assert_array_equal(found.dist[known].mean, theirs.mean)


def test_a_series_without_rows_before_the_start_is_refused() -> None:
    y = pd.concat({"a": hourly(80), "b": hourly(80).iloc[70:]})
    with pytest.raises(CalibrantError, match="'b' have no rows before `start`"):
        backtest(forecaster(), y, start=60)


def test_static_keeps_the_recalibration_of_the_fit() -> None:
    y = wave(130)
    result = backtest(forecaster(), y, start=100, policy="static")
    step = forecaster().fit(y[:100]).steps_[0]
    windows = np.lib.stride_tricks.sliding_window_view(y, 5)[95:125, :, None]
    assert step.recalibrator is not None
    expected = step.recalibrator.transform(step.estimator.predict_dist(windows))
    np.testing.assert_allclose(result.dist.ppf(LEVELS), expected.ppf(LEVELS), rtol=1e-10)


def test_refit_trains_again_every_so_often() -> None:
    y = wave(130)
    result = backtest(forecaster(), y, start=100, policy="refit", every=12)
    assert same_networks(result.forecaster, forecaster().fit(y[:124]))
    fresh = forecaster().fit(y[:112])
    for step in (1, 2):
        # Step h of the origin 111 stands h - 1 rows earlier: nothing reaches back over the start.
        found = result.by_horizon[step].dist[12].ppf(LEVELS)[0]
        np.testing.assert_allclose(fresh.predict_quantiles(step, alpha=LEVELS)[0], found)
        assert len(result.by_horizon[step]) == 31 - step


def test_refits_side_by_side_are_those_one_after_another() -> None:
    """By an engine whose workers are other processes, and end in another order."""

    def backwards(function: Any, items: Any) -> Any:
        found = [(item, pickle.loads(pickle.dumps(partial(function, item)))()) for item in items]
        yield from reversed(found)

    options: Any = {"start": 100, "policy": "refit", "every": 12}
    one, other = (
        backtest(forecaster(), wave(130), **options, run=run) for run in (None, backwards)
    )
    for step, found in one.by_horizon.items():
        np.testing.assert_array_equal(
            found.dist.ppf(LEVELS), other.by_horizon[step].dist.ppf(LEVELS)
        )
    assert same_networks(one.forecaster, other.forecaster)


def test_a_worker_that_dies_ends_the_back_test() -> None:
    def dying(function: Any, items: Any) -> Any:
        yield from ((item, None) for item in items)

    with pytest.raises(CalibrantError, match="killed twice while it trained"):
        backtest(forecaster(), wave(130), start=100, policy="refit", run=dying)


@pytest.mark.parametrize(
    ("start", "first"),
    [
        (100, 100),
        (-30, 100),
        ("2024-01-05 04:00", 100),
        (pd.Timestamp("2024-01-05 03:30"), 100),
        ("2024-01-06", 120),
    ],
)
def test_starts(start: Any, first: int) -> None:
    y = hourly(130)
    result = backtest(forecaster(recalibrate=None), y, start=start)
    assert list(result.index) == list(y.index[first:])
    np.testing.assert_array_equal(result.y_true, y.iloc[first:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 0}, "must leave rows on both sides"),
        ({"start": 130}, "must leave rows on both sides"),
        ({"start": "2030-01-01"}, "must leave rows on both sides"),
        ({"start": "yesterday?"}, "must be a position or a time stamp"),
        ({"start": 100, "policy": "online"}, "policy must be"),
        ({"start": 100, "every": 5}, "every is the number of time stamps"),
        ({"start": 100, "policy": "refit", "every": 0}, "every is the number of time stamps"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CalibrantError, match=message):
        backtest(forecaster(), hourly(130), **options)


def test_a_gap_that_repair_forbids_is_found_before_the_test() -> None:
    y = hourly(130).drop(hourly(130).index[120])
    with pytest.raises(CalibrantError, match="1 gap in time"):
        backtest(forecaster(repair="error"), y, start=100)


def test_every_training_says_which_it_is_and_how_long_all_take(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    headings: list[bool | str] = []
    monkeypatch.setattr(
        "calibrant.estimators.train.open_progress",
        lambda verbose: headings.append(verbose) or Progress(),
    )
    model = forecaster(horizon=2)
    backtest(model, wave(130), start=100, policy="refit", every=15, verbose=True)
    texts = [str(each) for each in headings]
    assert texts[0] == "Training 1 of 2; Step 1 of 2"
    assert re.fullmatch(r"Training 1 of 2; Step 2 of 2, about \d+ s left", texts[1])
    assert re.fullmatch(r"Training 2 of 2, about \d+ s left; Step 1 of 2", texts[2])
    assert capfd.readouterr().out == ""
    headings.clear()
    forecaster(horizon=1, verbose=True).fit(wave(100))
    assert headings == [True]


def test_an_array_has_positions_only() -> None:
    with pytest.raises(CalibrantError, match="must be a position"):
        backtest(forecaster(), wave(130), start="2024-01-01")


def test_rows_without_a_whole_window_are_counted() -> None:
    y = hourly(130)
    y.iloc[110] = np.nan
    with pytest.warns(DataWarning, match="without a target"):
        result = backtest(forecaster(), y, start=100)
    assert result.tested == 30
    assert len(result.dist) == 24  # the missing one, and the five whose windows hold it
    assert "24 of 30 rows, 6 without a complete window" in str(result)


def test_scores_by_horizon_and_over_time() -> None:
    result = backtest(forecaster(), wave(150), start=100)
    scores = result.scores(coverage=0.8)
    assert list(scores.index) == [1, 2]
    one = evaluate(result.dist, result.y_true, coverage=0.8)
    for name in ("ecpe", "coverage", "crps", "epiw", "rmse"):
        assert scores.loc[1, name] == getattr(one, name)
    assert scores.loc[1, "ecpe_floor"] == one.floor.ecpe
    blocks = result.scores_over_time(5)
    assert blocks["n"].tolist() == [10] * 5
    assert blocks.index.tolist() == [100, 110, 120, 130, 140]
    expected = evaluate(result.dist[20:30], result.y_true[20:30])
    assert blocks["crps"].iloc[2] == pytest.approx(expected.crps)


def test_the_frame_holds_every_forecast() -> None:
    result = backtest(forecaster(), panel(), start=60)
    frame = result.frame(coverage=0.5)
    assert list(frame.columns) == [
        *("id", "time", "origin", "horizon", "y_true", "mean", "stddev", "lower", "upper")
    ]
    assert len(frame) == 2 * 20 + 2 * 19
    ahead = frame[frame["horizon"] == 2]
    bounds = result.by_horizon[2].dist.interval(0.5)
    np.testing.assert_array_equal(ahead[["lower", "upper"]], bounds)


def test_adaptive_recalibration_follows_a_drift_that_a_static_model_misses() -> None:
    rng = np.random.default_rng(0)
    spread = np.concatenate([np.full(400, 0.3), np.full(400, 1.2)])
    y: NDArray[np.float64] = np.sin(np.arange(800) / 4) + spread * rng.normal(size=800)
    model = Forecaster(tiny(epochs=10), random_state=0)
    adaptive = backtest(model, y, start=400).scores().loc[1]
    static = backtest(model, y, start=400, policy="static").scores().loc[1]
    assert static["ecpe"] > 4 * static["ecpe_floor"]
    assert adaptive["ecpe"] < 2 * adaptive["ecpe_floor"]
    assert adaptive["crps"] < static["crps"]


def count_trainings(monkeypatch: pytest.MonkeyPatch, *, most: int | None = None) -> list[int]:
    """Rows of every training from now on; Ctrl-C comes after so many."""
    trained: list[int] = []
    train = Forecaster._train

    def counted(model: Forecaster) -> None:
        if len(trained) == most:
            raise KeyboardInterrupt
        train(model)
        trained.append(len(model.series_))

    monkeypatch.setattr(Forecaster, "_train", counted)
    return trained


def test_an_interrupted_back_test_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y, model = wave(130), forecaster()
    whole = backtest(model, y, start=100, policy="refit", every=10)
    folder = tmp_path / "models"
    with monkeypatch.context() as patch:
        count_trainings(patch, most=2)
        with pytest.raises(KeyboardInterrupt):
            backtest(model, y, start=100, policy="refit", every=10, checkpoint=folder)
    trained = count_trainings(monkeypatch)
    resumed = backtest(model, y, start=100, policy="refit", every=10, checkpoint=folder)
    assert trained == [120]  # those on 100 and 110 rows were kept
    for step, found in whole.by_horizon.items():
        np.testing.assert_array_equal(
            found.dist.ppf(LEVELS), resumed.by_horizon[step].dist.ppf(LEVELS)
        )


@pytest.mark.parametrize("change", ["series", "parameter"])
def test_a_checkpoint_is_never_taken_for_another_back_test(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = wave(130)
    backtest(forecaster(), y, start=100, checkpoint=tmp_path)
    trained = count_trainings(monkeypatch)
    if change == "series":
        y[50] += 1e-9
        backtest(forecaster(), y, start=100, checkpoint=tmp_path)
    else:
        backtest(forecaster().set_params(estimator__epochs=3), y, start=100, checkpoint=tmp_path)
    assert trained == [100]


@pytest.mark.parametrize(
    "make",
    [
        lambda again: forecaster(verbose=again),
        lambda again: forecaster(recalibrate=AdaptiveRecalibrator(memory=[20.0])),
        lambda again: forecaster().set_params(estimator__network=own_network()),
    ],
    ids=["verbose", "recalibrator of one's own", "network of one's own"],
)
def test_a_checkpoint_is_found_again(make, tmp_path: Path, monkeypatch, capsys) -> None:
    y = wave(130)
    first = backtest(make(False), y, start=100, checkpoint=tmp_path)
    trained = count_trainings(monkeypatch)
    second = backtest(make(True), y, start=100, checkpoint=tmp_path)
    assert trained == []
    np.testing.assert_array_equal(first.dist.ppf(0.9), second.dist.ppf(0.9))


def test_a_checkpoint_with_categories_is_found_again(tmp_path: Path, monkeypatch) -> None:
    y = hourly(130)
    X = pd.DataFrame({"kind": pd.Categorical(["u", "v"] * 65)}, index=y.index)
    backtest(forecaster(), y, X, start=100, checkpoint=tmp_path)
    trained = count_trainings(monkeypatch)
    backtest(forecaster(), y, X, start=100, checkpoint=tmp_path)
    assert trained == []
