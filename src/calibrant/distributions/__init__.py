"""Predictive distributions, the central objects of the library.

Estimators return them; metrics, plots and recalibration take them without asking which model made
them.
"""

from calibrant.distributions._base import Distribution
from calibrant.distributions.clipped import Clipped
from calibrant.distributions.concatenated import Concatenated, concatenate
from calibrant.distributions.empirical import Empirical
from calibrant.distributions.joint import JointDistribution
from calibrant.distributions.mixture import Mixture
from calibrant.distributions.monotone_map import MonotoneMap
from calibrant.distributions.normal import Normal
from calibrant.distributions.predictor import DistributionPredictor
from calibrant.distributions.quantiles import Quantiles
from calibrant.distributions.recalibrated import Recalibrated
from calibrant.distributions.score_recalibrated import ScoreRecalibrated
from calibrant.distributions.with_atoms import WithAtoms

__all__ = [
    "Clipped",
    "Concatenated",
    "Distribution",
    "DistributionPredictor",
    "Empirical",
    "JointDistribution",
    "Mixture",
    "MonotoneMap",
    "Normal",
    "Quantiles",
    "Recalibrated",
    "ScoreRecalibrated",
    "WithAtoms",
    "concatenate",
]
