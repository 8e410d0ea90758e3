"""Networks and the heads that turn their outputs into distributions."""

from calibrant.networks.deep_gp_spec import DeepGPSpec
from calibrant.networks.distribution_network import (
    DistributionNetwork,
    disable_embedding,
    hide_inputs,
)
from calibrant.networks.embeddings import InputGate, PeriodicEmbedding
from calibrant.networks.heads import (
    GaussianHead,
    Head,
    MixtureHead,
    PointHead,
    gaussian_head,
    to_numpy,
)
from calibrant.networks.members import MemberNetworks
from calibrant.networks.mlp import MLP
from calibrant.networks.quantiles import LogisticSpline, QuantileHead
from calibrant.networks.recurrent import Recurrent
from calibrant.networks.spec import NetworkSpec

__all__ = [
    "MLP",
    "DeepGPSpec",
    "DistributionNetwork",
    "GaussianHead",
    "Head",
    "InputGate",
    "LogisticSpline",
    "MemberNetworks",
    "MixtureHead",
    "NetworkSpec",
    "PeriodicEmbedding",
    "PointHead",
    "QuantileHead",
    "Recurrent",
    "disable_embedding",
    "gaussian_head",
    "hide_inputs",
    "to_numpy",
]
