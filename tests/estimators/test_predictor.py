"""What is left after `fit`: steps from rows to distributions."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from calibrant import DeepEnsembleRegressor, MCDropoutRegressor, MMDRegressor
from calibrant.distributions import MonotoneMap, Normal, Recalibrated
from calibrant.estimators import Predictor, predictor
from calibrant.estimators.atoms import Atoms
from calibrant.estimators.calibration_map import CalibrationMap

X = np.random.default_rng(0).normal(size=(60, 2))
Y = 100.0 + 5.0 * X[:, 0]


def fitted(cls: type = DeepEnsembleRegressor, **settings: Any) -> Predictor:
    common = {"hidden": (8,), "epochs": 2, "random_state": 0, "device": "cpu"}
    return cls(**(common | settings)).fit(X, Y).predictor_


@pytest.fixture(scope="module")
def normal() -> Predictor:
    return fitted(members=2)


def test_predictions_are_in_units_of_the_target(normal: Predictor) -> None:
    dist = normal.uncalibrated(X)
    assert isinstance(dist, Normal)
    scaled = normal.combine(normal.precise, torch.as_tensor(normal.features.transform(X)))
    loc, scale = float(normal.target.loc), float(normal.target.scale)
    np.testing.assert_allclose(dist.mean, loc + scale * scaled.mean)
    np.testing.assert_allclose(dist.stddev, scale * scaled.stddev)


def test_atoms_map_and_bounds_follow_the_networks(normal: Predictor) -> None:
    raw = normal.uncalibrated(X)
    assert type(normal.predict(X)) is Normal
    point = float(np.median(raw.mean))
    atoms = Atoms(np.array([[point, point - 1.0, point + 1.0]]))
    learned = CalibrationMap(MonotoneMap([0.5], [0.25]), np.empty(0), np.empty((0, 1)))
    whole = replace(normal, atoms=atoms, map=learned, bounds=(point - 0.5, None))
    dist = whole.predict(X)
    with_atoms = atoms.apply(raw)
    above = np.full(len(X), point + 2.0)
    np.testing.assert_allclose(dist.cdf(above), Recalibrated(with_atoms, learned.common).cdf(above))
    mass = with_atoms.cdf(point) - with_atoms.cdf_left(point)
    assert mass.max() > 0.05
    assert dist.cdf_left(point - 0.5).max() == 0.0
    assert dist.ppf(0.001).min() >= point - 0.5


def test_a_map_may_depend_on_the_predicted_mean(normal: Predictor) -> None:
    raw = normal.uncalibrated(X)
    low, high = np.quantile(raw.mean, [0.1, 0.9])
    maps = CalibrationMap(
        MonotoneMap([0.5], [0.5]), np.array([low, high]), np.array([[0.2], [0.8]])
    )
    at_median = replace(normal, map=maps).predict(X).cdf(raw.median)
    np.testing.assert_allclose(at_median[raw.mean <= low], 0.2)
    np.testing.assert_allclose(at_median[raw.mean >= high], 0.8)


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (DeepEnsembleRegressor, {"members": 2}),
        (MCDropoutRegressor, {"passes": 4}),
        (MMDRegressor, {"quality": "fast"}),
    ],
)
def test_networks_are_copied_once_and_not_for_every_prediction(cls, settings, monkeypatch) -> None:
    model = fitted(cls, **settings)
    model = pickle.loads(pickle.dumps(model))  # whose `fit` may have predicted already
    copies, plain = [], copy.deepcopy

    def counted(value: Any, *rest: Any) -> Any:
        copies.append(type(value))
        return plain(value, *rest)

    monkeypatch.setattr(copy, "deepcopy", counted)
    first = model.predict(X).mean
    assert [each.__name__ for each in copies] == ["MemberNetworks"]
    np.testing.assert_array_equal(model.predict(X).mean, first)
    assert len(copies) == 1


def test_the_precise_copy_is_not_pickled(normal: Predictor) -> None:
    normal.predict(X)
    assert normal.precise is normal.precise
    assert next(normal.precise.parameters()).dtype == torch.float64
    assert next(normal.networks.parameters()).dtype == torch.float32
    again = pickle.loads(pickle.dumps(normal))
    assert "precise" in vars(normal)
    assert "precise" not in vars(again)
    np.testing.assert_array_equal(again.predict(X).mean, normal.predict(X).mean)


def test_a_row_does_not_depend_on_the_rows_beside_it(normal: Predictor, monkeypatch) -> None:
    whole = normal.predict(X).mean
    np.testing.assert_allclose(normal.predict(X[7:8]).mean, whole[7:8], rtol=1e-13)
    monkeypatch.setattr(predictor, "_PREDICT_ROWS", 14)
    parts = [rows for rows, _ in normal.batches(X)]
    assert (parts[0], len(parts)) == (slice(0, 7), 9)  # two networks answer for each row
    np.testing.assert_allclose(normal.predict(X).mean, whole, rtol=1e-13)


def test_many_rows_in_float32_are_the_same_but_for_rounding(monkeypatch) -> None:
    model = fitted(MMDRegressor, hidden=(16, 16))
    assert all(spec.submodels > 1 for spec in model.specs)
    exact = model.predict(X)
    monkeypatch.setattr(predictor, "_MANY_ROWS", 2)
    fast = model.predict(X)
    assert np.abs(fast.mean - exact.mean).max() > 0.0
    levels = [0.05, 0.5, 0.95]
    rounding = 20 * np.finfo(np.float32).eps * Y.std()  # of a scaled target, through the layers
    np.testing.assert_allclose(fast.mean, exact.mean, rtol=0.0, atol=rounding)
    np.testing.assert_allclose(fast.ppf(levels), exact.ppf(levels), rtol=0.0, atol=rounding)


def test_batches_of_many_networks_stay_in_the_cache(normal: Predictor) -> None:
    assert normal.rows_at_once(2) == predictor._CACHED_ROWS // 2
    assert normal.rows_at_once(10**9) == 1
    eight = replace(normal, specs=(replace(normal.specs[0], submodels=8),))
    assert eight.rows_at_once(2) == predictor._CACHED_ROWS // 16


def test_fields_make_the_same_predictor(normal: Predictor) -> None:
    state = torch.random.get_rng_state()
    again = Predictor.from_fields(**normal.saved_fields())
    assert torch.equal(torch.random.get_rng_state(), state)
    np.testing.assert_array_equal(again.predict(X).mean, normal.predict(X).mean)
    fields = normal.saved_fields()
    fields["weights"].pop("output.bias")
    with pytest.raises(KeyError, match=r"weights differ: \['output.bias'\]"):
        Predictor.from_fields(**fields)
