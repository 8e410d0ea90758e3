"""Every method of the library, small and quick: for tests of the contract, not of quality."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from calibrant import estimators
from calibrant.estimators import Ensemble, Matching, NetworkRegressor
from calibrant.methods import METHODS

QUICK: dict[str, Any] = {"hidden": (16,), "epochs": 5, "random_state": 0, "device": "cpu"}
# What else makes a method small. A new method needs an entry only where it is slow without.
SMALLER: dict[str, dict[str, Any]] = {
    "mmd": {"matching": Matching(epochs=3), "ensemble": Ensemble(members=1, kinds=("relu",))},
    "deep-ensemble": {"members": 2},
    "ell": {"members": 3},
    "dgp": {"inducing": 16, "prediction_samples": 8},
    "mc-dropout": {"passes": 8},
    "mc-nll": {"passes": 8, "training_passes": 4},
}


def small(name: str) -> Callable[..., NetworkRegressor]:
    """Constructor of a small model of a method, by its name on the command line."""
    cls = getattr(estimators, METHODS[name])
    has_layers = "hidden" in cls().get_params()

    def make(**settings: Any) -> NetworkRegressor:
        kept = {key: value for key, value in settings.items() if key != "hidden" or has_layers}
        return cls(**SMALLER.get(name, {}) | kept)

    return make


VARIANTS = {
    "mixture": partial(small("heteroscedastic"), components=3),
    "mc-heteroscedastic": partial(small("heteroscedastic"), dropout=0.1, mc_passes=5),
    "mixed-ensemble": partial(small("deep-ensemble"), combine="mixture", adversarial=0.01),
    "mmd-mixture": partial(small("mmd"), components=2, ensemble=Ensemble(members=1)),
}
ESTIMATORS = {name: small(name) for name in METHODS} | VARIANTS
# Names for fixtures; ``-m "not slow"`` leaves out the variants and the slowest method.
NAMES = [
    pytest.param(name, marks=pytest.mark.slow if name in {"dgp", *VARIANTS} else ())
    for name in ESTIMATORS
]
