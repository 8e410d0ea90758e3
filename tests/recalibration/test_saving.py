"""Saved recalibrators: the map and the model inside, the same bits back, no pickle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

import calibrant
from calibrant import (
    ConformalRecalibrator,
    HeteroscedasticRegressor,
    IsotonicRecalibrator,
    persistence,
)
from calibrant.errors import ModelFileError, NotFittedError, OutputExistsError, ParameterError
from calibrant.persistence import read_model, write_model

QUICK: dict[str, Any] = {"hidden": (8,), "epochs": 3, "random_state": 0, "device": "cpu"}
MAKE = {
    "isotonic": IsotonicRecalibrator,
    "conformal": lambda: ConformalRecalibrator(normalize=np.True_, guarantee=True),
}


def draw(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.gamma(2.0, size=n)


@pytest.fixture(scope="module")
def network():
    X, y = draw()
    return HeteroscedasticRegressor(**QUICK).fit(X[:100], y[:100])


@pytest.fixture(params=list(MAKE))
def fitted(request: pytest.FixtureRequest, network):
    X, y = draw()
    return MAKE[request.param]().fit(network, X[100:], y[100:])


def test_predictions_come_back_bit_for_bit(fitted, tmp_path: Path) -> None:
    X, y = draw()
    fitted.save(tmp_path / "saved")
    for again in (
        type(fitted).load(tmp_path / "saved"),
        calibrant.load_model(tmp_path / "saved"),
    ):
        assert type(again) is type(fitted)
        assert again.get_params() == fitted.get_params()
        assert again.n_calibration_ == 100
        for a, b in [
            (again.predict_interval(X, [0.5, 0.9]), fitted.predict_interval(X, [0.5, 0.9])),
            (again.predict_quantiles(X), fitted.predict_quantiles(X)),
            (again.predict_dist(X).log_prob(y), fitted.predict_dist(X).log_prob(y)),
        ]:
            np.testing.assert_array_equal(a, b)


def test_the_folder_holds_the_models_folder(fitted, network, tmp_path: Path) -> None:
    X, _ = draw()
    fitted.save(tmp_path / "saved")
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    names = ["manifest.json", "tensors.safetensors"]
    assert files == sorted(f"saved/{part}{name}" for part in ("", "model/") for name in names)
    inside = HeteroscedasticRegressor.load(tmp_path / "saved" / "model")
    np.testing.assert_array_equal(inside.predict(X), network.predict(X))


def test_one_around_the_other(network, tmp_path: Path) -> None:
    X, y = draw()
    inner = IsotonicRecalibrator().fit(network, X[100:], y[100:])
    outer = ConformalRecalibrator().fit(inner, X[100:], y[100:])
    outer.save(tmp_path / "saved")
    again = calibrant.load_model(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict(X), outer.predict(X))
    assert type(again.model_.model_) is HeteroscedasticRegressor


@pytest.mark.slow
def test_another_process_needs_the_class_alone(network, tmp_path: Path) -> None:
    """Nothing but the recalibrator has been imported there."""
    X, y = draw()
    fitted = IsotonicRecalibrator().fit(network, X[100:], y[100:])
    fitted.save(tmp_path / "saved")
    code = (
        "from calibrant import IsotonicRecalibrator; "
        "print(float(IsotonicRecalibrator.load('saved').predict([[1.0, 1.0]])[0]))"
    )
    source = {"PYTHONPATH": str(Path(calibrant.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(fitted.predict([[1.0, 1.0]])[0], rel=1e-12)


def test_other_peoples_models_are_refused_with_a_reason(tmp_path: Path) -> None:
    X, y = draw()
    fitted = IsotonicRecalibrator().fit(LinearRegression().fit(X, y), X, y)
    with pytest.raises(ParameterError, match=r"wraps a LinearRegression.*pickle, which runs code"):
        fitted.save(tmp_path / "saved")

    class MMDRegressor(LinearRegression):  # a namesake is not ours
        pass

    fitted = IsotonicRecalibrator().fit(MMDRegressor().fit(X, y), X, y)
    with pytest.raises(ParameterError, match="Only models of calibrant"):
        fitted.save(tmp_path / "saved")
    assert os.listdir(tmp_path) == []


def test_unfitted_and_existing(fitted, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        IsotonicRecalibrator().save(tmp_path / "saved")
    fitted.save(tmp_path / "saved")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        fitted.save(tmp_path / "saved")
    fitted.save(tmp_path / "saved", overwrite=True)


def test_a_crash_leaves_nothing(fitted, tmp_path: Path, monkeypatch) -> None:
    def failing(path: object, **options: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(fitted.model_, "save", failing, raising=False)
    with pytest.raises(OSError, match="disk full"):
        fitted.save(tmp_path / "saved")
    assert os.listdir(tmp_path) == []


def test_another_model_inside_is_refused(fitted, network, tmp_path: Path) -> None:
    fitted.save(tmp_path / "saved")
    shutil.rmtree(tmp_path / "saved" / "model")
    with pytest.raises(ModelFileError, match="model is missing or was exchanged"):
        calibrant.load_model(tmp_path / "saved")
    X, y = draw()
    HeteroscedasticRegressor(**(QUICK | {"random_state": 1})).fit(X, y).save(
        tmp_path / "saved" / "model"
    )
    with pytest.raises(ModelFileError, match="is not the model that was saved inside"):
        calibrant.load_model(tmp_path / "saved")


def test_the_wrong_class_is_named(fitted, tmp_path: Path) -> None:
    fitted.save(tmp_path / "saved")
    with pytest.raises(ModelFileError, match=r"holds a \w+Recalibrator, not a Heteroscedastic"):
        HeteroscedasticRegressor.load(tmp_path / "saved")


@pytest.mark.parametrize(
    "change", [{"parameters": {"evil": 1}}, {"parameters": None}, {"n_calibration": "many"}]
)
def test_a_forged_folder_is_an_error_not_a_crash(fitted, tmp_path, change) -> None:
    fitted.save(tmp_path / "saved")
    manifest, tensors = read_model(tmp_path / "saved")
    parts = {"model": fitted.model_.save}
    write_model(tmp_path / "forged", manifest | change, tensors, parts=parts)
    with pytest.raises(ModelFileError, match="does not describe a whole"):
        calibrant.load_model(tmp_path / "forged")
    for name in tensors:
        less = {key: value for key, value in tensors.items() if key != name}
        write_model(tmp_path / "forged", manifest, less, parts=parts, overwrite=True)
        with pytest.raises(ModelFileError, match="does not describe a whole"):
            calibrant.load_model(tmp_path / "forged")


def test_a_model_of_the_users_own_goes_in_by_its_name(tmp_path: Path) -> None:
    X, y = draw()
    own = HeteroscedasticRegressor(**(QUICK | {"network": torch.nn.Linear(2, 3)})).fit(X, y)
    fitted = IsotonicRecalibrator().fit(own, X, y)
    fitted.save(tmp_path / "saved")
    with pytest.raises(ParameterError, match="classes are not stored"):
        IsotonicRecalibrator.load(tmp_path / "saved")
    again = IsotonicRecalibrator.load(tmp_path / "saved", network=torch.nn.Linear(2, 3))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_every_folder_is_read_once(fitted, tmp_path: Path, monkeypatch) -> None:
    fitted.save(tmp_path / "saved")
    seen = []

    def spy(path):
        seen.append(Path(path).name)
        return read_model(path)

    monkeypatch.setattr(persistence.folders, "read_model", spy)
    calibrant.load_model(tmp_path / "saved")
    assert seen == ["saved", "model"]
