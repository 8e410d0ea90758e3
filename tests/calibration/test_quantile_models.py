"""Quantiles and binned distributions: of models, and as arrays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import ndtri
from scipy.stats import norm

from calibrant import calibrate
from calibrant.calibration import as_distribution
from calibrant.calibration.choice import _best
from calibrant.distributions import Empirical, Normal
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import coverage, ecpe

LEVELS = np.arange(1, 20) / 20


def narrow(X, levels=LEVELS):
    """Quantiles of the right mean, 80% intervals of which cover far less."""
    return 2 * X[:, :1] + 0.15 * ndtri(np.asarray(levels))


class StandInTabPFN:
    """Returns what TabPFNRegressor returns, for the same arguments."""

    def predict(self, X, *, output_type="mean", quantiles=None):
        if output_type == "quantiles":
            return list(narrow(X, quantiles).T)
        if output_type == "full":
            borders = torch.linspace(-6, 6, 601)
            cdf = norm.cdf((borders.numpy() - 2 * X[:, :1]) / 0.15)
            logits = torch.as_tensor(np.log(np.diff(cdf, axis=1) + 1e-12))
            return {
                "mean": 2 * X[:, 0], "median": 2 * X[:, 0], "mode": 2 * X[:, 0],
                "quantiles": list(narrow(X, np.arange(1, 10) / 10).T),
                "criterion": SimpleNamespace(borders=borders), "logits": logits,
            }  # fmt: skip
        return 2 * X[:, 0]


class StandInTabICL:
    """Returns what TabICLRegressor returns, for the same arguments."""

    def predict(self, X, output_type="mean", alphas=None):
        return narrow(X, alphas) if output_type == "quantiles" else 2 * X[:, 0]


class StandInCatBoost:
    """A class of the package catboost, as seen from outside."""

    __module__ = "catboost.core"

    def __init__(self, loss: str) -> None:
        self.loss = loss

    def is_fitted(self) -> bool:
        return True

    def get_param(self, name):
        return self.loss

    def predict(self, X):
        if self.loss.startswith("RMSE"):
            return np.column_stack([2 * X[:, 0], np.full(len(X), 0.15**2)])
        return narrow(X, [0.1, 0.5, 0.9])


class StandInNGBoost:
    """``pred_dist(X).params``, as NGBRegressor."""

    def predict(self, X):
        return 2 * X[:, 0]

    def pred_dist(self, X):
        return SimpleNamespace(params={"loc": 2 * X[:, 0], "scale": np.full(len(X), 0.15)})


MODELS = {
    "function": (lambda X: narrow(X), LEVELS),
    "frame": (lambda X: pd.DataFrame(narrow(X)), LEVELS),
    "tabpfn, bins": (StandInTabPFN(), None),
    "tabpfn, quantiles": (StandInTabPFN(), LEVELS),
    "tabicl": (StandInTabICL(), None),
    "catboost, quantiles": (StandInCatBoost("MultiQuantile:alpha=0.1,0.5,0.9"), None),
    "catboost, variance": (StandInCatBoost("RMSEWithUncertainty"), None),
    "ngboost": (StandInNGBoost(), None),
}


QUICKLY = {"function", "tabpfn, bins"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICKLY else pytest.mark.slow) for name in MODELS],
)
def test_narrow_quantiles_become_calibrated_given_the_features(name, rows, fresh, quick) -> None:
    X, y, _ = rows
    model, levels = MODELS[name]
    before = calibrate(model, X[:50], y[:50], levels=levels).source.predict(fresh[0])
    assert coverage(before, fresh[1], coverage=0.8) < 0.65
    calibrated = calibrate(model, X, y, levels=levels, learner=quick)
    assert calibrated.chosen == "given features and prediction"
    dist = calibrated.predict_dist(fresh[0])
    for own in (fresh[2] == 1.0, fresh[2] == 0.2):
        assert abs(coverage(dist[own], fresh[1][own], coverage=0.8) - 0.8) < 0.08
    assert dist.crps(fresh[1]).mean() < before.crps(fresh[1]).mean()


def test_a_calibrated_model_gets_no_worse(rows, fresh, quick) -> None:
    X, y, _ = rows

    def truth(X):
        return Normal(2 * X[:, 0], np.where(X[:, 1] > 0, 1.0, 0.2))

    model = calibrate(truth, X, y, learner=quick)
    score = model.predict_dist(fresh[0]).crps(fresh[1]).mean()
    assert score <= 1.01 * truth(fresh[0]).crps(fresh[1]).mean()


def test_grades_get_no_worse_and_keep_their_values(rows, fresh, quick) -> None:
    X, grades, new = rows[0], np.round(rows[1]), np.round(fresh[1])

    def model(X):
        return np.round(2 * X[:, :1] + ndtri(LEVELS))

    calibrated = calibrate(model, X, grades, levels=LEVELS, learner=quick)
    dist, before = calibrated.predict_dist(fresh[0]), calibrated.source.predict(fresh[0])
    assert dist.crps(new).mean() < 1.01 * before.crps(new).mean()
    assert ecpe(dist, new) < 0.04
    inner = np.abs(dist.median) <= 1
    np.testing.assert_array_equal(dist.median[inner], np.round(dist.median[inner]))


def test_a_correction_that_does_not_help_is_rolled_back(rows) -> None:
    X, y, _ = rows

    model = calibrate(lambda X: Normal(2 * X[:, 0], np.ones(len(X))), X, y, learner=Harmful())
    assert model.chosen != "given features and prediction"
    assert model.scores["given features and prediction"] > model.scores["unchanged"]


def test_a_map_that_repairs_coverage_may_cost_less_than_noise() -> None:
    unchanged = np.random.default_rng(0).exponential(size=400)
    noise = 0.1 * np.random.default_rng(1).standard_normal(400)
    a_little, a_lot = (unchanged + noise - noise.mean() + cost for cost in (0.004, 0.006))
    assert _best({"unchanged": unchanged, "one map": a_little}) == "one map"
    assert _best({"unchanged": unchanged, "one map": a_lot}) == "unchanged"
    assert _best({"one map": a_lot, "given features and prediction": unchanged}) != "one map"


class Harmful:
    """A learner that is wrong about everything."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        return self

    def predict_dist(self, X):
        return Normal(np.full(len(X), 3.0), np.full(len(X), 5.0))


