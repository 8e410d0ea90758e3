"""The methods, one file each, on one base."""

from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators._loading import load_model
from calibrant.estimators._together import fit_together
from calibrant.estimators._windows import Windows
from calibrant.estimators.deep_ensemble import DeepEnsembleRegressor
from calibrant.estimators.deep_gp import DeepGPRegressor
from calibrant.estimators.ensemble_likelihood import EnsembleLikelihoodRegressor
from calibrant.estimators.heteroscedastic import HeteroscedasticRegressor
from calibrant.estimators.laplace import LaplaceRegressor
from calibrant.estimators.mc_dropout import MCDropoutRegressor
from calibrant.estimators.mc_dropout_likelihood import MCDropoutLikelihoodRegressor
from calibrant.estimators.mmd import MMDRegressor
from calibrant.estimators.quantile import QuantileNetworkRegressor

__all__ = [
    "DeepEnsembleRegressor",
    "DeepGPRegressor",
    "EnsembleLikelihoodRegressor",
    "HeteroscedasticRegressor",
    "LaplaceRegressor",
    "MCDropoutLikelihoodRegressor",
    "MCDropoutRegressor",
    "MMDRegressor",
    "NetworkRegressor",
    "QuantileNetworkRegressor",
    "Windows",
    "fit_together",
    "load_model",
]
