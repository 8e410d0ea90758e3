"""Training objectives: likelihoods, scoring rules and distribution matching."""

from calibrant.losses.condition import Match
from calibrant.losses.likelihood import negative_log_likelihood
from calibrant.losses.matching import DistributionMatchingLoss, Expectation, Statistic
from calibrant.losses.scores import crps, kernel_score

__all__ = [
    "DistributionMatchingLoss",
    "Expectation",
    "Match",
    "Statistic",
    "crps",
    "kernel_score",
    "negative_log_likelihood",
]
