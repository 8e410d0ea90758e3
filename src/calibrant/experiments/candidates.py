"""The methods that `compare` tries, by names that `calibrant fit` understands.

A method of this library is called as on the command line, with its options: ``mmd --quality
best``. The others are references: a naive baseline, and trees that a user could choose instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from calibrant.errors import MissingDependencyError, ParameterError
from calibrant.experiments.methods import METHODS as PAPER
from calibrant.experiments.methods import Method, get_method, missing_packages
from calibrant.methods import METHODS

BASELINE = "baseline"
_TREES = ("lightgbm-crepes", "catboost", "ngboost", "quantile-forest")
_REQUIRES = {"dgp": ("gpytorch",)}
_BUDGET = re.compile(r"mmd --minutes (\d+|\d*\.\d+)")

CANDIDATES: dict[str, Method] = {
    BASELINE: Method(
        "the distribution of the training targets, whatever the inputs",
        "MarginalBaseline",
        "rival",
        batched=False,
    ),
    "boosted-trees": Method(
        "boosted trees of scikit-learn, conformal",
        "ConformalBoostedTrees",
        "rival",
        quick={"n_estimators": 10},
        batched=False,
    ),
    **{key: PAPER[key] for key in _TREES},
    **{
        name: Method(
            estimator,
            estimator,
            "library",
            quick={"matching__epochs": 1} if name == "mmd" else {},
            requires=_REQUIRES.get(name, ()),
            batched=name not in _REQUIRES,
        )
        for name, estimator in METHODS.items()
    },
    **{
        f"mmd --quality {quality}": Method(
            f"MMDRegressor, {quality} quality",
            "MMDRegressor",
            "library",
            quick={"matching__epochs": 1},
            always={"quality": quality},
        )
        for quality in ("fast", "best")
    },
}

REFERENCES = tuple(name for name, method in CANDIDATES.items() if method.role == "rival")


def candidate(name: str) -> Method:
    """Look up a method by its name; ``mmd --minutes 0.25`` is known for every budget."""
    if found := _BUDGET.fullmatch(name):
        seconds = 60.0 * float(found[1])
        always = {"time_budget": seconds}
        return Method(f"MMDRegressor, {seconds:g} s", "MMDRegressor", "library", always=always)
    return get_method(name, CANDIDATES)


def fit_options(name: str) -> str | None:
    """Options of ``calibrant fit`` for a method; None for what it can't fit.

    Examples
    --------
    >>> fit_options("mmd --quality best"), fit_options("ngboost")
    ('--method mmd --quality best', None)
    """
    method, *options = name.split(" ", 1)
    return " ".join([f"--method {method}", *options]) if method in METHODS else None


def chosen_methods(names: Sequence[str] | None) -> list[str]:
    """Methods to compare, the baseline first; by default all whose packages are installed."""
    if names is None:
        return [name for name in CANDIDATES if not missing_packages(CANDIDATES[name])]
    if not names:
        raise ParameterError("methods must name at least one method.")
    for name in names:
        if missing := missing_packages(candidate(name)):
            raise MissingDependencyError(
                f"{name} needs {' and '.join(missing)}: pip install {' '.join(missing)}."
            )
    return list(dict.fromkeys([BASELINE, *names]))