@pytest.mark.slow
def test_arrays_of_quantiles_are_recalibrated_without_a_model(rows, fresh, quick) -> None:
    X, y, _ = rows
    for given in (narrow(X), torch.as_tensor(narrow(X)), pd.DataFrame(narrow(X))):
        model = calibrate(given, X, y, levels=LEVELS, learner=quick, guarantee=True)
        dist = model.recalibrate(narrow(fresh[0]), fresh[0])
        assert abs(coverage(dist, fresh[1], coverage=0.8) - 0.8) < 0.06
        with pytest.raises(ParameterError, match=r"Call recalibrate\(predictions, X\)"):
            model.predict_dist(fresh[0])
    points = calibrate(2 * X[:, 0], X, y, learner=quick)
    assert abs(coverage(points.recalibrate(2 * fresh[0][:, 0], fresh[0]), fresh[1]) - 0.9) < 0.05


def test_forecasts_of_several_steps_need_no_features(rows, fresh, quick) -> None:
    """(series, steps, K) and a mean, as Chronos returns; targets (series, steps)."""
    X, y, _ = rows
    answer = torch.as_tensor(narrow(X).reshape(100, 12, 19)), torch.zeros(100, 12)
    model = calibrate(answer, None, y.reshape(100, 12), levels=LEVELS, learner=quick)
    dist = model.recalibrate(narrow(fresh[0]).reshape(300, 10, 19))
    assert abs(coverage(dist, fresh[1], coverage=0.8) - 0.8) < 0.06


def test_chronos_2_returns_a_list_of_series(rows, fresh, quick) -> None:
    """([(targets, steps, K)], [(targets, steps)]), and a long frame from ``predict_df``."""
    X, y, _ = rows
    quantiles = [torch.as_tensor(part).float()[None] for part in np.split(narrow(X), [500])]
    means = [torch.zeros(part.shape[:2]) for part in quantiles]
    model = calibrate((quantiles, means), None, y, levels=LEVELS, learner=quick)
    frame = pd.DataFrame(narrow(X), columns=[f"{level:g}" for level in LEVELS])
    frame = frame.assign(item_id="a", timestamp=pd.Timestamp(0), target_name="y", predictions=0.0)
    from_frame = calibrate(frame.sample(frac=1, axis=1, random_state=0), None, y, learner=quick)
    for made, given in ((model, narrow(fresh[0])), (from_frame, frame)):
        target = fresh[1] if made is model else y
        assert abs(coverage(made.recalibrate(given), target, coverage=0.8) - 0.8) < 0.06
    np.testing.assert_allclose(
        from_frame.recalibrate(frame).median,
        model.recalibrate(narrow(X)).median,
        rtol=1e-5,
        atol=1e-4,
    )
    some = as_distribution(frame, levels=[0.1, 0.5, 0.9])
    np.testing.assert_allclose(some.ppf(0.9), narrow(X, [0.9])[:, 0], rtol=1e-9)


