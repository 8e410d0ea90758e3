"""Deep Gaussian process with doubly stochastic variational inference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from torch import Tensor

from calibrant.distributions import Distribution
from calibrant.estimators.base import NetworkRegressor
from calibrant.estimators.combine import equal_mixture
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.parameters import Constraints, count
from calibrant.estimators.plan import Recipe
from calibrant.networks import DeepGPSpec, MemberNetworks, Networks, only_kind
from calibrant.persistence import savable_model, savable_part
from calibrant.training import Rows, Stage

if TYPE_CHECKING:
    from calibrant.networks.deep_gp import DeepGaussianProcess

_VALIDATION_SAMPLES = 8  # enough to compare epochs, and cheap beside the training


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class DeepGPRegressor(NetworkRegressor):
    """Deep Gaussian process with doubly stochastic inference (Salimbeni and Deisenroth 2017).

    Layers of sparse Gaussian processes with inducing points, and Gaussian noise with the same
    variance for all rows. Training maximises the evidence lower bound on mini-batches with samples
    drawn through the layers; the prediction is the mixture over such samples. Needs GPyTorch:
    ``pip install calibrant[gp]``.

    Parameters
    ----------
    inducing : int, default 128
        Inducing points of each layer. They start at the k-means centres of the inputs, or at the
        distinct rows if there are fewer of them.
    hidden_layers : int, default 2
        Layers below the output layer, as in the paper; 0 is a sparse Gaussian process.
    hidden_dims : int or None
        Width of the hidden layers; None is the number of inputs, at most 10.
    training_samples : int, default 1
        Samples drawn through the layers in a training step.
    prediction_samples : int, default 32
        Components of the predictive mixture.
    lr : float, default 1e-2

    Notes
    -----
    1. `fit` maximises ``mean_i w_i E_q log N(y_i; f_i, noise) - KL / n``, the KL divergence
       summed over layers, and keeps the epoch whose mixture has the best likelihood on the
       held-out rows.
    2. `predict_dist` draws samples through the layers with fixed noise, the same for all rows.

    Epochs, batch size, `training` (without weight decay: a Gaussian process is regularised by its
    prior), bounds, device and seed are as in `HeteroscedasticRegressor`. The ``aleatoric`` part
    of a prediction is the noise of the likelihood, the rest is ``epistemic``. Sequences are
    flattened.
    """

    lr: float = 1e-2
    inducing: int = 128
    hidden_layers: int = 2
    hidden_dims: int | None = None
    training_samples: int = 1
    prediction_samples: int = 32

    _reads_sequences: ClassVar[bool] = False
    _reads_streams: ClassVar[bool] = False
    _parameter_constraints: ClassVar[Constraints] = {
        "inducing": [count()],
        "hidden_layers": [count(0)],
        "hidden_dims": [count(), None],
        "training_samples": [count()],
        "prediction_samples": [count()],
    }

    def _recipe(self, data: FitData) -> Recipe:
        return Recipe(
            network=DeepGPSpec(
                inducing=self.inducing,
                hidden_layers=self.hidden_layers,
                hidden_dims=self.hidden_dims,
            ),
            stages=self._stages,
            combine=ProcessSamples(self.prediction_samples),
        )

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        loss = partial(_negative_elbo, samples=self.training_samples, n_rows=len(rows.y))
        score = partial(_mixture_nll, samples=min(self.prediction_samples, _VALIDATION_SAMPLES))
        # The fixed noise of the score comes from the host, which a CUDA graph can't capture.
        return [self._stage(rows, loss, score, weight_decay=0.0, recordable=("loss",))]


@savable_part
@dataclass(frozen=True)
class ProcessSamples:
    """Mixture over samples drawn through the layers with fixed noise."""

    samples: int

    def n_answers(self, networks: Networks) -> int:
        """Samples."""
        return self.samples

    def __call__(self, networks: Networks, x: Tensor) -> Distribution:
        """Mixtures whose aleatoric part is the noise of the likelihood."""
        process = _process(only_kind(networks))
        mixture = equal_mixture(networks.head, process.outputs(x, self.samples))
        return mixture.with_epistemic(mixture.variance - float(process.noise))


def _process(network: MemberNetworks) -> DeepGaussianProcess:
    return cast("DeepGaussianProcess", network.single)


def _negative_elbo(network: MemberNetworks, rows: Rows, *, samples: int, n_rows: int) -> Tensor:
    x, y, weight = rows.x[0], rows.y[0], rows.weight[0]
    return -_process(network).elbo(x, y, weight, samples=samples, n_rows=n_rows)[None]


def _mixture_nll(network: MemberNetworks, rows: Rows, *, samples: int) -> Tensor:
    outputs = _process(network).outputs(rows.x, samples)  # (S, n, 2)
    log_probs = network.head.torch_distribution(outputs).log_prob(rows.y)
    log_prob = log_probs.logsumexp(dim=0) - math.log(samples)
    return -(rows.weight * log_prob).mean()[None]
