"""The settings that a search tries, around those that a model has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.estimators import NetworkRegressor

if TYPE_CHECKING:
    import optuna

_OWN = "own"
# Positive numbers, searched on a log scale from one part to this many times the model's own.
_FACTORS = {"lr": 10.0, "matching__lr": 4.0, "ensemble__periodic": 5.0}
# Other values than the model's own, by the text that Optuna stores.
_CHOICES: dict[str, dict[str, Any]] = {
    "hidden": {
        "64-64": (64, 64),
        "128-128": (128, 128),
        "512-512": (512, 512),
        "256-256-256": (256, 256, 256),
    },
    "dropout": {"0.05": 0.05, "0.1": 0.1, "0.2": 0.2},
    "batch_size": {"32": 32, "64": 64, "256": 256},
    "components": {"1": 1, "3": 3, "10": 10},
    "training__weight_decay": {"1e-5": 1e-5, "1e-4": 1e-4, "1e-3": 1e-3, "1e-2": 1e-2},
}


def search_space(trial: optuna.Trial, model: NetworkRegressor) -> dict[str, Any]:
    """Suggest parameters for ``model.set_params``: learning rate, widths, regularisation ...

    Numbers are factors of the model's own value, other parameters a choice that includes it: what
    a trial leaves as it is does not appear in the result. A factor of 1 and "own" everywhere is
    the model itself, see `own_settings`.

    Parameters
    ----------
    trial : optuna.Trial
    model : network method
        Not fitted; only its parameters are read.

    Examples
    --------
    >>> from optuna.trial import FixedTrial
    >>> from calibrant import HeteroscedasticRegressor
    >>> from calibrant.tuning import own_settings, search_space
    >>> model = HeteroscedasticRegressor()
    >>> chosen = own_settings(model) | {"lr": 0.5, "hidden": "64-64"}
    >>> search_space(FixedTrial(chosen), model)
    {'lr': 0.0005, 'hidden': (64, 64)}
    """
    found: dict[str, Any] = {}
    own = model.resolved_params()
    for name in _factors(model):
        limit = _FACTORS[name]
        factor = trial.suggest_float(name, 1.0 / limit, limit, log=True)
        if factor != 1.0:
            found[name] = float(f"{own[name] * factor:.3g}")
    for name in _choices(model):
        others = [text for text, value in _CHOICES[name].items() if value != own[name]]
        choice = trial.suggest_categorical(name, [_OWN, *others])
        if choice != _OWN:
            found[name] = _CHOICES[name][choice]
    return found


def own_settings(model: NetworkRegressor) -> dict[str, Any]:
    """Return what Optuna has to suggest so that `search_space` changes nothing."""
    return dict.fromkeys(_factors(model), 1.0) | dict.fromkeys(_choices(model), _OWN)


def single_changes(model: NetworkRegressor) -> list[dict[str, Any]]:
    """Return suggestions that change one parameter each, to begin with.

    Around defaults that are good already they tell more than settings drawn at random.
    """
    own = model.resolved_params()
    changes: list[dict[str, Any]] = [{name: f} for name in _factors(model) for f in (0.5, 2.0)]
    for name in _choices(model):
        others = [text for text, value in _CHOICES[name].items() if value != own[name]]
        changes.append({name: others[len(others) // 2]})
    return [own_settings(model) | change for change in changes]


def _factors(model: NetworkRegressor) -> list[str]:
    own = model.resolved_params()
    # `MMDRegressor` trains with its first rate for a few epochs only.
    left_out = {"lr"} if "matching__lr" in own else set()
    return [name for name in _FACTORS if name not in left_out and own.get(name)]


def _choices(model: NetworkRegressor) -> list[str]:
    own = model.resolved_params()
    left_out = set() if own.get("network") == "mlp" else {"hidden"}
    return [name for name in _CHOICES if name in own and name not in left_out]
