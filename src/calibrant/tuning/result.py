"""What a search found, and whether it is more than noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from scipy.stats import t

from calibrant.estimators import NetworkRegressor
from calibrant.experiments import duration
from calibrant.experiments.estimates import Estimate

if TYPE_CHECKING:
    import optuna

_LEVEL = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class TuningResult:
    """Result of `tune`; ``print`` shows it in words.

    Attributes
    ----------
    params : dict
        For ``set_params``: what differs from the model that was tuned, empty if nothing lower was
        found.
    crps, default_crps : float
        Mean CRPS of the held-out rows with these parameters, and with the model's own.
    difference : Estimate
        Mean of ``crps - default_crps`` over the folds, with the standard error of Nadeau and
        Bengio (2003), which allows for folds that share training rows.
    trials, pruned : int
        Trials with all folds, and those that were given up after some of them.
    seconds : float
        Of all trials, those of earlier runs included.
    study : optuna.Study
    model : estimator or None
        Fitted to all rows with `params`; None with ``refit=False``.
    """

    params: dict[str, Any]
    crps: float
    default_crps: float
    difference: Estimate
    trials: int
    pruned: int
    seconds: float
    study: optuna.Study
    model: NetworkRegressor | None = None

    @property
    def clearly_better(self) -> bool:
        """Whether the gain is more than the best of so many trials would have by chance.

        A t-test over the folds at 5%, divided by the number of trials that were compared.
        """
        error = self.difference.std_error
        if not self.params or error is None:
            return False
        tried = max(1, self.trials + self.pruned - 1)
        quantile = float(t.ppf(1.0 - _LEVEL / tried, self.difference.trials - 1))
        return self.difference.mean < -quantile * error

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        if not self.params:
            return "Nothing better than the settings it started from was found: keep them."
        gain = 1.0 - self.crps / self.default_crps
        found = f"CRPS {self.crps:.4g} instead of {self.default_crps:.4g} ({gain:.1%} less)"
        if self.clearly_better:
            return f"{found}: more than the best of so many trials would have by chance."
        return (
            f"{found}: within the noise of the folds. The settings it started from may be as good "
            "on new rows."
        )

    def __str__(self) -> str:
        settings = [f"  {name} = {value}" for name, value in self.params.items()]
        counts = f"{self.trials} trials and {self.pruned} given up early"
        lines = [f"{counts}, {duration(self.seconds)}", *settings, *wrap(self.verdict, 80)]
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        error = self.difference.std_error
        return {
            "params": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.params.items()
            },
            "crps": self.crps,
            "default_crps": self.default_crps,
            "difference": self.difference.mean,
            "std_error": error if error is not None and math.isfinite(error) else None,
            "clearly_better": self.clearly_better,
            "trials": self.trials,
            "pruned": self.pruned,
            "seconds": self.seconds,
            "verdict": self.verdict,
        }
