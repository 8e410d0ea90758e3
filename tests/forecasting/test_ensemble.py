"""Kinds and windows of the networks whose quantiles are averaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.forecasting.test_global_network import daily, forecaster, small

from calibrant import Forecaster
from calibrant.errors import DataWarning
from calibrant.forecasting._ensemble import NetworkEnsemble, member_kinds

DAY = 24


@pytest.mark.parametrize(
    ("window", "season", "kinds"),
    [
        (14 * DAY, DAY, [(336, 0), (336, DAY), (168, 0), (96, 0)]),
        (8 * DAY, DAY, [(192, 0), (192, DAY), (96, 0)]),
        (5 * DAY, DAY, [(120, 0), (120, DAY), (96, 0)]),  # half of it has too few days
        (2 * DAY, DAY, [(48, 0)]),
        (30, 1, [(30, 0)]),  # no season
    ],
)
def test_members_take_turns(window: int, season: int, kinds: list[tuple[int, int]]) -> None:
    assert member_kinds(window, season) == kinds


def all_kinds() -> Forecaster:
    return forecaster(estimator=small(members=4, epochs=0.01), window=10 * DAY, horizon=30)


@pytest.fixture(scope="module")
def model() -> Forecaster:
    return all_kinds().fit(daily(500))


def test_all_kinds_are_saved(model: Forecaster, tmp_path: Path) -> None:
    shapes = [each.shape for each in model.model_.ensemble.networks]
    assert [(each.window, each.mixed_season) for each in shapes] == member_kinds(240, DAY)
    model.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    np.testing.assert_array_equal(model.predict_quantiles(), loaded.predict_quantiles())


def test_networks_of_short_windows_are_left_out_of_their_gaps() -> None:
    y = daily(700)
    y.iloc[-5 * DAY :] = np.nan  # all that shorter windows see
    y.iloc[300 : 300 + 6 * DAY] = np.nan  # and of some windows to train on
    with pytest.warns(DataWarning, match="without a target"):
        model = all_kinds().fit(y)
    quantiles = model.predict_quantiles()
    assert np.isfinite(quantiles).all()
    assert np.abs(quantiles).max() < 5.0


def test_the_average_is_that_of_the_networks(model: Forecaster) -> None:
    steps = model.model_
    source = steps._source(model.series_)
    origins = source.origins(8)[[0, 50]]
    mean = steps.ensemble.quantiles(source, origins)
    alone = [
        NetworkEnsemble(steps.ensemble.settings, [network]).quantiles(source, origins)
        for network in steps.ensemble.networks
    ]
    assert not np.allclose(alone[0], alone[2])
    np.testing.assert_allclose(mean, np.mean(alone, axis=0), rtol=1e-6)


def test_longer_horizons_than_seasons_and_none_whole() -> None:
    y = pd.Series(daily(400).to_numpy())  # numbered rows have no season
    model = forecaster(estimator=small(members=2, epochs=0.01, season=7), window=30, horizon=10)
    assert np.isfinite(model.fit(y).predict_interval()).all()
    assert model.model_.ensemble.networks[1].shape.mixed_season == 7
