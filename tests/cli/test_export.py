"""``calibrant export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import HeteroscedasticRegressor, IsotonicRecalibrator, calibrate

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.normal(size=60)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = HeteroscedasticRegressor(hidden=(4,), epochs=1, random_state=0)
    model.fit(FRAME, FRAME["a"].rename("y")).save(tmp_path / "model")
    return tmp_path


@pytest.mark.slow
def test_writes_quantiles_at_the_levels(run: Any, folder: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    network = HeteroscedasticRegressor.load(folder / "model")
    model = IsotonicRecalibrator().fit(network, FRAME, FRAME["a"])
    model.save(folder / "better")
    path = folder / "model.onnx"
    result = run("export", folder / "better", "--onnx", path, "--level", 0.1, "--level", 0.9)
    assert result.exit_code == 0, result.output
    assert "any number of rows" in result.stderr
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (quantiles,) = session.run(["quantiles"], {"features": FRAME.to_numpy()})
    expected = model.predict_quantiles(FRAME, [0.1, 0.9])
    np.testing.assert_allclose(quantiles, expected, rtol=1e-5, atol=1e-5)


def test_refuses_what_it_cannot_export(run: Any, folder: Path) -> None:
    model = HeteroscedasticRegressor.load(folder / "model")
    calibrate(model, FRAME, FRAME["a"] + RNG.normal(size=60)).save(folder / "better")
    result = run("export", folder / "better", "--onnx", folder / "model.onnx")
    assert result.exit_code == 2
    assert "holds a CalibratedModel, which can't be exported" in result.stderr
    (folder / "model.onnx").write_text("mine")
    result = run("export", folder / "model", "--onnx", folder / "model.onnx")
    assert result.exit_code == 2
    assert "exists already" in result.stderr
