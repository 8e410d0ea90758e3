"""Saved models: the same bits back, and no code from files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from tests.estimators.small_methods import ESTIMATORS, NAMES, QUICK

import calibrant
from calibrant import HeteroscedasticRegressor, Matching, MMDRegressor
from calibrant.errors import (
    CalibrantError,
    CalibrantWarning,
    ModelFileError,
    OutputExistsError,
    ParameterError,
)
from calibrant.persistence import read_model, write_model

QUICK_MMD: dict[str, Any] = QUICK | {"matching": Matching(epochs=3)}


def make_frame(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": pd.Categorical(rng.choice(["a", "b", "ä"], n)),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    return frame, frame["size"].to_numpy() + 0.1 * rng.normal(size=n)


@pytest.fixture(params=NAMES)
def method(request: pytest.FixtureRequest):
    return ESTIMATORS[request.param]


def test_predictions_come_back_bit_for_bit(method, tmp_path) -> None:
    frame, y = make_frame()
    model = method(bounds=(-3, None), **QUICK).fit(frame, y)
    model.save(tmp_path / "model")
    again = type(model).load(tmp_path / "model")
    assert repr(again.get_params()) == repr(model.get_params())
    assert again.history_ == model.history_
    assert list(again.feature_names_in_) == ["size", "kind", "age"]
    for a, b in [
        (again.predict(frame), model.predict(frame)),
        (again.predict_interval(frame, [0.5, 0.99]), model.predict_interval(frame, [0.5, 0.99])),
        (again.predict_dist(frame).log_prob(y), model.predict_dist(frame).log_prob(y)),
    ]:
        np.testing.assert_array_equal(a, b)
    assert type(calibrant.load_model(tmp_path / "model")) is type(model)


def test_folder_holds_no_pickle_and_no_path(tmp_path) -> None:
    frame, y = make_frame()
    MMDRegressor(**QUICK_MMD).fit(frame, y).save(tmp_path / "model")
    names = sorted(p.name for p in (tmp_path / "model").iterdir())
    assert names == ["manifest.json", "tensors.safetensors"]
    text = (tmp_path / "model" / "manifest.json").read_text()
    assert str(tmp_path) not in text
    json.loads(text)


def test_existing_folder_is_kept_without_overwrite(method, tmp_path) -> None:
    frame, y = make_frame()
    model = method(**QUICK).fit(frame, y)
    model.save(tmp_path / "model")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", overwrite=True)


def test_wrong_class_is_named(tmp_path) -> None:
    frame, y = make_frame()
    HeteroscedasticRegressor(**QUICK).fit(frame, y).save(tmp_path / "model")
    with pytest.raises(
        ModelFileError, match=r"holds a HeteroscedasticRegressor, not a MMDRegressor"
    ):
        MMDRegressor.load(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"class": "os.system"},
        {"class": "Windows"},
        {"class": "AdaptiveRecalibrator"},
        {"class": "load_model"},
        {"parameters": {"part": None, "fields": {"evil": 1}}},
        {"parameters": {"part": "System", "fields": {"command": "true"}}},
        {"predictor": {"part": "Predictor", "fields": {}}},
        {"predictor": {"part": "MMDRegressor", "fields": {}}},
        {"encoder": {"columns": [{"kind": "os"}]}},
        {"state": {}},
    ],
)
def test_a_forged_manifest_is_an_error_not_a_crash(tmp_path, change: dict[str, Any]) -> None:
    """Even with right digests: what does not fit together is refused."""
    frame, y = make_frame()
    MMDRegressor(**QUICK_MMD).fit(frame, y).save(tmp_path / "model")
    manifest, tensors = read_model(tmp_path / "model")
    write_model(tmp_path / "forged", manifest | change, tensors)
    with pytest.raises(ModelFileError):
        calibrant.load_model(tmp_path / "forged")


def test_forged_tensors_are_an_error(tmp_path) -> None:
    frame, y = make_frame()
    MMDRegressor(**QUICK_MMD).fit(frame, y).save(tmp_path / "model")
    manifest, tensors = read_model(tmp_path / "model")
    for name in tensors:
        write_model(
            tmp_path / "f",
            manifest,
            {k: v for k, v in tensors.items() if k != name},
            overwrite=True,
        )
        with pytest.raises(CalibrantError):
            calibrant.load_model(tmp_path / "f")


def test_own_module_needs_an_instance(tmp_path) -> None:
    frame, y = make_frame()
    X = frame[["size"]].to_numpy()
    model = MMDRegressor(**(QUICK_MMD | {"network": torch.nn.Linear(1, 5)})).fit(X, y)
    model.save(tmp_path / "model")
    with pytest.raises(ParameterError, match="classes are not stored"):
        MMDRegressor.load(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model", network=torch.nn.Linear(1, 5))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_model_from_a_gpu_runs_on_the_cpu_where_there_is_none(tmp_path) -> None:
    frame, y = make_frame()
    model = MMDRegressor(**QUICK_MMD).fit(frame, y)
    model.device = "cuda:99"  # no machine of ours has that many
    model.save(tmp_path / "model")
    with pytest.warns(CalibrantWarning, match="cuda:99.*runs on the CPU"):
        again = MMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_random_state_objects_are_not_stored(tmp_path) -> None:
    frame, y = make_frame()
    model = MMDRegressor(**(QUICK_MMD | {"random_state": np.random.RandomState(0)}))
    model.fit(frame, y).save(tmp_path / "model")
    assert MMDRegressor.load(tmp_path / "model").random_state is None
