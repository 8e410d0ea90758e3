"""Calibration of any model that predicts: networks, regressors, quantile models, predictions."""

from calibrant.calibration.answers import as_distribution
from calibrant.calibration.any_model import calibrate
from calibrant.calibration.calibrated_model import CalibratedModel

__all__ = ["CalibratedModel", "as_distribution", "calibrate"]
