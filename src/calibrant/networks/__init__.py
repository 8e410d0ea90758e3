"""Networks and the heads that turn their outputs into distributions."""

from calibrant.networks.batch_ensemble import BatchEnsembleMLP
from calibrant.networks.deep_gp_spec import DeepGPSpec
from calibrant.networks.direct import DirectNetwork
from calibrant.networks.direct_shape import DirectShape, WindowBatch
from calibrant.networks.distribution_network import DistributionNetwork
from calibrant.networks.embeddings import PeriodicEmbedding
from calibrant.networks.heads import (
    GaussianHead,
    Head,
    MixtureHead,
    PointHead,
    gaussian_head,
    to_numpy,
)
from calibrant.networks.kinds import NetworkKinds, Networks, join_kinds, only_kind
from calibrant.networks.members import MemberNetworks, Precision
from calibrant.networks.mlp import MLP
from calibrant.networks.named_inputs import InputShapes, NamedInputs, widths
from calibrant.networks.quantiles import LogisticSpline, QuantileHead
from calibrant.networks.recurrent import Recurrent
from calibrant.networks.spec import NetworkSpec

__all__ = [
    "MLP",
    "BatchEnsembleMLP",
    "DeepGPSpec",
    "DirectNetwork",
    "DirectShape",
    "DistributionNetwork",
    "GaussianHead",
    "Head",
    "InputShapes",
    "LogisticSpline",
    "MemberNetworks",
    "MixtureHead",
    "NamedInputs",
    "NetworkKinds",
    "NetworkSpec",
    "Networks",
    "PeriodicEmbedding",
    "PointHead",
    "Precision",
    "QuantileHead",
    "Recurrent",
    "WindowBatch",
    "gaussian_head",
    "join_kinds",
    "only_kind",
    "to_numpy",
    "widths",
]
