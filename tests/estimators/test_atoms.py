"""Targets that take some values again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant import Ensemble, Matching, MMDRegressor, evaluate
from calibrant.distributions import Recalibrated, WithAtoms
from calibrant.estimators import fit_batched
from calibrant.estimators.atoms import cells_of, find_atoms, find_spikes, spike_outputs

SMALL: dict[str, Any] = {
    **{"epochs": 5, "matching": Matching(epochs=40, lr=5e-3), "hidden": (32,), "batch_size": 64},
    **{"device": "cpu", "random_state": 0},
}

FEW: dict[str, Any] = {"members": 1, "kinds": ("relu",)}  # networks of each fold
BRIEF = SMALL | {"matching": Matching(epochs=2), "ensemble": Ensemble(**FEW)}


def grades(n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from 1 to 5 that follow a line with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.clip(np.round(3 + X[:, 0] + 0.5 * rng.normal(size=n)), 1, 5)


def test_all_values_of_a_discrete_target_are_atoms() -> None:
    found = find_atoms(grades()[1], 1.0)
    np.testing.assert_array_equal(found[:, 0], [1, 2, 3, 4, 5])
    np.testing.assert_allclose(found[:, 1:], found[:, :1] + [[-0.5, 0.5]])


def test_of_another_target_those_that_repeat() -> None:
    y = np.random.default_rng(0).normal(size=1000)
    assert len(find_atoms(y, 1.0)) == 0
    y[:200] = 0.0
    found = find_atoms(y, 1.0)
    assert found.shape == (1, 3)
    assert found[0, 0] == 0.0
    below, above = y[y < 0].max(), y[y > 0].min()
    assert below < found[0, 1] < 0 < found[0, 2] < above
    assert len(find_atoms(np.zeros(50), 1.0)) == 0  # one value is no distribution


def test_a_cell_does_not_reach_over_a_gap() -> None:
    y = np.repeat([1.0, 2.0, 3.0, 50.0], 100)
    np.testing.assert_allclose(
        find_atoms(y, 1.0)[:, 1:] - find_atoms(y, 1.0)[:, :1], [[-0.5, 0.5]] * 4
    )


def test_cells_of_targets() -> None:
    atoms = np.array([[0.0, -0.5, 0.5], [2.0, 1.5, 2.5]])
    low, high = cells_of(np.array([0.0, 0.4, 2.0, 7.0]), atoms)
    np.testing.assert_array_equal(low, [-0.5, 0.4, 1.5, 7.0])
    np.testing.assert_array_equal(high, [0.5, 0.4, 2.5, 7.0])


@pytest.mark.slow
@pytest.mark.parametrize("folds", [0, 3])
def test_grades_get_probabilities_and_calibration(folds: int) -> None:
    X, y = grades()
    X_new, y_new = grades(seed=1)
    model = MMDRegressor(**SMALL, ensemble=Ensemble(folds=folds, **FEW)).fit(X, y)
    without = MMDRegressor(**SMALL, ensemble=Ensemble(folds=folds, **FEW), atoms=False).fit(X, y)
    dist = model.predict_dist(X_new)
    quantiles = dist.ppf(np.arange(1, 20) / 20)
    assert np.isin(quantiles, [1, 2, 3, 4, 5]).mean() > 0.99
    result, plain = (evaluate(d, y_new) for d in (dist, without.predict_dist(X_new)))
    assert result.crps < plain.crps
    assert result.ecpe < 2.5 * result.floor.ecpe
    assert result.by_mean.mean_ecpe < plain.by_mean.mean_ecpe


def test_the_choice_is_saved(tmp_path) -> None:
    X, y = grades(300)
    model = MMDRegressor(**BRIEF).fit(X, y)
    model.save(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model")
    dist = again.predict_dist(X[:3])
    assert isinstance(dist, Recalibrated)
    assert isinstance(dist.base, WithAtoms)
    np.testing.assert_array_equal(
        again.predict_quantiles(X, alpha=[0.2, 0.7]), model.predict_quantiles(X, alpha=[0.2, 0.7])
    )


def test_models_together_have_atoms_of_their_own() -> None:
    models = [MMDRegressor(**BRIEF) for _ in range(2)]
    X, y = grades(1200)
    fit_batched(models, [{"X": X, "y": y}, {"X": X, "y": 10 * y}])
    for model, factor in zip(models, (1, 10), strict=True):
        np.testing.assert_array_equal(model.predictor_.atoms.cells[:, 0], factor * np.arange(1, 6))


def rain(n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Nothing on some days, more often where the first input is small, amounts on the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    wet = rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0]))
    return X, np.where(wet, np.exp(0.5 * X[:, 1] + 0.3 * rng.normal(size=n)), 0.0)


def test_what_many_rows_have_among_other_values_is_a_spike() -> None:
    y = rain()[1]
    atoms = find_atoms(y, 1.0)
    assert atoms[find_spikes(y, atoms), 0].tolist() == [0.0]
    grade = grades()[1]
    assert len(find_spikes(grade, find_atoms(grade, 1.0))) == 0  # nothing but atoms
    few = np.where(np.arange(len(y)) < 30, 0.0, np.random.default_rng(0).normal(size=len(y)))
    assert len(find_atoms(few, 1.0)) == 1
    assert len(find_spikes(few, find_atoms(few, 1.0))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("folds", [0, 3])
def test_the_probability_of_a_spike_follows_the_inputs(folds: int) -> None:
    X, y = rain()
    X_new, y_new = rain(4000, seed=1)
    model = MMDRegressor(**SMALL, ensemble=Ensemble(folds=folds, **FEW)).fit(X, y)
    dist = model.predict_dist(X_new)
    dry = dist.cdf(0.0) - dist.cdf_left(0.0)
    truth = 1 / (1 + np.exp(2 * X_new[:, 0]))
    assert np.abs(dry - truth).mean() < 0.05
    without = MMDRegressor(**SMALL, ensemble=Ensemble(folds=folds, **FEW), atoms=False).fit(X, y)
    result, plain = (evaluate(d, y_new) for d in (dist, without.predict_dist(X_new)))
    assert result.by_mean.mean_ecpe < 0.7 * plain.by_mean.mean_ecpe


def test_a_loaded_model_has_its_spikes(tmp_path) -> None:
    X, y = rain(300)
    model = MMDRegressor(**BRIEF).fit(X, y)
    model.save(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predictor_.atoms.spikes, model.predictor_.atoms.spikes)
    np.testing.assert_array_equal(again.predict_dist(X).cdf(0.0), model.predict_dist(X).cdf(0.0))


@pytest.mark.slow
@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_together_each_has_its_own_spikes_as_alone(network: str) -> None:
    """Members of several models: other units, and a model that has none."""
    few = SMALL | {
        "matching": Matching(epochs=3),
        "ensemble": Ensemble(**FEW),
        "network": network,
        "hidden": (8,),
        "dropout": 0.0,
    }
    X, y = rain(1200)
    if network == "lstm":
        X = np.repeat(X[:, None], 2, axis=1)
    targets = [y, 7.0 + 10.0 * y, y + np.random.default_rng(0).normal(size=len(y))]
    together = [MMDRegressor(**few) for _ in targets]
    fit_batched(together, [{"X": X, "y": target} for target in targets])
    for model, target, count in zip(together, targets, (1, 1, 0), strict=True):
        alone = MMDRegressor(**few).fit(X, target)
        assert len(model.predictor_.atoms.spikes) == len(alone.predictor_.atoms.spikes) == count
        np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=2e-3, atol=2e-3)


def test_cells_of_decimal_values_do_not_cross() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = np.unique(rng.integers(-20, 20, 6) / 10)
        found = find_atoms(np.repeat(values, 30), 1.0)
        assert (found[:-1, 2] <= found[1:, 1]).all()


def test_one_value_that_nearly_all_rows_have_makes_no_atoms_of_the_others() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.96, 0.0, rng.lognormal(size=3000))
    atoms = find_atoms(y, float(y.std()))
    assert atoms[:, 0].tolist() == [0.0]
    assert find_spikes(y, atoms).tolist() == [0]


def test_a_spike_stays_in_its_cell_however_close_other_values_are() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(20_000) < 0.4, 0.0, rng.lognormal(sigma=3.0, size=20_000))
    atoms = find_atoms(y, float(y.std()))
    _, low, high = (atoms[find_spikes(y, atoms)][0]) / y.std()
    deviation = np.exp(0.5 * spike_outputs(atoms, 0.0, float(y.std()))[1])
    assert deviation >= 1e-6
    assert -low >= 5.99 * deviation
    assert high >= 5.99 * deviation


def test_without_a_component_for_it_a_spike_is_left_alone() -> None:
    X, y = rain(1200)
    one = Ensemble(submodels=1, **FEW)
    plain = MMDRegressor(**BRIEF | {"components": 1, "ensemble": one})
    assert len(plain.fit(X, y).predictor_.atoms.cells) == 0
    assert len(MMDRegressor(**BRIEF).fit(X, y).predictor_.atoms.cells) == 1


@pytest.mark.slow
def test_bounds_and_atoms_are_calibrated_together() -> None:
    """A censored target: the mass below the bound is the atom's, too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    y = np.round(np.maximum(0.0, 2.0 + 2.0 * X[:, 0] + rng.normal(size=4000)))
    model = MMDRegressor(**SMALL, ensemble=Ensemble(**FEW), bounds=(0, None)).fit(
        X[:2000], y[:2000]
    )
    result = evaluate(model.predict_dist(X[2000:]), y[2000:])
    assert result.ecpe < 2.5 * result.floor.ecpe