def test_answers_are_read() -> None:
    bins = as_distribution({"probabilities": [[0.25, 0.75]], "edges": [0.0, 1.0, 2.0]})
    np.testing.assert_allclose(bins.ppf([0.25, 0.5]), [[1.0, 4 / 3]], atol=1e-6)
    assert isinstance(as_distribution({"samples": [[1.0, 2.0]]}), Empirical)
    deciles = as_distribution({"quantiles": list(np.arange(9.0)[:, None])})
    assert deciles.median[0] == pytest.approx(4.0)
    tied = as_distribution([[1.0, 1.0, 2.0]], levels=[0.1, 0.5, 0.9])
    assert tied.ppf(0.1)[0] == pytest.approx(1.0, abs=1e-6)
    assert tied.ppf(0.01)[0] < 0.9  # a tail, although the outer quantiles coincide


@pytest.mark.parametrize(
    ("answer", "levels", "error", "message"),
    [
        ([[1.0, 2.0]], None, ParameterError, "Quantiles need their levels"),
        ([[1.0, 2.0]], [0.5, 1.5], ParameterError, r"inside \(0, 1\)"),
        ([[1.0, 2.0]], [0.9, 0.1], ParameterError, "strictly increasing"),
        ([[1.0, 2.0, 3.0]], [0.1, 0.9], DataError, r"of shape \(n, 2\)"),
        ([[2.0, 1.0]], [0.1, 0.9], DataError, r"must not cross.*sort each row"),
        ([[np.nan, 1.0]], [0.1, 0.9], DataError, "in 1 of 1 rows.* Leave these rows out, or rep"),
        (pd.DataFrame({"id": ["a"], "mean": [1.0]}), None, ParameterError, "need their levels"),
        ({"other": 1}, None, ParameterError, r"got one with \['other'\]"),
        ({"probabilities": [[0.5, 0.6]], "edges": [0, 1, 2]}, None, DataError, "sum to 1"),
        ({"probabilities": [[1.0]], "edges": [1, 0]}, None, DataError, "must be finite and incr"),
        ({"probabilities": [[1.0]], "edges": [0, 1, 2]}, None, DataError, r"between B \+ 1 edges"),
    ],
)
def test_bad_answers_say_what_to_do(answer, levels, error, message) -> None:
    with pytest.raises(error, match=message):
        as_distribution(answer, levels)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda table: table[:, ::-1], "Quantiles must not cross, .* sort each row"),
        (lambda table: table * np.nan, "NaN or infinite quantiles in 1150 of 1150 rows"),
        (lambda table: table[:-1], "1149 values for 1150 rows. It must return one prediction per"),
        (lambda table: table[:, :-1], r"of shape \(n, 19\).* Pass the levels that the model has"),
    ],
)
def test_wrong_answers_for_new_rows_are_refused_as_well(wrong, message, rows) -> None:
    X, y, _ = rows
    model = calibrate(
        lambda X: narrow(X) if len(X) <= 50 else wrong(narrow(X)), X[:50], y[:50], levels=LEVELS
    )
    with pytest.raises(DataError, match=message):
        model.predict_dist(X[50:])


def test_levels_outside_0_and_1_are_refused(rows) -> None:
    X, y, _ = rows
    model = calibrate(narrow, X[:50], y[:50], levels=LEVELS)
    with pytest.raises(ParameterError, match=r"coverage must be .*\(0, 1\)"):
        model.predict_interval(X, coverage=1.2)
    with pytest.raises(ParameterError, match="Quantile levels must lie in"):
        model.predict_quantiles(X, alpha=[-0.1, 0.5])


def test_lengths_are_compared(rows) -> None:
    X, y, _ = rows
    with pytest.raises(DataError, match="Expected predictions of 1200 rows, got 1199"):
        calibrate(narrow(X)[:-1], X, y, levels=LEVELS)


@pytest.mark.slow
def test_quantile_forest_unfitted(rows, fresh, quick) -> None:
    forests = pytest.importorskip("quantile_forest")
    X, y, _ = rows
    forest = forests.RandomForestQuantileRegressor(20, random_state=0, n_jobs=1)
    model = calibrate(forest, X, y, learner=quick, cv=3)
    assert abs(coverage(model.predict_dist(fresh[0]), fresh[1], coverage=0.8) - 0.8) < 0.06


@pytest.mark.slow
def test_real_catboost(rows, fresh, quick) -> None:
    catboost = pytest.importorskip("catboost")
    X, y, _ = rows
    levels = ",".join(f"{level:.2f}" for level in LEVELS)
    unfitted = catboost.CatBoostRegressor(
        loss_function=f"MultiQuantile:alpha={levels}",
        iterations=100,
        verbose=False,
        allow_writing_files=False,
        thread_count=1,
    )
    model = calibrate(unfitted, X, y, learner=quick, cv=2)
    assert abs(coverage(model.predict_dist(fresh[0]), fresh[1], coverage=0.8) - 0.8) < 0.06
