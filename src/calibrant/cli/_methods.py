"""The methods that ``calibrant fit`` knows.

Names only: the help and the completion of ``--method`` must not wait for torch.
"""

from __future__ import annotations

# Name on the command line -> class in `calibrant.estimators`.
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
