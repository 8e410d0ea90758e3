"""Monte-Carlo dropout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from calibrant.distributions import Distribution, Normal
from calibrant.errors import ParameterError
from calibrant.estimators._objectives import mean_nll
from calibrant.estimators._spread import SpreadRegressor, normal_of_points
from calibrant.estimators._validation import Sample
from calibrant.networks import MemberNetworks
from calibrant.training import Rows, Stage

PASS_SEED = 0  # which units the passes drop; fixed, so that a prediction is always the same
_LEAST_NOISE = 0.01  # of the squared error on held-out rows


@dataclass(kw_only=True, repr=False, eq=False)
class MCDropoutRegressor(SpreadRegressor):
    """Squared-error network whose dropout stays on at prediction (Gal and Ghahramani 2016).

    The mean over passes is the prediction, their variance the epistemic uncertainty.

    Parameters
    ----------
    dropout : float, default 0.3
        Share of hidden units dropped, in training and in every pass.
    passes : int, default 100
        Monte-Carlo passes at prediction.
    noise : {"residual", "none"}, default "residual"
        "residual" adds the variance of the target around the prediction, estimated on the
        held-out rows: what an interval for the target needs. "none" is the Gaussian of the
        passes alone, as published: an interval for the network's mean, far too narrow for the
        target.
    head : {"point", "mixture"}, default "point"
        With "mixture" the network is trained by likelihood, the prediction is the mixture of all
        passes, and its noise is in it: `noise` has no say.
    components : int, default 5
        Gaussians of the mixture.

    Attributes
    ----------
    noise_ : float
        Variance of the noise in units of the scaled target.

    Notes
    -----
    All other parameters are those of `HeteroscedasticRegressor`, `beta` excepted. With noise the
    distributions know their ``aleatoric`` and ``epistemic`` parts.
    """

    dropout: float = 0.3
    passes: int = 100
    noise: Literal["residual", "none"] = "residual"

    if TYPE_CHECKING:
        noise_: float

    _numbers: ClassVar[tuple[str, ...]] = ("noise_",)

    def _n_answers(self) -> int:
        return self.passes

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        return [self._one_stage(lots, mean_nll, mean_nll)]

    def _forward(self, network: MemberNetworks, x: Tensor) -> Tensor:
        return network.passes(x, self.passes, PASS_SEED)

    def _answer(self, outputs: Tensor) -> Distribution:
        if self.head == "mixture":
            return super()._answer(outputs)
        passes = normal_of_points(outputs)
        total = Normal(passes.loc, np.sqrt(passes.variance + self.noise_))
        return total.with_epistemic(passes.variance)

    def _learn(self, train: Sample, held_out: Sample) -> None:
        self.noise_ = 0.0  # until it is known
        if self.noise == "none" or self.head == "mixture":
            return
        dist = self._raw_distribution(held_out.x)
        unit = float(self.target_scaler_.scale) ** 2
        error = np.average((held_out.y - dist.mean) ** 2, weights=held_out.weight) / unit
        known = np.average(dist.variance, weights=held_out.weight) / unit
        self.noise_ = float(max(error - known, _LEAST_NOISE * error))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_passes(self.passes)
        if self.noise not in ("residual", "none"):
            raise ParameterError(f'noise must be "residual" or "none", got {self.noise!r}.')


def check_passes(passes: int) -> None:
    """Complain about fewer passes than have a variance."""
    if passes < 2:
        raise ParameterError(f"passes must be at least 2, got {passes}.")
