"""The models that the demo compares, fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.datasets import Dataset, load
from calibrant.distributions import Distribution, Mixture
from calibrant.estimators import HeteroscedasticRegressor, Matching, MMDRegressor, NetworkRegressor

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from calibrant.cli._output import Messages

TRUTH = "truth (best possible)"


@dataclass(frozen=True, eq=False)
class Run:
    """Fitted models and their predictions of the test rows.

    Attributes
    ----------
    data : Dataset
    train_rows : int
    X : DataFrame of n test rows
    y : array of shape (n,)
    models : dict of name to fitted model
    forecasts : dict of name to Distribution of n rows, the truth last
    """

    data: Dataset
    train_rows: int
    X: pd.DataFrame
    y: NDArray[np.float64]
    models: dict[str, NetworkRegressor]
    forecasts: dict[str, Distribution]


def run_methods(*, quick: bool, seed: int, messages: Messages) -> Run:
    """Fit both methods to half of the data and predict the rest.

    The more test rows, the lower the noise floor: what is left of a calibration error shows.
    """
    data = load("skewed", n=2000 if quick else 10_000, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(data.frame))
    cut = len(order) // 2
    train, test = order[:cut], order[cut:]
    common: dict[str, Any] = {"random_state": seed, "verbose": messages.shows_progress}
    if quick:
        common["epochs"] = 30
    matching = Matching(epochs=20) if quick else None
    models: dict[str, NetworkRegressor] = {
        "HeteroscedasticRegressor": HeteroscedasticRegressor(**common),
        "MMDRegressor": MMDRegressor(**common, matching=matching),
    }
    X, y = data.X, data.y
    forecasts: dict[str, Distribution] = {}
    with messages.warnings_as_notes():
        for name, model in models.items():
            messages.say(f"{name} on {cut:,} rows")
            model.fit(X.iloc[train], y[train])
            forecasts[name] = model.predict_dist(X.iloc[test])
    assert data.truth is not None, "a synthetic set knows its truth"
    forecasts[TRUTH] = Mixture(**data.truth)[test]
    return Run(data, cut, X.iloc[test], y[test], models, forecasts)
