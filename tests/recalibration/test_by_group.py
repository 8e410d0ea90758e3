"""Recalibration within groups: coverage in each of them, on fresh rows."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from calibrant import (
    GroupRecalibrator,
    HeteroscedasticRegressor,
    evaluate,
    load_model,
    recalibrate,
)
from calibrant.distributions import Distribution, Empirical, Normal
from calibrant.errors import DataError, NotFittedError
from calibrant.metrics import calibration_by_group, ecpe
from calibrant.metrics.slices import rank_slices
from calibrant.recalibration.group_maps import fit_group_maps
from calibrant.recalibration.grouping import Grouping
from calibrant.recalibration.pit_map import fit_pit_map

DATA = os.environ.get("CALIBRANT_DATA", "")
SPREAD = {"a": 0.5, "b": 1.0, "c": 2.0, "d": 1.0}


class Flat:
    """Predicts the same spread everywhere."""

    def predict_dist(self, X: object) -> Distribution:
        values = np.asarray(X["x"]) if hasattr(X, "columns") else np.asarray(X)[:, 0]
        return Normal(values, np.ones(len(values)))


def draw(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of overlapping groups: the spread depends on the zone and on whether it is new."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"x": rng.normal(size=n), "zone": rng.choice(list(SPREAD), n), "new": rng.random(n) < 0.3}
    )
    spread = X["zone"].map(SPREAD) * np.where(X["new"], 1.6, 1.0)
    return X, (X["x"] + spread * rng.normal(size=n)).to_numpy()


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    return draw(4000, 1)


@pytest.mark.slow
def test_every_group_covers_on_fresh_rows_and_crps_falls(rows) -> None:
    X, y = draw(20_000, 2)
    groups = {"zone": X["zone"], "new": X["new"]}
    common = recalibrate(Flat(), *rows).predict_dist(X)
    assert evaluate(common, y, groups).state == "mixed"
    dist = recalibrate(Flat(), *rows, groups=["zone", "new"]).predict_dist(X)
    scores = evaluate(dist, y, groups)
    assert scores.groups is not None
    # Noise of the map, learned from about 1,000 rows of each group, and of the test rows.
    noise = np.sqrt(0.09 / 1000 + 0.09 / scores.groups.n)
    assert np.all(np.abs(scores.groups.coverage - 0.9) < 3.5 * noise), scores.groups
    # Crossings of the two columns are no groups, and the map of one column is that of all of them.
    off = [each for each in rank_slices({"groups": scores.groups}) if each.clearly_off]
    assert off == []
    assert dist.crps(y).mean() < 0.97 * common.crps(y).mean()


def test_calibrated_groups_keep_the_common_map() -> None:
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(3000, 1)), rng.integers(0, 30, 3000)
    y = X[:, 0] + rng.normal(size=3000)
    model = GroupRecalibrator().fit(Flat(), X, y, groups=labels)
    assert len(model.steps_) <= 3  # one in a hundred by chance
    fresh = rng.normal(size=(20_000, 1))
    target = fresh[:, 0] + rng.normal(size=20_000)
    dist = model.predict_dist(fresh, groups=rng.integers(0, 30, 20_000))
    truth = Flat().predict_dist(fresh)
    assert dist.crps(target).mean() < 1.002 * truth.crps(target).mean()
    assert ecpe(dist, target) < 0.012


def test_small_groups_and_new_labels_keep_the_common_map(rows) -> None:
    X, y = rows
    few = np.where(np.arange(len(y)) < 15, "few", "many")
    model = GroupRecalibrator().fit(Flat(), X, y, groups={"kind": few})
    assert [step for step in model.steps_ if model.groupings_[0].labels[step.code] == "few"] == []
    known, unknown = (
        model.predict_interval(X[:5], groups={"kind": [kind] * 5}) for kind in ("few", "other")
    )
    np.testing.assert_array_equal(known, unknown)


@pytest.mark.parametrize("source", ["predicted mean", "predicted spread"])
def test_deciles_of_the_prediction(source: str) -> None:
    class Growing:
        def predict_dist(self, X: np.ndarray) -> Distribution:
            scale = np.ones(len(X)) if source == "predicted mean" else np.exp(X[:, 0])
            return Normal(3.0 * X[:, 0], scale)

    def make(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 1, (n, 1))
        scale = Growing().predict_dist(X).stddev * np.exp(2 * X[:, 0] - 1)
        return X, 3.0 * X[:, 0] + scale * rng.normal(size=n)

    X, y = make(10_000, 5)
    before = evaluate(recalibrate(Growing(), *make(4000, 4)).predict_dist(X), y)
    assert before.state == "mixed"
    after = evaluate(recalibrate(Growing(), *make(4000, 4), groups=source).predict_dist(X), y)
    by = "by_mean" if source == "predicted mean" else "by_stddev"
    assert getattr(after, by).mean_ecpe < 0.5 * getattr(before, by).mean_ecpe
    assert after.crps < before.crps


def test_frames_arrays_and_weights(rows) -> None:
    X, y = rows
    by_name = recalibrate(Flat(), X, y, groups=["zone"])
    by_label = GroupRecalibrator().fit(Flat(), X[["x"]], y, groups=X["zone"])
    expected = by_name.predict_interval(X[:50])
    np.testing.assert_array_equal(by_label.predict_interval(X[:50]), expected)
    given = by_label.predict_interval(X[["x"]][:50].to_numpy(), groups={"zone": X["zone"][:50]})
    np.testing.assert_array_equal(given, expected)
    polars = pl.DataFrame({name: X[name].to_numpy() for name in ("x", "zone")})
    np.testing.assert_array_equal(by_name.predict_interval(polars[:50]), expected)
    assert by_name.predict_quantiles(X[:5], alpha=[0.1, 0.9]).shape == (5, 2)
    assert by_name.predict(X[:5]).shape == (5,)
    half = np.where(np.arange(len(y)) < 2000, 1.0, 0.0)
    weighted = recalibrate(Flat(), X, y, groups="zone", sample_weight=half)
    alone = recalibrate(Flat(), X[:2000], y[:2000], groups="zone")
    np.testing.assert_array_equal(weighted.predict(X), alone.predict(X))


def test_a_model_without_distributions(rows) -> None:
    X, y = rows
    linear = LinearRegression().fit(X[["x"]], y)
    fresh, target = draw(8000, 6)
    dist = recalibrate(linear, X, y, groups=["zone", "new"]).predict_dist(fresh)
    found = calibration_by_group(dist, target, fresh["zone"])
    assert np.abs(found.coverage - 0.9).max() < 0.04
    network = HeteroscedasticRegressor(hidden=(8,), epochs=2, random_state=0)
    crossed = GroupRecalibrator(groups=["zone"]).cross_fit(network, X[["x", "zone"]][:400], y[:400])
    assert crossed.n_calibration_ == 400
    assert crossed.predict(fresh[["x", "zone"]][:3]).shape == (3,)


def test_samples_as_a_forecast(rows) -> None:
    X, y = rows

    class Sampled:
        def predict_dist(self, X: pd.DataFrame) -> Distribution:
            draws = np.random.default_rng(0).normal(scale=3.0, size=(len(X), 80))
            return Empirical(X["x"].to_numpy()[:, None] + draws)

    model = recalibrate(Sampled(), X[:1500], y[:1500], groups="zone")
    fresh, target = draw(3000, 7)
    dist = model.predict_dist(fresh)
    one = model.predict_dist(fresh[10:11])
    np.testing.assert_allclose(dist[10:11].mean, one.mean, atol=1.0)  # other samples
    found = calibration_by_group(dist, target, fresh["zone"])
    assert np.abs(found.coverage - 0.9).max() < 0.06


def test_saved_and_loaded_without_pickle(rows, tmp_path) -> None:
    X, y = rows
    network = HeteroscedasticRegressor(hidden=(8,), epochs=3, random_state=0).fit(X[["x"]], y)
    model = recalibrate(network, X, y, groups=["zone", "new", "predicted spread"])
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert isinstance(again, GroupRecalibrator)
    assert again.get_params() == model.get_params()
    assert again.group_columns_ == ["zone", "new"]
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    assert {path.suffix for path in (tmp_path / "m").rglob("*.*")} == {".json", ".safetensors"}


def test_groups_that_overlap_are_corrected_together() -> None:
    """Both columns are off, and correcting one alone leaves the other off."""
    rng = np.random.default_rng(8)
    codes = np.stack([rng.integers(0, 3, 6000), rng.integers(0, 3, 6000)], axis=1)
    scale = np.array([0.6, 1.0, 1.5])
    z = rng.normal(size=6000) * scale[codes[:, 0]] * scale[codes[:, 1]]
    pit = Normal(np.zeros(6000), np.ones(6000)).cdf(z)
    common = fit_pit_map(pit)
    steps = fit_group_maps(common, pit, pit, np.ones(6000), codes, [3, 3])
    assert {step.column for step in steps} == {0, 1}
    assert len(steps) > 4


def test_labels_are_found_again() -> None:
    grouping = Grouping.fit("zone", np.array([1, 2, 3]))
    assert grouping(np.array([3.0, np.nan, 1.0])).tolist() == [2, -1, 0]
    missing = Grouping.fit("zone", np.array(["a", None, np.nan], dtype=object))
    assert (missing.labels, missing(np.array([None, "b"], dtype=object)).tolist()) == (
        ("a", None),
        [1, -1],
    )
    spaces = Grouping.fit("zone", np.array(["a ", "b", " a"], dtype=object))
    assert (spaces.labels, spaces(np.array(["b ", "a"])).tolist()) == (("a", "b"), [1, 0])
    numbers = Grouping.fit("age", np.arange(500.0))
    assert len(numbers) == 11  # ten bins, and one for missing numbers
    assert numbers(np.array([-1.0, 250.0, 1e9, np.nan])).tolist() == [0, 5, 9, 10]
    stamps = np.datetime64("2024-01-01T05") + np.arange(500) * np.timedelta64(1, "h")
    written = np.array([*np.datetime_as_string(stamps, "m"), None], dtype=object)
    dates = Grouping.fit("start", written)  # as in a CSV file
    assert len(dates) == 11
    assert np.bincount(dates(written)).tolist() == [50] * 10 + [1]
    assert dates(np.array(["2023-01-01", "soon"], dtype=object)).tolist() == [0, 10]
    zones = Grouping.fit("zone", np.arange(5000) % 40)
    assert len(zones) == 40
    days = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]")
    seasons = Grouping.fit("day", days)
    later = np.array(["2023-05-01T12:00", "2024-06-30T23:00", "NaT"], dtype="datetime64[ns]")
    assert seasons(later).tolist() == [0, 4, 10]


def test_errors_say_what_to_do(rows) -> None:
    X, y = rows
    with pytest.raises(DataError, match=r"grouped by 'zon', but X has columns x, zone, new\. Pass"):
        recalibrate(Flat(), X, y, groups="zon")
    model = recalibrate(Flat(), X, y, groups=X["zone"].to_numpy())
    with pytest.raises(DataError, match=r"groups=\{'group': labels\}"):
        model.predict_dist(X)
    with pytest.raises(DataError, match="one label for each of the 4000 rows"):
        recalibrate(Flat(), X, y, groups=X["zone"][:10].to_numpy())
    with pytest.raises(NotFittedError, match="GroupRecalibrator instance is not fitted"):
        clone(model).predict_dist(X)


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="CALIBRANT_DATA is not set: it names the data folder")
def test_diamonds_from_verdict_to_verdict() -> None:
    """A constant spread is right on average, and covers half of the expensive diamonds."""
    frame = pd.read_csv(Path(DATA, "development", "diamonds.csv.gz"))
    frame = frame.sample(frac=0.5, random_state=0)
    X, y = frame.drop(columns="price"), frame["price"].to_numpy()
    labels = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(labels, "category"))
    half, rest = len(X) // 2, 3 * len(X) // 4
    trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
    trees.fit(X[:half], y[:half])
    cal, test = (X[half:rest], y[half:rest]), (X[rest:], y[rest:])
    groups = test[0][["cut", "color", "clarity"]]
    before = evaluate(recalibrate(trees, *cal).predict_dist(test[0]), test[1], groups)
    assert before.state == "mixed"
    assert before.worst is not None
    assert before.worst.source == "predicted mean"
    assert before.worst.coverage < 0.7
    sources = ["predicted mean", "cut", "color", "clarity"]
    after = evaluate(
        recalibrate(trees, *cal, groups=sources).predict_dist(test[0]), test[1], groups
    )
    assert after.by_mean.coverage.min() > 0.84
    assert after.crps < 0.95 * before.crps
