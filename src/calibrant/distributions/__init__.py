"""Predictive distributions: the central object of the library.

Every estimator returns one, every metric, plot and recalibration consumes one, and none of
them asks which model made it.
"""

from calibrant.distributions._base import Distribution
from calibrant.distributions._monotone import MonotoneMap
from calibrant.distributions._row_maps import RowMaps
from calibrant.distributions.affine import Affine
from calibrant.distributions.clipped import Clipped
from calibrant.distributions.empirical import Empirical
from calibrant.distributions.mixture import Mixture
from calibrant.distributions.normal import Normal
from calibrant.distributions.predictor import DistributionPredictor
from calibrant.distributions.quantiles import Quantiles
from calibrant.distributions.recalibrated import Recalibrated
from calibrant.distributions.snapped import Snapped
from calibrant.distributions.stacked import Stacked, concatenate
from calibrant.distributions.warped import Warped

__all__ = [
    "Affine",
    "Clipped",
    "Distribution",
    "DistributionPredictor",
    "Empirical",
    "Mixture",
    "MonotoneMap",
    "Normal",
    "Quantiles",
    "Recalibrated",
    "RowMaps",
    "Snapped",
    "Stacked",
    "Warped",
    "concatenate",
]
