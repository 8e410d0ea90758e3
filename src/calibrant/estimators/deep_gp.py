"""Deep Gaussian process with doubly stochastic variational inference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import numpy as np
import torch
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor

from calibrant.distributions import Distribution
from calibrant.errors import MissingDependencyError, ParameterError
from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators._moments import equal_mixture
from calibrant.estimators._validation import Sample
from calibrant.networks import DistributionNetwork, MemberNetworks, to_numpy
from calibrant.training import Rows, Stage

if TYPE_CHECKING:
    from calibrant.networks.deep_gp import DeepGaussianProcess

_WIDEST = 10  # width of hidden layers that "auto" does not exceed
_VALIDATION_SAMPLES = 8  # enough to compare epochs, and an epoch is not mostly validation


@dataclass(kw_only=True, repr=False, eq=False)
class DeepGPRegressor(NetworkRegressor):
    """Deep Gaussian process, doubly stochastic inference (Salimbeni and Deisenroth 2017).

    Layers of Gaussian processes, each seen through inducing points, end in Gaussian noise of
    one variance for all rows. Training maximises the evidence lower bound on mini-batches with
    samples drawn through the layers; the prediction is the mixture over such samples. Needs
    GPyTorch: ``pip install calibrant[gp]``.

    Parameters
    ----------
    inducing : int, default 128
        Inducing points of each layer. They start at the k-means centres of the inputs; with
        fewer different rows than that, at the rows.
    hidden_layers : int, default 2
        Layers below the output layer, as in the paper; 0 is a sparse Gaussian process.
    hidden_dims : int or "auto", default "auto"
        Width of the hidden layers; "auto" is the number of inputs, at most 10.
    training_samples : int, default 1
        Samples through the layers in a training step.
    prediction_samples : int, default 32
        Components of the predictive mixture.
    lr : float, default 1e-2
    weight_decay : float, default 0
        A Gaussian process is regularised by its prior.

    Attributes
    ----------
    n_inducing_ : float
        Inducing points in use: `inducing`, or the number of different training rows.

    Notes
    -----
    1. `fit` maximises ``mean_i w_i E_q log N(y_i; f_i, noise) - KL / n``, the KL divergence
       summed over layers, and keeps the epoch whose mixture has the best likelihood on the
       held-out rows.
    2. `predict_dist` sends samples with fixed noise through the layers, the same for all rows.

    All other parameters are those of `HeteroscedasticRegressor`, `beta` excepted; `hidden` has
    no effect, and `network` and `dropout` must stay at their defaults. The ``aleatoric`` part
    of a prediction is the likelihood's noise, the rest is ``epistemic``. All steps of a sequence
    are one row of inputs.
    """

    lr: float = 1e-2
    weight_decay: float = 0.0
    inducing: int = 128
    hidden_layers: int = 2
    hidden_dims: int | Literal["auto"] = "auto"
    training_samples: int = 1
    prediction_samples: int = 32

    if TYPE_CHECKING:
        n_inducing_: float

    _numbers: ClassVar[tuple[str, ...]] = ("n_inducing_",)
    _reads_sequences: ClassVar[bool] = False
    _batched: ClassVar[bool] = False

    def _n_answers(self) -> int:
        return self.prediction_samples

    def _scaled(self, samples: Sequence[Sample], *, shuffled: bool = True) -> list[Rows]:
        self.n_inducing_ = float(min(self.inducing, len(np.unique(samples[0].x, axis=0))))
        return super()._scaled(samples, shuffled=shuffled)

    def _build(self, seeds: Sequence[int]) -> list[DistributionNetwork]:
        process = _deep_gaussian_process()
        torch.manual_seed(seeds[0])
        n_inputs = self._n_inputs()
        width = min(n_inputs, _WIDEST) if self.hidden_dims == "auto" else self.hidden_dims
        network = process(n_inputs, [width] * self.hidden_layers, int(self.n_inducing_))
        # What `MemberNetworks` asks of a single network it has: head, output and weights.
        return [cast(DistributionNetwork, network)]

    def _initialise(self, networks: Sequence[DistributionNetwork], rows: Rows) -> None:
        points = _inducing_points(rows, int(self.n_inducing_))
        process = cast("DeepGaussianProcess", networks[0])
        process.to(rows.y.device).start_at(points, rows.x, *rows.target_moments())

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        loss = partial(_negative_elbo, samples=self.training_samples, n_rows=len(lots[0].y))
        score = partial(_mixture_nll, samples=min(self.prediction_samples, _VALIDATION_SAMPLES))
        # The score's fixed noise comes from the host.
        return [replace(self._one_stage(lots, loss, score), recordable=("loss",))]

    def _forward(self, network: MemberNetworks, x: Tensor) -> Tensor:
        return _process(network).outputs(x, self.prediction_samples)

    def _answer(self, outputs: Tensor) -> Distribution:
        mixture = equal_mixture(self._make_head(), outputs)
        noise = float(_process(self.module_).noise)
        return mixture.with_epistemic(mixture.variance - noise)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.inducing < 1 or self.training_samples < 1 or self.prediction_samples < 1:
            raise ParameterError(
                "inducing, training_samples and prediction_samples must be at least 1, got "
                f"{self.inducing}, {self.training_samples} and {self.prediction_samples}."
            )
        if self.hidden_layers < 0:
            raise ParameterError(f"hidden_layers must be at least 0, got {self.hidden_layers}.")
        if self.hidden_dims != "auto" and not (
            isinstance(self.hidden_dims, int | np.integer) and self.hidden_dims >= 1
        ):
            raise ParameterError(
                f'hidden_dims must be "auto" or a width of at least 1, got {self.hidden_dims!r}.'
            )
        if self.network != "mlp" or self.dropout:
            raise ParameterError(
                "DeepGPRegressor is made of Gaussian processes: leave network and dropout at their "
                f"defaults, got {self.network!r} and {self.dropout}."
            )


def _deep_gaussian_process() -> type[DeepGaussianProcess]:
    """Import what needs GPyTorch, or say how to get it."""
    try:
        from calibrant.networks.deep_gp import DeepGaussianProcess
    except ImportError as error:
        raise MissingDependencyError(
            "DeepGPRegressor needs GPyTorch, which can't be imported here. Install it with: "
            "pip install calibrant[gp]"
        ) from error
    return DeepGaussianProcess


def _process(network: MemberNetworks) -> DeepGaussianProcess:
    return cast("DeepGaussianProcess", network.single)


def _inducing_points(rows: Rows, count: int) -> Tensor:
    """Centres of the scaled inputs, (count, d), or the different rows if there are no more."""
    x = rows.x.cpu().numpy()
    different = np.unique(x, axis=0)
    if len(different) <= count:
        points = different[np.arange(count) % len(different)]
    else:
        seed = int(torch.randint(np.iinfo(np.int32).max, ()))
        means = MiniBatchKMeans(count, n_init=1, random_state=seed)
        points = means.fit(x, sample_weight=to_numpy(rows.weight)).cluster_centers_
    return torch.as_tensor(points, dtype=rows.x.dtype, device=rows.x.device)


def _negative_elbo(network: MemberNetworks, rows: Rows, *, samples: int, n_rows: int) -> Tensor:
    x, y, weight = rows.x[0], rows.y[0], rows.weight[0]
    return -_process(network).elbo(x, y, weight, samples=samples, n_rows=n_rows)[None]


def _mixture_nll(network: MemberNetworks, rows: Rows, *, samples: int) -> Tensor:
    outputs = _process(network).outputs(rows.x, samples)  # (S, n, 2)
    log_probs = network.head.torch_distribution(outputs).log_prob(rows.y)
    log_prob = log_probs.logsumexp(dim=0) - math.log(samples)
    return -(rows.weight * log_prob).mean()[None]
