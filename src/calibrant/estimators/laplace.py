"""Last-layer Laplace approximation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from scipy.optimize import brentq
from torch import Tensor

from calibrant.checks import Array
from calibrant.distributions import Distribution, Normal
from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.plan import Plan, Recipe
from calibrant.estimators.predictor import Predictor
from calibrant.networks import GaussianHead, MemberNetworks, Networks, only_kind, to_numpy
from calibrant.persistence import savable_model, savable_part
from calibrant.training import Rows, Stage

_LEAST_WEIGHTS = 1e-12  # lower bound of the squared norm of the last layer
_LOG_PRECISIONS = (-60.0, 60.0)


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class LaplaceRegressor(BodyParameters, NetworkRegressor):
    """Heteroscedastic network with a Laplace approximation of its last layer.

    The network is trained as `HeteroscedasticRegressor`. Its mean is linear in the inputs ``phi``
    of the last layer (including a constant), with weights ``w``. Their posterior is the Gaussian of
    Bayesian linear regression with the predicted noise,

        N(w, A^-1),   A = sum_i phi_i phi_i' / sigma_i^2 + alpha I,

    the Laplace approximation of the last layer. The predictive variance of a row is
    ``sigma^2 + phi' A^-1 phi``, aleatoric plus epistemic; the epistemic part grows with the
    distance from the training rows.

    Notes
    -----
    The alpha with the largest marginal likelihood solves
    ``alpha |w|^2 = sum_j l_j / (l_j + alpha)``, where ``l_j`` are the eigenvalues of A without its
    prior, and the right side is the number of well-determined weights (MacKay 1992). All other
    parameters are those of `HeteroscedasticRegressor`, except `components` and `mc_passes`.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import LaplaceRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(200)
    >>> model = LaplaceRegressor(random_state=0).fit(X, y)
    >>> near, far = model.predict_dist([[0.0], [10.0]]).epistemic
    >>> bool(far > 10 * near)
    True
    """

    _reads_streams: ClassVar[bool] = False

    def _recipe(self, data: FitData) -> Recipe:
        network = self._spec(GaussianHead())
        return Recipe(network=network, stages=self._stages, calibrate=add_posterior)

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        return [self._likelihood_stage(rows)]


@savable_part
@dataclass(frozen=True, eq=False)
class LastLayerPosterior:
    """Normal distributions whose variance includes the uncertainty of the last layer.

    Parameters
    ----------
    prior_precision : float
        The alpha with the largest marginal likelihood.
    root : array of shape (k + 1, k + 1)
        R with ``R R' = A^-1`` in units of the scaled target; its last row belongs to the constant.
    """

    prior_precision: float
    root: Array

    def n_answers(self, networks: Networks) -> int:
        """One."""
        return 1

    def __call__(self, networks: Networks, x: Tensor) -> Distribution:
        """Normal distributions with their epistemic part."""
        features, outputs = _features(only_kind(networks), x)
        root = torch.as_tensor(self.root).to(features)
        epistemic = to_numpy((features @ root).square().sum(dim=-1))
        network = GaussianHead().distribution(outputs)
        total = Normal(network.loc, np.sqrt(network.variance + epistemic))
        return total.with_epistemic(epistemic)


@torch.no_grad()
def add_posterior(plan: Plan, predictor: Predictor) -> Predictor:
    """Compute the posterior of the last layer from the training rows."""
    network, train = only_kind(predictor.precise), plan.sample
    last = network.single.output
    weight = torch.as_tensor(train.weight / train.weight.mean()).to(last.weight)
    parts = [
        _information(network, inputs, weight[rows]) for rows, inputs in predictor.batches(train.x)
    ]
    information = torch.stack(parts).sum(dim=0)
    eigenvalues, vectors = np.linalg.eigh(to_numpy(information))
    eigenvalues = np.maximum(eigenvalues, 0.0)  # rounding may make them negative
    squares = float(last.weight[0].square().sum() + last.bias[0].square())
    alpha = _prior_precision(eigenvalues, squares)
    posterior = LastLayerPosterior(alpha, vectors / np.sqrt(eigenvalues + alpha))
    return replace(predictor, combine=posterior)


def _features(network: MemberNetworks, x: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs of the last layer with the constant, (n, k + 1), and its outputs, (n, 2)."""
    features = network.single.body(x)
    constant = torch.ones_like(features[:, :1])
    return torch.cat([features, constant], dim=1), network.single.output(features)


def _information(network: MemberNetworks, x: Tensor, weight: Tensor) -> Tensor:
    """``sum_i w_i phi_i phi_i' / sigma_i^2``, (k + 1, k + 1)."""
    features, outputs = _features(network, x)
    scale = GaussianHead().torch_distribution(outputs).scale
    design = features * (weight.sqrt() / scale)[:, None]
    return design.mT @ design


def _prior_precision(eigenvalues: Array, squares: float) -> float:
    """Alpha with the largest marginal likelihood of the last layer; `squares` is ``|w|^2``."""

    def gap(log_alpha: float) -> float:  # strictly decreasing, with one root
        alpha = math.exp(log_alpha)
        determined = float(np.sum(eigenvalues / (eigenvalues + alpha)))
        return determined - alpha * max(squares, _LEAST_WEIGHTS)

    return math.exp(brentq(gap, *_LOG_PRECISIONS))
