"""Estimators: one file per method, and the parts that they are composed of."""

from calibrant.estimators.base import NetworkRegressor
from calibrant.estimators.batched_fit import fit_batched
from calibrant.estimators.budget import training_seconds
from calibrant.estimators.deep_ensemble import DeepEnsembleRegressor
from calibrant.estimators.deep_gp import DeepGPRegressor
from calibrant.estimators.ensemble_likelihood import EnsembleLikelihoodRegressor
from calibrant.estimators.heteroscedastic import HeteroscedasticRegressor
from calibrant.estimators.laplace import LaplaceRegressor
from calibrant.estimators.mc_dropout import MCDropoutRegressor
from calibrant.estimators.mc_dropout_likelihood import MCDropoutLikelihoodRegressor
from calibrant.estimators.mmd import MMDRegressor
from calibrant.estimators.multi_output import MultiOutput
from calibrant.estimators.parameters import Ensemble, Matching, Training
from calibrant.estimators.pipeline import DistributionPipeline, make_pipeline
from calibrant.estimators.plan import Plan
from calibrant.estimators.predictor import Predictor
from calibrant.estimators.presets import PRESETS, Quality, limited_epochs
from calibrant.estimators.quantile import QuantileNetworkRegressor
from calibrant.estimators.splits import inner_split
from calibrant.estimators.windows import Windows

__all__ = [
    "PRESETS",
    "DeepEnsembleRegressor",
    "DeepGPRegressor",
    "DistributionPipeline",
    "Ensemble",
    "EnsembleLikelihoodRegressor",
    "HeteroscedasticRegressor",
    "LaplaceRegressor",
    "MCDropoutLikelihoodRegressor",
    "MCDropoutRegressor",
    "MMDRegressor",
    "Matching",
    "MultiOutput",
    "NetworkRegressor",
    "Plan",
    "Predictor",
    "Quality",
    "QuantileNetworkRegressor",
    "Training",
    "Windows",
    "fit_batched",
    "inner_split",
    "limited_epochs",
    "make_pipeline",
    "training_seconds",
]
