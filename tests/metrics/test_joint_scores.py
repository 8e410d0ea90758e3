from __future__ import annotations

import numpy as np
import pytest
import scoringrules as sr

from calibrant.errors import DataError, ParameterError
from calibrant.metrics import energy_score, variogram_score

RNG = np.random.default_rng(5)
SAMPLES, Y = RNG.normal(size=(20, 30, 4)), RNG.normal(size=(20, 4))


def test_energy_score_against_scoringrules() -> None:
    theirs = sr.es_ensemble(Y, SAMPLES, estimator="fair")
    np.testing.assert_allclose(energy_score(SAMPLES, Y), theirs, rtol=1e-10)


def test_energy_score_of_one_output_is_the_crps() -> None:
    theirs = sr.crps_ensemble(Y[:, 0], SAMPLES[:, :, 0], estimator="fair")
    np.testing.assert_allclose(energy_score(SAMPLES[:, :, :1], Y[:, :1]), theirs, rtol=1e-10)


def test_energy_score_in_units_of_the_outputs() -> None:
    unit = np.array([1.0, 10.0, 1e3, 1e-4])
    scaled = energy_score(SAMPLES * unit, Y * unit, scale=unit)
    np.testing.assert_allclose(scaled, energy_score(SAMPLES, Y), rtol=1e-10)


def test_energy_score_does_not_depend_on_the_number_of_draws() -> None:
    """Unbiased: few and many draws agree within four standard errors."""
    y = RNG.normal(size=(4000, 2))
    few = energy_score(RNG.normal(size=(4000, 3, 2)), y)
    many = energy_score(RNG.normal(size=(4000, 60, 2)), y)
    error = np.hypot(few.std(), many.std()) / np.sqrt(4000)
    assert abs(few.mean() - many.mean()) < 4 * error


@pytest.mark.parametrize("order", [0.5, 1.0])
def test_variogram_score_against_scoringrules(order: float) -> None:
    theirs = sr.vs_ensemble(Y, SAMPLES, p=order)
    np.testing.assert_allclose(variogram_score(SAMPLES, Y, order=order), theirs, rtol=1e-10)


def test_both_prefer_the_true_dependence() -> None:
    true = np.array([[1.0, 0.9], [0.9, 1.0]])
    y = RNG.multivariate_normal([0, 0], true, size=1500)
    joint = RNG.multivariate_normal([0, 0], true, size=(1500, 60))
    alone = RNG.normal(size=(1500, 60, 2))
    for score in (energy_score, variogram_score):
        gain = score(alone, y) - score(joint, y)
        assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


@pytest.mark.parametrize("score", [energy_score, variogram_score])
def test_bad_shapes_and_values(score: object) -> None:
    assert callable(score)
    with pytest.raises(DataError, match=r"at least two draws, got \(20, 1, 4\)"):
        score(SAMPLES[:, :1], Y)
    with pytest.raises(DataError, match=r"y must have shape \(20, 4\).*got \(20, 3\)"):
        score(SAMPLES, Y[:, :3])
    with pytest.raises(DataError, match="y must be finite, but 1 of 80 values are not"):
        score(SAMPLES, np.where(np.arange(80).reshape(20, 4) == 3, np.nan, Y))


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match="scale must be 4 numbers above 0"):
        energy_score(SAMPLES, Y, scale=[1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ParameterError, match="order must be above 0, got -1"):
        variogram_score(SAMPLES, Y, order=-1.0)
