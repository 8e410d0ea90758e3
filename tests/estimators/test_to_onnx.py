"""ONNX files under a real runtime, against the model that wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from calibrant import (
    ConformalRecalibrator,
    DeepEnsembleRegressor,
    HeteroscedasticRegressor,
    IsotonicRecalibrator,
    MMDRegressor,
    MultiOutput,
)
from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.errors import DataError, OutputExistsError, ParameterError
from calibrant.estimators import Ensemble, Matching

LEVELS = [0.01, 0.1, 0.5, 0.9, 0.99]
QUICK: dict[str, Any] = {"hidden": (8,), "epochs": 2, "random_state": 0, "device": "cpu"}


def messy_table(n: int = 200) -> tuple[pd.DataFrame, Array]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Bonn", "Ulm", "Trier"], n),
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(1e3, 1.0, n)),
            "age": rng.normal(size=n),
            "new": rng.random(n) > 0.5,
        }
    )
    y = frame["age"] + (frame["city"] == "Ulm") + 0.3 * rng.normal(size=n)
    return frame, np.maximum(y.to_numpy(), 0.0)


def assert_equal(
    path: Path, inputs: dict[str, Any], expected: Distribution, prefix: str = ""
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [f"{prefix}{name}" for name in ("mean", "stddev", "quantiles")]
    mean, stddev, quantiles = session.run(names, inputs)
    spread = expected.stddev
    assert np.abs((mean - expected.mean) / spread).max() < 1e-5
    assert np.abs(stddev / spread - 1.0).max() < 1e-5
    assert np.abs((quantiles - expected.ppf(LEVELS)) / spread[:, None]).max() < 1e-5


@pytest.mark.slow
def test_default_from_a_messy_table(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    frame, y = messy_table()
    few = {"matching": Matching(epochs=1), "ensemble": Ensemble(members=1, folds=2)}
    model = MMDRegressor(**QUICK, **few, bounds=(0.0, None)).fit(frame, y)
    path = tmp_path / "model.onnx"
    model.to_onnx(path, LEVELS)
    about = {each.key: json.loads(each.value) for each in onnx.load(path).metadata_props}
    assert about["numbers"] == ["size", "age"]
    assert list(about["categories"]) == ["city", "new"]
    assert about["levels"] == LEVELS
    new = frame[:50].assign(age=frame["age"][:50] + 0.01)
    new.loc[0, "city"] = "elsewhere"
    texts = new[["city", "new"]].astype(str).to_numpy(dtype=object)
    with pytest.warns(UserWarning, match="elsewhere"):
        expected = model.predict_dist(new)
    for rows in (slice(0, 1), slice(0, 50)):  # any number of rows
        inputs = {"features": new[about["numbers"]].to_numpy()[rows], "texts": texts[rows]}
        assert_equal(path, inputs, expected[rows])


@pytest.mark.slow
def test_recurrent_ensemble(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 4, 2))
    model = DeepEnsembleRegressor(**QUICK, network="lstm", members=2, combine="mixture")
    model.fit(x, x[:, -1, 0] + rng.normal(size=100)).to_onnx(tmp_path / "model.onnx", LEVELS)
    assert_equal(tmp_path / "model.onnx", {"features": x[:20]}, model.predict_dist(x[:20]))


@pytest.mark.slow
def test_residuals_and_a_map_around_a_messy_table(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    frame, y = messy_table(400)
    network = HeteroscedasticRegressor(**QUICK, components=2, bounds=(0.0, None))
    network.fit(frame[:100], y[:100])
    inside = ConformalRecalibrator().fit(network, frame[100:200], y[100:200])
    recalibrator = IsotonicRecalibrator().fit(inside, frame[200:], y[200:])
    path = tmp_path / "model.onnx"
    recalibrator.to_onnx(path, LEVELS)
    inputs = {
        "features": frame[["size", "age"]].to_numpy(),
        "texts": frame[["city", "new"]].astype(str).to_numpy(dtype=object),
    }
    assert_equal(path, inputs, recalibrator.predict_dist(frame))


@pytest.mark.slow
def test_several_outputs_in_one_graph(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    frame, y = messy_table()
    targets = pd.DataFrame({"mean": y, "rent per year": 1e3 * (y + frame["age"])})
    model = MultiOutput(HeteroscedasticRegressor(**QUICK)).fit(frame, targets)
    path = tmp_path / "model.onnx"
    model.to_onnx(path, LEVELS)
    about = {each.key: json.loads(each.value) for each in onnx.load(path).metadata_props}
    assert about["targets"] == ["mean", "rent per year"]
    assert about["correlation"] == model.correlation_.tolist()
    inputs = {
        "features": frame[about["numbers"]].to_numpy(),
        "texts": frame[list(about["categories"])].astype(str).to_numpy(dtype=object),
    }
    dist = model.predict_dist(frame)
    for name, marginal in zip(dist.names, dist.marginals, strict=True):
        assert_equal(path, inputs, marginal, f"{name}_")


def test_outputs_that_read_the_table_differently(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"shop": rng.integers(0, 20, 2000), "x": rng.normal(size=2000)})
    effect = rng.normal(size=20)[X["shop"]]
    Y = pd.DataFrame({"a": effect + 0.1 * X["x"], "b": X["x"] + rng.normal(size=2000)})
    model = MultiOutput(HeteroscedasticRegressor(**QUICK)).fit(X, Y)
    with pytest.raises(ParameterError, match=r"'a' and 'b' .* Export each of model.models_"):
        model.to_onnx(tmp_path / "model.onnx")


def test_a_recalibrated_model_of_another_package(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    line = LinearRegression().fit(X[:30], X[:30, 0])
    model = IsotonicRecalibrator().fit(line, X[30:], X[30:, 0] + 0.1 * X[::2, 0])
    with pytest.raises(ParameterError, match="around a LinearRegression"):
        model.to_onnx(tmp_path / "model.onnx")


def test_columns_that_the_graph_cannot_read(tmp_path: Path) -> None:
    frame, y = messy_table()
    frame["day"] = pd.date_range("2024-01-01", periods=len(frame))
    model = HeteroscedasticRegressor(**QUICK).fit(frame, y)
    with pytest.raises(DataError, match=r"'day'.*encoded=True.*encoder_.transform"):
        model.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_wrong_arguments(tmp_path: Path) -> None:
    frame, y = messy_table()
    model = HeteroscedasticRegressor(**QUICK).fit(frame, y)
    with pytest.raises(ParameterError, match=r"levels must be .* in \(0, 1\)"):
        model.to_onnx(tmp_path / "model.onnx", [0.0, 0.5])
    (tmp_path / "model.onnx").write_text("mine")
    with pytest.raises(OutputExistsError, match=r"exists already.*overwrite"):
        model.to_onnx(tmp_path / "model.onnx")
