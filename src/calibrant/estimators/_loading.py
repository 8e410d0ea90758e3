"""Load a model folder of any method."""

from __future__ import annotations

import os

from torch import nn

from calibrant.errors import ModelFileError
from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators.deep_ensemble import DeepEnsembleRegressor
from calibrant.estimators.deep_gp import DeepGPRegressor
from calibrant.estimators.ensemble_likelihood import EnsembleLikelihoodRegressor
from calibrant.estimators.heteroscedastic import HeteroscedasticRegressor
from calibrant.estimators.mc_dropout import MCDropoutRegressor
from calibrant.estimators.mc_dropout_likelihood import MCDropoutLikelihoodRegressor
from calibrant.estimators.mmd import MMDRegressor
from calibrant.persistence import read_model

# Only these classes are ever made from a file: a name in a manifest can't choose any other.
_METHODS: tuple[type[NetworkRegressor], ...] = (
    DeepEnsembleRegressor,
    DeepGPRegressor,
    EnsembleLikelihoodRegressor,
    HeteroscedasticRegressor,
    MCDropoutLikelihoodRegressor,
    MCDropoutRegressor,
    MMDRegressor,
)


def load_model(
    path: str | os.PathLike[str], *, network: nn.Module | None = None
) -> NetworkRegressor:
    """Load whatever method a model folder holds.

    Parameters
    ----------
    path : path
        Folder that ``save`` wrote.
    network : nn.Module, optional
        The user's own module, where the model was fitted with one.
    """
    name = read_model(path)[0].get("class")
    for method in _METHODS:
        if method.__name__ == name:
            return method.load(path, network=network)
    raise ModelFileError(f"{path} holds a {name!r}, which this version of calibrant does not know.")
