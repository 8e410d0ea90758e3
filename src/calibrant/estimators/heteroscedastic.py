"""Heteroscedastic regression by likelihood: stage 1 alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.estimators._base import NetworkRegressor
from calibrant.estimators._moments import matched_moments
from calibrant.estimators._objectives import (
    check_beta,
    mean_crps,
    mean_nll,
    normal_slope,
    pit_values,
)
from calibrant.estimators.mc_dropout import PASS_SEED, check_passes
from calibrant.networks import GaussianHead, Head, MemberNetworks, MixtureHead
from calibrant.training import Rows, Slope, Stage


@dataclass(kw_only=True, repr=False, eq=False)
class HeteroscedasticRegressor(NetworkRegressor):
    """Network that predicts a mean and a variance for every row (HNN in the paper).

    Stage 1 of the paper: Gaussian negative log-likelihood in its stable form, early stopping
    on held-out rows, the best weights kept.

    Parameters
    ----------
    beta : float, default 0.5
        Safeguard against a collapsing variance: each row is weighted by its predicted variance
        to this power, held constant (beta-NLL). 0 is the plain likelihood of the paper.
    head : {"gaussian", "mixture"}, default "gaussian"
        One Gaussian a row, or a mixture of them where one can't be calibrated.
    components : int, default 5
        Gaussians of the mixture.
    mc_passes : int, default 0
        With `dropout` > 0: Monte-Carlo passes at prediction. The prediction becomes the normal
        of their matched moments and knows its ``aleatoric`` (mean of the variances) and
        ``epistemic`` (variance of the means) parts.
    network : {"mlp", "lstm", "gru"} or nn.Module, default "mlp"
        "lstm" and "gru" read sequences, (n, steps, d); the "mlp" reads rows, or all steps of a
        sequence at once. A module of your own maps (n, d) or (n, steps, d) to features (n, k);
        it is copied and gets a head.
    hidden : sequence of int or None
        Widths of the layers of a network of ours; None is (256, 256) for the "mlp" and (128, 64)
        for "lstm" and "gru".
    epochs : int, default 200
        Most passes over the training rows.
    batch_size : int or "auto", default "auto"
        "auto" is 256, less on small data.
    lr, weight_decay : float
        Learning rate and L2 penalty of Adam.
    patience : int, default 20
        Epochs without a better validation score after which training ends.
    validation_fraction : float, default 0.2
        Share of the training rows held out, where `fit` gets neither validation rows nor `cv`.
    dropout : float or None
        Share of the hidden units dropped in a training step; recurrent layers drop the same ones
        in all steps of a sequence. None is 0 for the "mlp" and 0.1 for "lstm" and "gru". A module
        of your own brings its own.
    periodic : float, "auto" or None
        Scale of the learned frequencies through which the "mlp" sees its inputs
        (`calibrant.networks.PeriodicEmbedding`); None or 0 shows it the numbers alone, "auto" is
        0.1.
    scaling : {"standard", "minmax"}
        How inputs and target are scaled, always on training rows alone.
    bounds : (low, high) or None
        Limits of the target, None where there is none; ``(0, None)`` keeps every quantile at or
        above 0.
    missing : {"error", "impute"}
        What a gap in X is: an error, or the training median with a flag column.
    device : str, default "auto"
        "auto" takes a CUDA GPU where there is one.
    random_state : int, RandomState or None
        Same seed, same machine, same result; but for last digits where other programs crowd it.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    module_ : MemberNetworks
        The trained network; ``module_.single`` is the plain nn.Module of one.
    history_ : list of dict
        One record an epoch: stage, epoch, train_loss, validation_score, score_name, best.
    n_features_in_ : int
    n_steps_ : int or None
        Length of the sequences, None after a table.
    feature_names_in_ : array of str
        Only where X was a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import HeteroscedasticRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> y = X[:, 0] + (0.1 + 0.2 * (X[:, 0] > 0)) * rng.standard_normal(200)
    >>> model = HeteroscedasticRegressor(random_state=0).fit(X, y)
    >>> model.predict_interval(X, coverage=[0.5, 0.9]).shape
    (200, 2, 2)
    """

    beta: float = 0.5
    head: Literal["gaussian", "mixture"] = "gaussian"
    components: int = 5
    mc_passes: int = 0

    def _make_head(self) -> Head:
        if self._setting("head") == "mixture":
            return MixtureHead(self.components)
        return GaussianHead()

    def _n_answers(self) -> int:
        return self.mc_passes or self._n_members()

    def _forward(self, network: MemberNetworks, x: Tensor) -> Tensor:
        if self.mc_passes:
            return network.passes(x, self.mc_passes, PASS_SEED)
        return super()._forward(network, x)

    def _answer(self, outputs: Tensor) -> Distribution:
        return (
            matched_moments(self._make_head(), outputs)
            if self.mc_passes
            else super()._answer(outputs)
        )

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        stage = self._one_stage(lots, self._likelihood, mean_nll, pit=pit_values)
        return [replace(stage, crps=mean_crps, slope=self._slope())]

    def _slope(self) -> Slope | None:
        """`_likelihood` with its slope, where a row has one Gaussian; of mixtures None."""
        is_normal = self._setting("head") == "gaussian"
        return partial(normal_slope, beta=self.beta) if is_normal else None

    def _likelihood(self, network: MemberNetworks, rows: Rows) -> Tensor:
        return mean_nll(network, rows, self.beta)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._setting("head") not in ("gaussian", "mixture"):
            raise ParameterError(f'head must be "gaussian" or "mixture", got {self.head!r}.')
        if self.components < 1:
            raise ParameterError(f"components must be at least 1, got {self.components}.")
        if self.mc_passes:
            check_passes(self.mc_passes)
            if self._dropout() == 0 and isinstance(self.network, str):
                raise ParameterError(f"mc_passes need dropout > 0, got dropout={self.dropout}.")
        check_beta(self.beta)
