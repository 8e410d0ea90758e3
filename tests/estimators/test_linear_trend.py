"""The linear part of a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from calibrant import MMDRegressor, load_model
from calibrant.checks import Array
from calibrant.estimators import Ensemble, Matching, linear_trend
from calibrant.estimators.linear_trend import _fit_ridge, find_linear_trend

QUICK: dict[str, Any] = {
    "hidden": (16,),
    "epochs": 2,
    "matching": Matching(epochs=3),
    "ensemble": Ensemble(kinds=("relu",)),
    "random_state": 0,
    "device": "cpu",
}


def total_of_parts(n: int = 400, seed: int = 0) -> tuple[Array, Array]:
    """Parts of very different sizes, and their total with little noise."""
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(size=(n, 5)) + np.arange(5.0))
    return x, x.sum(axis=1) + 0.1 * rng.normal(size=n)


def test_unseen_predictions_are_those_without_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    penalty = 0.01
    monkeypatch.setattr(linear_trend, "_PENALTIES", [penalty])
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)) * [1.0, 10.0, 0.1]
    y, weight = rng.normal(size=60) + x[:, 0], rng.uniform(0.5, 2.0, 60)
    trend, unseen = _fit_ridge(x, y, weight)
    share = weight / weight.sum()
    spread = np.sqrt(share @ (x - share @ x) ** 2)

    def ridge(rows: Array) -> Ridge:
        # The scaling stays that of all rows, as in the closed form.
        return Ridge(alpha=penalty * weight.sum()).fit((x / spread)[rows], y[rows], weight[rows])

    everything = ridge(np.arange(60))
    np.testing.assert_allclose(trend.predict(x), everything.predict(x / spread), rtol=1e-9)
    for row in (0, 31, 59):
        alone = ridge(np.delete(np.arange(60), row)).predict(x[[row]] / spread)
        # The centre is that of all rows as well, which moves it by less than a hundredth.
        np.testing.assert_allclose(unseen[row], alone[0], atol=0.02)
        assert abs(unseen[row] - y[row]) > abs(trend.predict(x[[row]])[0] - y[row])


def test_no_row_is_told_its_own_target() -> None:
    x, y = total_of_parts(100)
    moved = y.copy()
    moved[7] += 0.5
    groups = np.arange(100) // 4
    before, after = (find_linear_trend(x, each, np.ones(100), None, 0) for each in (y, moved))
    assert before is not None
    assert after is not None
    assert abs(after.unseen[7] - before.unseen[7]) < 0.05
    before, after = (find_linear_trend(x, each, np.ones(100), groups, 0) for each in (y, moved))
    assert before is not None
    assert after is not None
    np.testing.assert_allclose(after.unseen[4:8], before.unseen[4:8], rtol=1e-9)


def test_a_trend_is_found_where_it_pays() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3))
    steps = (x[:, 0] > 0.3) + (x[:, 1] > 0) + 0.1 * rng.normal(size=500)
    wave = np.sin(4 * x[:, 0]) + 0.1 * rng.normal(size=500)
    line = x @ [1.0, 2.0, 3.0] + 0.1 * wave
    ones = np.ones(500)
    assert find_linear_trend(x, steps, ones, None, 0) is None
    assert find_linear_trend(x, wave, ones, None, 0) is None
    assert find_linear_trend(x[:40], line[:40], ones[:40], None, 0) is None  # too few to tell
    found = find_linear_trend(x, line, ones, None, 0)
    assert found is not None
    np.testing.assert_allclose(found.trend.weights, [1.0, 2.0, 3.0], atol=0.02)


def test_a_total_is_learned_to_its_noise(tmp_path: Path) -> None:
    x, y = total_of_parts(600)
    new, y_new = total_of_parts(1000, seed=1)
    model = MMDRegressor(**QUICK).fit(x, y)
    assert "what a linear trend leaves" in str(model.plan(x, y))
    dist = model.predict_dist(new)
    noise = 0.1 / np.sqrt(np.pi)  # the CRPS of the truth, and 1e-3 of the target's spread
    assert np.median(dist.crps(y_new)) < 1.5 * noise
    assert np.mean((dist.interval(0.9).T[0] < y_new) & (y_new < dist.interval(0.9).T[1])) > 0.85
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model").predict_dist(new)
    np.testing.assert_array_equal(again.ppf(0.9), dist.ppf(0.9))


def test_far_rows_get_finite_predictions() -> None:
    x, y = total_of_parts(300)
    dist = MMDRegressor(**QUICK).fit(x, y).predict_dist(np.vstack([x[:1], 1e6 * x[:1]]))
    assert np.all(np.isfinite(dist.interval(0.9)))
    assert dist.mean[1] < 4 * y.max() + 10 * np.ptp(y)  # not a million times as much


def test_a_wild_target_does_not_move_the_trend() -> None:
    x, y = total_of_parts(600)
    y[0] = 1e9
    x[1] *= 1e3  # and a wild row of inputs
    plan = MMDRegressor(**QUICK).plan(x, y)
    assert plan.trend is not None
    np.testing.assert_allclose(plan.trend.weights, 1.0, atol=0.1)


@pytest.mark.parametrize("told", ["cv", "validation_data"])
def test_rows_held_out_on_request_do_not_inform_the_trend(told: str) -> None:
    x, y = total_of_parts(300)
    moved = y.copy()
    moved[200:] += 1e3
    plans = []
    for target in (y, moved):
        if told == "cv":
            options = {"cv": [(np.arange(200), np.arange(200, 300))]}
            plans.append(MMDRegressor(**QUICK).plan(x, target, **options))
        else:
            options = {"validation_data": (x[200:], target[200:])}
            plans.append(MMDRegressor(**QUICK).plan(x[:200], target[:200], **options))
    first, second = plans
    assert first.trend is not None
    np.testing.assert_array_equal(first.trend.weights, second.trend.weights)
    np.testing.assert_array_equal(first.held_out.trend, first.trend.predict(x[200:]))


def test_spikes_and_discrete_targets_have_no_trend() -> None:
    x, y = total_of_parts(400)
    spike = MMDRegressor(**QUICK).plan(x, np.where(np.arange(400) % 5, y, 0.0))
    assert len(spike.atoms.spikes)
    assert spike.trend is None
    grades = MMDRegressor(**QUICK).plan(x, np.digitize(y, np.quantile(y, np.arange(1, 10) / 10)))
    assert not len(grades.atoms.spikes)
    assert grades.trend is None


@pytest.mark.slow
def test_onnx_adds_the_trend(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    x, y = total_of_parts(200)
    model = MMDRegressor(**QUICK).fit(x, y)
    assert model.predictor_.trend is not None
    path = tmp_path / "model.onnx"
    model.to_onnx(path, [0.1, 0.9])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    new = total_of_parts(50, seed=1)[0]
    mean, _, quantiles = session.run(["mean", "stddev", "quantiles"], {"features": new})
    dist = model.predict_dist(new)
    assert np.abs((mean - dist.mean) / dist.stddev).max() < 1e-5
    assert np.abs((quantiles - dist.ppf([0.1, 0.9])) / dist.stddev[:, None]).max() < 1e-5
