"""Calibrated probabilistic regression and forecasting with neural networks."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.estimators import HeteroscedasticRegressor, MMDRegressor, load_model
    from calibrant.losses import DistributionMatchingLoss
    from calibrant.metrics import calibration_test, evaluate, noise_floor

try:
    __version__ = version("calibrant")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

# Public names are imported when first used, so that `import calibrant` and `calibrant --help`
# do not wait for torch.
_HOME = {
    "DistributionMatchingLoss": "calibrant.losses",
    "HeteroscedasticRegressor": "calibrant.estimators",
    "MMDRegressor": "calibrant.estimators",
    "load_model": "calibrant.estimators",
    "calibration_test": "calibrant.metrics",
    "evaluate": "calibrant.metrics",
    "noise_floor": "calibrant.metrics",
}

__all__ = [
    "DistributionMatchingLoss",
    "HeteroscedasticRegressor",
    "MMDRegressor",
    "__version__",
    "calibration_test",
    "evaluate",
    "load_model",
    "noise_floor",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
