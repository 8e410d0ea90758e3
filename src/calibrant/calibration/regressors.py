"""Regressors with ``fit`` and ``predict``, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import check_is_fitted

from calibrant.checks import Array, count_rows, take_rows
from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.recalibration.models import Prediction, check_length

Ask = Callable[[Any, Any], Prediction]  # from a fitted model and X to what it predicts
_PROBED = 4  # calibration rows whose predictions must stay the same


def is_fitted(model: Any) -> bool:
    """Whether a model is fitted, as it says itself or as scikit-learn sees it."""
    if callable(own := getattr(model, "is_fitted", None)):  # CatBoost
        return bool(own())
    if not hasattr(model, "fit"):
        return True
    try:
        check_is_fitted(model)
    except SklearnNotFittedError:
        return False
    except TypeError:  # no estimator of scikit-learn
        return True
    return True


@dataclass(frozen=True)
class ModelSource:
    """A fitted model, what to ask it, and a few rows to notice if it has changed.

    Parameters
    ----------
    model : fitted model
    ask : callable
        From the model and X to points, (n,), or distributions.
    probe : (inputs, array) or None
        Some rows, and a number that the model predicted for each.
    """

    model: Any
    ask: Ask
    probe: tuple[Any, Array] | None = None

    def predict(self, X: Any) -> Prediction:
        """Return what the model predicts, after a look whether it is still the same model."""
        if self.probe is not None:
            rows, before = self.probe
            now = medians(self.ask(self.model, rows))
            if not np.allclose(now, before, rtol=1e-4, atol=1e-6 * (1e-300 + np.ptp(before))):
                raise ParameterError(
                    f"The {type(self.model).__name__} has changed since it was calibrated: it "
                    f"predicts {now[0]:g} for a row for which it predicted {before[0]:g}. "
                    "Calibrate it again, or calibrate a copy (copy.deepcopy) that nobody refits."
                )
        return check_length(self.ask(self.model, X), X)

    def with_probe(self, X: Any, prediction: Prediction) -> Self:
        """Remember the predictions of the first rows."""
        rows = np.arange(min(_PROBED, count_rows(X)))
        probe = take_rows(X, rows), medians(prediction[rows])
        return type(self)(self.model, self.ask, probe)


def medians(prediction: Prediction) -> Array:
    """Return the medians of distributions, and points as they are, (n,)."""
    return prediction.median if isinstance(prediction, Distribution) else prediction
