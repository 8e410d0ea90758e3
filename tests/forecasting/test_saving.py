"""A saved forecaster goes on as if nothing had happened."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.forecasting.conftest import hourly, own_network, wave
from tests.forecasting.test_forecaster import forecaster, inputs, panel, same_networks

from calibrant import Forecaster, LaplaceRegressor, QuantileNetworkRegressor, load_model
from calibrant.errors import ModelFileError, NotFittedError, OutputExistsError, ParameterError
from calibrant.recalibration import AdaptiveRecalibrator


def test_predictions_updates_and_refits_are_the_same(tmp_path: Path) -> None:
    y, X = hourly(160), inputs(170)
    model = forecaster(future=["price"], holidays=["2024-01-03"]).fit(y.iloc[:120], X)
    model.update(y.iloc[120:140], X)
    model.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    for each in (model, loaded):
        each.update(y.iloc[140:], X)
    paths = [each.predict_paths(3, X=X, random_state=0) for each in (model, loaded)]
    np.testing.assert_array_equal(*paths)
    assert list(loaded.future_index()) == list(model.future_index())
    assert loaded.report_ == model.report_
    model.refit()
    loaded.refit()
    assert same_networks(model, loaded)


def test_panels_and_own_recalibrators_come_back(tmp_path: Path) -> None:
    model = forecaster(recalibrate=AdaptiveRecalibrator(memory=[20, np.inf])).fit(panel())
    model.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_quantiles(), model.predict_quantiles())
    assert isinstance(loaded.recalibrate, AdaptiveRecalibrator)
    assert loaded.recalibrate.memory == (20.0, np.inf)
    later = hourly(85).iloc[80:]
    new = pd.concat({"a": later, "b": later})
    np.testing.assert_array_equal(loaded.update(new).predict(), model.update(new).predict())


@pytest.mark.parametrize("method", [QuantileNetworkRegressor, LaplaceRegressor])
def test_other_methods_forecast_and_come_back(method: type, tmp_path: Path) -> None:
    network = method(network="lstm", hidden=(4,), epochs=2, device="cpu")
    model = Forecaster(network, horizon=2, window=5, random_state=0).fit(wave(100))
    model.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_interval(), model.predict_interval())


def test_load_model_opens_a_forecaster_too(tmp_path: Path) -> None:
    model = forecaster().set_params(estimator__network=own_network()).fit(wave(100))
    model.save(tmp_path / "model")
    with pytest.raises(ParameterError, match="classes are not stored"):
        load_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model", network=own_network())
    assert isinstance(loaded, Forecaster)
    np.testing.assert_array_equal(loaded.predict_interval(), model.predict_interval())


def test_a_folder_is_whole_or_refused(tmp_path: Path) -> None:
    model = forecaster().fit(wave(100))
    model.save(tmp_path / "model")
    with pytest.raises(OutputExistsError, match="exists already"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    with pytest.raises(ModelFileError, match="not a Forecaster"):
        Forecaster.load(tmp_path / "model" / "step_1")
    shutil.rmtree(tmp_path / "model" / "step_2")
    shutil.copytree(tmp_path / "model" / "step_1", tmp_path / "model" / "step_2")
    with pytest.raises(ModelFileError, match="step_2 is missing or was exchanged"):
        Forecaster.load(tmp_path / "model")


def test_an_unfitted_forecaster_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        forecaster().save(tmp_path / "model")
