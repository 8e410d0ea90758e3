"""Networks and the heads that turn their outputs into distributions."""

from calibrant.networks.distribution_network import (
    DistributionNetwork,
    build_network,
    close_gates,
    hide_inputs,
    own_dropout,
)
from calibrant.networks.embeddings import InputGate, PeriodicEmbedding
from calibrant.networks.heads import (
    GaussianHead,
    Head,
    MixtureHead,
    PointHead,
    scale_and_slope,
    to_numpy,
)
from calibrant.networks.members import MemberNetworks
from calibrant.networks.mlp import MLP
from calibrant.networks.perceptron_pass import PerceptronPass
from calibrant.networks.quantiles import LogisticLines, QuantileHead
from calibrant.networks.recurrent import Recurrent

__all__ = [
    "MLP",
    "DistributionNetwork",
    "GaussianHead",
    "Head",
    "InputGate",
    "LogisticLines",
    "MemberNetworks",
    "MixtureHead",
    "PerceptronPass",
    "PeriodicEmbedding",
    "PointHead",
    "QuantileHead",
    "Recurrent",
    "build_network",
    "close_gates",
    "hide_inputs",
    "own_dropout",
    "scale_and_slope",
    "to_numpy",
]
