"""Parameters in groups: what scikit-learn sees of them, and which values are allowed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from calibrant import Ensemble, HeteroscedasticRegressor, Matching, MMDRegressor, Training
from calibrant.errors import ParameterError
from calibrant.estimators.parameters import check_parameters

TINY = {"hidden": (4,), "epochs": 1, "random_state": 0, "device": "cpu", "quality": "fast"}


def make_data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, X[:, 0]


@pytest.mark.parametrize("matching", [None, Matching(lr=0.5)])
def test_fields_of_a_group_are_nested_parameters(matching: Matching | None) -> None:
    parameters = MMDRegressor(matching=matching).get_params()
    assert parameters["matching"] is matching
    assert parameters["matching__lr"] == (matching.lr if matching else None)
    assert parameters["matching__score_weight"] == 1.0
    assert parameters["training__patience"] == 20
    shallow = MMDRegressor(matching=matching).get_params(deep=False)
    assert not [name for name in shallow if "__" in name]


def test_setting_a_field_makes_the_group() -> None:
    model = MMDRegressor().set_params(matching__lr=0.25, lr=0.5)
    assert (model.matching, model.lr) == (Matching(lr=0.25), 0.5)
    assert model.ensemble is None
    assert model.set_params(matching__epochs=3).matching == Matching(lr=0.25, epochs=3)
    with pytest.raises(ValueError, match="Invalid parameter 'rate'"):
        model.set_params(matching__rate=1.0)


def test_a_group_that_two_estimators_share_is_not_changed_by_one_of_them() -> None:
    shared = Training(patience=7)
    first, second = MMDRegressor(training=shared), HeteroscedasticRegressor(training=shared)
    first.set_params(training__patience=3)
    assert (shared.patience, second.training.patience, first.training.patience) == (7, 7, 3)


def test_clones_have_groups_of_their_own() -> None:
    model = MMDRegressor(matching=Matching(lr=0.25), ensemble=Ensemble(folds=3))
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.matching is not model.matching
    assert twin.training is None


def test_a_grid_search_tunes_a_field() -> None:
    X, y = make_data()
    model = MMDRegressor(**TINY)
    search = GridSearchCV(model, {"matching__lr": [1e-4, 1e-2]}, cv=2).fit(X, y)
    assert search.best_estimator_.matching.lr == search.best_params_["matching__lr"]
    first, second = search.cv_results_["mean_test_score"]
    assert first != second  # the field reaches the training
    assert model.matching is None


def test_groups_are_saved(tmp_path) -> None:
    matching = Matching(epochs=1, bandwidths=(0.5, 1.0), match=None)
    model = MMDRegressor(**TINY, matching=matching, training=Training(scaling="minmax"))
    model.fit(*make_data()).save(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert (again.matching, again.ensemble) == (matching, None)


def test_resolved_parameters_are_those_that_none_stands_for() -> None:
    model = MMDRegressor(network="lstm", quality="best").set_params(matching__lr=0.5)
    resolved = model.resolved_params()
    assert resolved.keys() == model.get_params().keys() - {"matching", "ensemble", "training"}
    assert (resolved["matching__lr"], resolved["matching__epochs"]) == (0.5, 400)
    assert (resolved["ensemble__folds"], resolved["components"]) == (4, 5)
    assert resolved["dropout"] == 0.1  # of the network, not of the quality


def test_each_class_adds_to_the_constraints_of_its_bases_or_replaces_them() -> None:
    check_parameters(MMDRegressor(epochs=None))  # which other methods need
    with pytest.raises(ParameterError, match="'epochs' parameter of HeteroscedasticRegressor"):
        check_parameters(HeteroscedasticRegressor(epochs=None))
    for model in (MMDRegressor(lr=-1.0), HeteroscedasticRegressor(lr=-1.0)):
        with pytest.raises(ParameterError, match="'lr' parameter"):
            check_parameters(model)
    with pytest.raises(ParameterError, match=r"'folds' parameter of Ensemble .* Got -1"):
        check_parameters(MMDRegressor(ensemble=Ensemble(folds=-1)))


def test_all_parameters_can_be_set_back() -> None:
    model = MMDRegressor(training=Training(patience=3))
    again = MMDRegressor().set_params(**model.get_params())
    assert again.training.patience == 3
    assert again.matching is None
    assert again.training is not model.training
    again.set_params(matching=None, matching__lr=0.5)
    assert again.matching.lr == 0.5
    with pytest.raises(ValueError, match="Invalid parameter 'speed'"):
        MMDRegressor().set_params(matching__speed=None)
