"""Deep ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import torch
from sklearn.utils._param_validation import StrOptions
from torch import Tensor

from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.combine import MatchedMoments, WeightedMixture
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.objectives import mean_nll
from calibrant.estimators.parameters import Constraints, count, non_negative
from calibrant.estimators.plan import Recipe
from calibrant.networks import MemberNetworks, gaussian_head
from calibrant.persistence import savable_model
from calibrant.training import Rows, Stage


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class DeepEnsembleRegressor(BodyParameters, NetworkRegressor):
    """Deep ensemble of heteroscedastic networks (Lakshminarayanan et al. 2017).

    The members differ in initialisation and order of batches. They are trained independently, as
    one batched program, and each keeps its own best epoch.

    Parameters
    ----------
    members : int, default 5
    combine : {"moments", "mixture"}, default "moments"
        Predict one normal with the mean and variance of the mixture (as published), or the
        mixture.
    adversarial : float, default 0
        Also train on inputs moved by this share of their range in the direction that increases
        the loss most; 0.01 in the original paper, 0 turns it off.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`. The distributions have
    ``aleatoric`` (mean of the members' variances) and ``epistemic`` (variance of their means)
    parts.
    """

    members: int = 5
    combine: Literal["moments", "mixture"] = "moments"
    adversarial: float = 0.0
    components: int = 1

    _parameter_constraints: ClassVar[Constraints] = {
        "members": [count()],
        "combine": [StrOptions({"moments", "mixture"})],
        "adversarial": [non_negative()],
        "components": [count()],
    }

    def _recipe(self, data: FitData) -> Recipe:
        return Recipe(
            network=self._spec(gaussian_head(self.components)),
            stages=self._stages,
            members=self.members,
            combine=MatchedMoments() if self.combine == "moments" else WeightedMixture(),
        )

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        stage = self._likelihood_stage(rows)
        if self.adversarial:
            loss = partial(adversarial_nll, beta=self._training.beta, reach=self.adversarial)
            stage = replace(stage, loss=loss)
        return [stage]


def adversarial_nll(network: MemberNetworks, rows: Rows, beta: float, reach: float) -> Tensor:
    """Mean of `mean_nll` at the inputs and at adversarial inputs, (M,).

    Parameters
    ----------
    reach : float
        How far inputs are moved, as a share of their range.
    """
    x = rows.x.detach().requires_grad_()
    loss = mean_nll(network, rows._replace(inputs=x), beta)
    (grad,) = torch.autograd.grad(loss.sum(), x, retain_graph=True)
    # The range within the batch approximates that of the data.
    along = rows.y.ndim - 1
    spread = rows.x.amax(dim=along, keepdim=True) - rows.x.amin(dim=along, keepdim=True)
    moved = rows.x + reach * spread * grad.sign()
    return 0.5 * (loss + mean_nll(network, rows._replace(inputs=moved), beta))
