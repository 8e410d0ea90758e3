"""The methods of the library by the names that the command line uses.

Names only: help, completion and ``import calibrant`` must not wait for torch.
"""

from __future__ import annotations

# Name on the command line -> class in `calibrant.estimators`. A new method is one line here.
METHODS = {
    "mmd": "MMDRegressor",
    "heteroscedastic": "HeteroscedasticRegressor",
    "deep-ensemble": "DeepEnsembleRegressor",
    "ell": "EnsembleLikelihoodRegressor",
    "quantile": "QuantileNetworkRegressor",
    "laplace": "LaplaceRegressor",
    "dgp": "DeepGPRegressor",
    "mc-dropout": "MCDropoutRegressor",
    "mc-nll": "MCDropoutLikelihoodRegressor",
}
