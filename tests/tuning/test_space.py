from __future__ import annotations

import optuna
import pytest

from calibrant import estimators
from calibrant.estimators import HeteroscedasticRegressor, MMDRegressor
from calibrant.methods import METHODS
from calibrant.tuning import own_settings, search_space, single_changes


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_space_whose_centre_is_the_method_itself(name: str) -> None:
    model = getattr(estimators, METHODS[name])()
    fixed = optuna.trial.FixedTrial(own_settings(model))
    assert search_space(fixed, model) == {}
    for change in single_changes(model):
        params = search_space(optuna.trial.FixedTrial(change), model)
        assert len(params) == 1
        model.set_params(**params)  # names that the method knows


def test_numbers_are_factors_of_the_models_own() -> None:
    model = MMDRegressor().set_params(matching__lr=0.01)
    chosen = own_settings(model) | {"matching__lr": 0.5, "batch_size": "64"}
    found = search_space(optuna.trial.FixedTrial(chosen), model)
    assert found == {"matching__lr": 0.005, "batch_size": 64}
    assert "lr" not in chosen  # two epochs of likelihood do not matter


def test_a_value_that_the_model_has_is_not_offered_twice() -> None:
    study = optuna.create_study()
    trial = study.ask()
    search_space(trial, HeteroscedasticRegressor(dropout=0.1))
    assert trial.distributions["dropout"].choices == ("own", "0.05", "0.2")


def test_widths_are_for_plain_networks() -> None:
    assert "hidden" in own_settings(HeteroscedasticRegressor())
    assert "hidden" not in own_settings(HeteroscedasticRegressor(network="lstm"))
