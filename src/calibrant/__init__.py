"""Calibrated probabilistic regression and forecasting with neural networks."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from calibrant import persistence

if TYPE_CHECKING:
    from calibrant.estimators import DeepEnsembleRegressor as DeepEnsembleRegressor
    from calibrant.estimators import DeepGPRegressor as DeepGPRegressor
    from calibrant.estimators import EnsembleLikelihoodRegressor as EnsembleLikelihoodRegressor
    from calibrant.estimators import HeteroscedasticRegressor as HeteroscedasticRegressor
    from calibrant.estimators import LaplaceRegressor as LaplaceRegressor
    from calibrant.estimators import MCDropoutLikelihoodRegressor as MCDropoutLikelihoodRegressor
    from calibrant.estimators import MCDropoutRegressor as MCDropoutRegressor
    from calibrant.estimators import MMDRegressor as MMDRegressor
    from calibrant.estimators import QuantileNetworkRegressor as QuantileNetworkRegressor
    from calibrant.estimators import load_model as load_model
    from calibrant.losses import DistributionMatchingLoss as DistributionMatchingLoss
    from calibrant.metrics import calibration_test as calibration_test
    from calibrant.metrics import evaluate as evaluate
    from calibrant.metrics import noise_floor as noise_floor
    from calibrant.recalibration import ConformalRecalibrator as ConformalRecalibrator
    from calibrant.recalibration import IsotonicRecalibrator as IsotonicRecalibrator

try:
    __version__ = version("calibrant")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

# Public names are imported when first used, so that `import calibrant` and `calibrant --help`
# do not wait for torch.
_ROOMS = {
    "estimators": (
        "DeepEnsembleRegressor",
        "DeepGPRegressor",
        "EnsembleLikelihoodRegressor",
        "HeteroscedasticRegressor",
        "LaplaceRegressor",
        "MCDropoutLikelihoodRegressor",
        "MCDropoutRegressor",
        "MMDRegressor",
        "QuantileNetworkRegressor",
        "load_model",
    ),
    "losses": ("DistributionMatchingLoss",),
    "metrics": ("calibration_test", "evaluate", "noise_floor"),
    "recalibration": ("ConformalRecalibrator", "IsotonicRecalibrator"),
}
_HOME = {name: f"calibrant.{room}" for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


def _find_saved(name: object) -> type[Any] | None:
    """Class that a model folder may hold: a public one of these two rooms, and no other."""
    if name in _ROOMS["estimators"] or name in _ROOMS["recalibration"]:
        found = __getattr__(str(name))
        return found if isinstance(found, type) else None
    return None


persistence.find_class = _find_saved
