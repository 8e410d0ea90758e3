"""The methods, one file each, on one base."""

from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators._loading import load_model
from calibrant.estimators.heteroscedastic import HeteroscedasticRegressor
from calibrant.estimators.mmd import MMDRegressor

__all__ = ["HeteroscedasticRegressor", "MMDRegressor", "NetworkRegressor", "load_model"]
