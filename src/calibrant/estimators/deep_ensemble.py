"""Deep ensembles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.estimators._moments import equal_mixture, matched_moments
from calibrant.estimators.heteroscedastic import HeteroscedasticRegressor
from calibrant.networks import MemberNetworks
from calibrant.training import Rows, Slope


@dataclass(kw_only=True, repr=False, eq=False)
class DeepEnsembleRegressor(HeteroscedasticRegressor):
    """M heteroscedastic networks, each trained on its own (Lakshminarayanan et al. 2017).

    The members differ by initialisation and order of batches; they train as one batch and each
    stops at its own best epoch.

    Parameters
    ----------
    members : int, default 5
    combine : {"moments", "mixture"}, default "moments"
        One normal with the mean and the variance of the mixture (as published), or the mixture.
    adversarial : float, default 0
        Also train on inputs moved by this share of their range in the direction that raises
        the loss most; 0.01 in the original paper, 0 leaves it out.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`. The distributions know their
    ``aleatoric`` (mean of the members' variances) and ``epistemic`` (variance of their means)
    parts.
    """

    members: int = 5
    combine: Literal["moments", "mixture"] = "moments"
    adversarial: float = 0.0

    def _n_members(self) -> int:
        return self.members

    def _answer(self, outputs: Tensor) -> Distribution:
        join = matched_moments if self.combine == "moments" else equal_mixture
        return join(self._make_head(), outputs)

    def _slope(self) -> Slope | None:
        return None if self.adversarial else super()._slope()

    def _likelihood(self, network: MemberNetworks, rows: Rows) -> Tensor:
        if self.adversarial == 0:
            return super()._likelihood(network, rows)
        x = rows.x.detach().requires_grad_()
        loss = super()._likelihood(network, rows._replace(inputs=x))
        (slope,) = torch.autograd.grad(loss.sum(), x, retain_graph=True)
        # The range within the batch stands for that of the data: both differ little.
        along = rows.y.ndim - 1
        reach = rows.x.amax(dim=along, keepdim=True) - rows.x.amin(dim=along, keepdim=True)
        moved = rows.x + self.adversarial * reach * slope.sign()
        return 0.5 * (loss + super()._likelihood(network, rows._replace(inputs=moved)))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.members < 1:
            raise ParameterError(f"members must be at least 1, got {self.members}.")
        if self.combine not in ("moments", "mixture"):
            raise ParameterError(f'combine must be "moments" or "mixture", got {self.combine!r}.')
        if self.adversarial < 0:
            raise ParameterError(f"adversarial must be >= 0, got {self.adversarial}.")
