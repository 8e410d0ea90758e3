"""Heteroscedastic regression by likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from calibrant.errors import ParameterError
from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.combine import Combine, MatchedMoments, SingleNetwork
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.parameters import Constraints, count
from calibrant.estimators.plan import Recipe
from calibrant.networks import gaussian_head
from calibrant.persistence import savable_model
from calibrant.training import Rows, Stage


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class HeteroscedasticRegressor(BodyParameters, NetworkRegressor):
    """Network that predicts a mean and a variance for every row (HNN in the paper).

    It is trained by Gaussian likelihood, stage 1 of the paper, with early stopping on held-out
    rows; the best weights are kept.

    Parameters
    ----------
    components : int, default 1
        Gaussians per row: 1 is a mean and a variance, more are a mixture.
    mc_passes : int, default 0
        With `dropout` > 0, the number of Monte-Carlo passes at prediction. The prediction is then
        the normal with the moments of their mixture, with ``aleatoric`` (mean of the variances)
        and ``epistemic`` (variance of the means) parts.
    network : {"mlp", "lstm", "gru"} or nn.Module, default "mlp"
        "lstm" and "gru" read sequences, (n, steps, d); the "mlp" reads rows, or flattened
        sequences. Your own module maps (n, d) or (n, steps, d) to features (n, k); it is copied
        and gets a head. One with several inputs is called by their names, ``module(image=...,
        table=...)``, if X is a dict of arrays (n, ...).
    hidden : sequence of int or None
        Widths of the layers of a built-in network; None is (256, 256) for the "mlp" and (128, 64)
        for "lstm" and "gru".
    epochs : int, default 200
        Largest number of passes over the training rows.
    batch_size : int or "auto", default "auto"
        "auto" is 256, and fewer on small tables.
    lr : float, default 1e-3
        Learning rate of Adam.
    training : Training
        Patience, weight decay, `beta` of the likelihood, scaling and the fraction of rows held
        out.
    dropout : float or None
        Share of the hidden units dropped in a training step; recurrent layers drop the same ones
        in all steps of a sequence. None is 0 for the "mlp" and 0.1 for "lstm" and "gru". Ignored
        by your own module.
    bounds : (low, high) or None
        Bounds of the target, None on a side without one; ``(0, None)`` keeps every quantile at or
        above 0.
    device : str, default "auto"
        "auto" uses a CUDA GPU if there is one.
    random_state : int, RandomState or None
        The same seed on the same machine gives the same result, except for the last digits where
        a busy machine changes the number of threads.
    verbose : bool or str, default False
        Show a progress bar.

    Attributes
    ----------
    predictor_ : Predictor
        Result of `fit`: features, networks, and the steps from their outputs to a distribution.
    module_ : MemberNetworks
        The trained networks; of a single one, ``module_.single`` is the plain nn.Module.
    history_ : list of dict
        One record per epoch: stage, epoch, train_loss, validation_score, score_name, best.
    n_features_in_ : int
    n_steps_ : int or None
        Length of the sequences; None for a table.
    input_shapes_ : tuple of (name, shape of one row)
        The inputs of a dict; empty for a table or sequences.
    feature_names_in_ : array of str
        Only if X was a frame.

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

    components: int = 1
    mc_passes: int = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "components": [count()],
        "mc_passes": [count(0)],
    }

    def _recipe(self, data: FitData) -> Recipe:
        network = self._spec(gaussian_head(self.components))
        combine: Combine = SingleNetwork()
        if self.mc_passes:
            if self.mc_passes < 2 or (network.dropped == 0 and not network.is_custom):
                raise ParameterError(
                    "mc_passes must be 0 or at least 2 and need dropout > 0, got "
                    f"mc_passes={self.mc_passes} and dropout={self.dropout}."
                )
            combine = MatchedMoments(self.mc_passes)
        return Recipe(network=network, stages=self._stages, combine=combine)

    def _stages(self, rows: Rows) -> Sequence[Stage]:
        return [self._likelihood_stage(rows)]
