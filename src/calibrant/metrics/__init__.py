"""Metrics of a forecast: functions of a predictive distribution and the observed targets.

`evaluate` computes all of them, with the noise floor and a verdict; `METRICS` lists them.

A metric takes ``dist``, a `Distribution` of n rows, and ``y``, the observed targets as an array of
shape (n,) or (n, 1). On atoms (samples, bounds, a discrete target) PIT values are random, and
calibration errors are means over 20 draws.

Words, here and everywhere in the package: ``coverage=`` is the share of targets that a central
interval should cover, ``alpha=`` the level of a quantile. In results ``coverage`` is the share that
was covered, and ``level`` the nominal one.
"""

from calibrant.metrics.accuracy import mae, r2, rmse, rse, smape
from calibrant.metrics.calibration import (
    LEVELS,
    coverage,
    ecpe,
    mcpe,
    pit,
    quantile_calibration,
    quantile_calibration_error,
)
from calibrant.metrics.conditional import (
    calibration_by_bins,
    calibration_by_group,
    worst_group_coverage,
)
from calibrant.metrics.decisions import (
    CostCheck,
    RiskCoverage,
    cost_check,
    reject,
    risk_coverage,
)
from calibrant.metrics.evaluation import evaluate
from calibrant.metrics.evaluation_result import Evaluation
from calibrant.metrics.floor import NoiseFloor, noise_floor
from calibrant.metrics.group_result import GroupCalibration, WorstGroup
from calibrant.metrics.joint_evaluation import JointEvaluation, JointScore
from calibrant.metrics.joint_scores import energy_score, variogram_score
from calibrant.metrics.paired import ScoreDifference, compare_scores
from calibrant.metrics.quantile_pass import QuantileSummary
from calibrant.metrics.registry import METRICS, Floor, Metric
from calibrant.metrics.row_values import RowValues
from calibrant.metrics.scorers import Scorer, crps_scorer, get_scorer
from calibrant.metrics.scoring import crps, interval_score, nll, pinball
from calibrant.metrics.sharpness import epiw, mean_width, mpiw
from calibrant.metrics.significance import CalibrationTest, calibration_test
from calibrant.metrics.slices import Slice
from calibrant.metrics.streamed_evaluation import StreamedEvaluation

__all__ = [
    "LEVELS",
    "METRICS",
    "CalibrationTest",
    "CostCheck",
    "Evaluation",
    "Floor",
    "GroupCalibration",
    "JointEvaluation",
    "JointScore",
    "Metric",
    "NoiseFloor",
    "QuantileSummary",
    "RiskCoverage",
    "RowValues",
    "ScoreDifference",
    "Scorer",
    "Slice",
    "StreamedEvaluation",
    "WorstGroup",
    "calibration_by_bins",
    "calibration_by_group",
    "calibration_test",
    "compare_scores",
    "cost_check",
    "coverage",
    "crps",
    "crps_scorer",
    "ecpe",
    "energy_score",
    "epiw",
    "evaluate",
    "get_scorer",
    "interval_score",
    "mae",
    "mcpe",
    "mean_width",
    "mpiw",
    "nll",
    "noise_floor",
    "pinball",
    "pit",
    "quantile_calibration",
    "quantile_calibration_error",
    "r2",
    "reject",
    "risk_coverage",
    "rmse",
    "rse",
    "smape",
    "variogram_score",
    "worst_group_coverage",
]
