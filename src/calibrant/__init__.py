"""Calibrated probabilistic regression and forecasting with neural networks."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from calibrant.methods import METHODS

if TYPE_CHECKING:
    from calibrant.calibration import CalibratedModel as CalibratedModel
    from calibrant.calibration import calibrate as calibrate
    from calibrant.estimators import DeepEnsembleRegressor as DeepEnsembleRegressor
    from calibrant.estimators import DeepGPRegressor as DeepGPRegressor
    from calibrant.estimators import DistributionPipeline as DistributionPipeline
    from calibrant.estimators import Ensemble as Ensemble
    from calibrant.estimators import EnsembleLikelihoodRegressor as EnsembleLikelihoodRegressor
    from calibrant.estimators import HeteroscedasticRegressor as HeteroscedasticRegressor
    from calibrant.estimators import LaplaceRegressor as LaplaceRegressor
    from calibrant.estimators import Matching as Matching
    from calibrant.estimators import MCDropoutLikelihoodRegressor as MCDropoutLikelihoodRegressor
    from calibrant.estimators import MCDropoutRegressor as MCDropoutRegressor
    from calibrant.estimators import MMDRegressor as MMDRegressor
    from calibrant.estimators import MultiOutput as MultiOutput
    from calibrant.estimators import QuantileNetworkRegressor as QuantileNetworkRegressor
    from calibrant.estimators import Training as Training
    from calibrant.estimators import Windows as Windows
    from calibrant.estimators import make_pipeline as make_pipeline
    from calibrant.forecasting import Forecaster as Forecaster
    from calibrant.forecasting import GlobalNetwork as GlobalNetwork
    from calibrant.forecasting import backtest as backtest
    from calibrant.losses import DistributionMatchingLoss as DistributionMatchingLoss
    from calibrant.metrics import calibration_test as calibration_test
    from calibrant.metrics import evaluate as evaluate
    from calibrant.metrics import noise_floor as noise_floor
    from calibrant.metrics import reject as reject
    from calibrant.models import load_model as load_model
    from calibrant.recalibration import AdaptiveRecalibrator as AdaptiveRecalibrator
    from calibrant.recalibration import ConformalRecalibrator as ConformalRecalibrator
    from calibrant.recalibration import GroupRecalibrator as GroupRecalibrator
    from calibrant.recalibration import IsotonicRecalibrator as IsotonicRecalibrator
    from calibrant.recalibration import recalibrate as recalibrate
    from calibrant.report import build_report as build_report
    from calibrant.report import write_report as write_report
    from calibrant.streaming import evaluate_source as evaluate_source
    from calibrant.streaming import predict_parquet as predict_parquet
    from calibrant.tables import ArrowSource as ArrowSource
    from calibrant.tables import ParquetSource as ParquetSource

try:
    __version__ = version("calibrant")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

# Public names are imported when first used, so that `import calibrant` and `calibrant --help`
# do not wait for torch.
_ROOMS = {
    "calibration": ("CalibratedModel", "calibrate"),
    "estimators": (
        *METHODS.values(),
        *("DistributionPipeline", "Ensemble", "Matching", "MultiOutput", "Training", "Windows"),
        "make_pipeline",
    ),
    "forecasting": ("Forecaster", "GlobalNetwork", "backtest"),
    "losses": ("DistributionMatchingLoss",),
    "metrics": ("calibration_test", "evaluate", "noise_floor", "reject"),
    "models": ("load_model",),
    "recalibration": (
        "AdaptiveRecalibrator",
        "ConformalRecalibrator",
        "GroupRecalibrator",
        "IsotonicRecalibrator",
        "recalibrate",
    ),
    "report": ("build_report", "write_report"),
    "streaming": ("evaluate_source", "predict_parquet"),
    "tables": ("ArrowSource", "ParquetSource"),
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
