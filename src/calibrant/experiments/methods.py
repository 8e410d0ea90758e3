"""The methods of the paper by key: which estimator with which settings.

Under the ``published`` protocol the baselines train as the paper says; under ``honest`` they train
as this library would, which is kinder to them. `mmd` is the library's default in both, and
`mmd-as-published` the paper's algorithm to the letter in both. A new row is one entry of `METHODS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from calibrant.errors import ParameterError

if TYPE_CHECKING:
    from calibrant.experiments.tasks import Protocol

# Section 4 of the paper; where it is silent, what its authors ran.
_PAPER = {
    "scaling": "minmax",
    "lr": 1e-4,
    "weight_decay": 1e-3,
    "batch_size": 1024,
    "epochs": 1000,
    "patience": 50,
}
_PAPER_HNN = _PAPER | {"beta": 0.0, "dropout": 0.0}
# A smoke test: every line of code runs, no figure means anything.
_QUICK: dict[str, Any] = {"epochs": 2, "patience": 2}


@dataclass(frozen=True)
class Method:
    """One row of the tables.

    Attributes
    ----------
    title : str
    estimator : str
        Class in `calibrant.estimators`, of a rival in `calibrant.experiments.rivals`.
    role : {"ours", "baseline", "rival"}
        What the paper proposes, what it compares with, and what a user may take instead.
    published : mapping
        Its settings under the published protocol, besides the library's defaults.
    quick : mapping
        Its settings in a quick run, besides fewer epochs.
    always : mapping
        Its settings under every protocol.
    constructor : str
        Class method that makes it; empty for the class itself.
    reads_windows : bool
        Series go through an LSTM; otherwise the steps of a window are one row of inputs.
    recalibrated : bool
        Isotonic recalibration on held-out training rows follows.
    requires : tuple of str
        Optional packages that it needs.
    batched : bool
        Several trials can train as one batch, which is how they run on a GPU.
    """

    title: str
    estimator: str
    role: Literal["ours", "baseline", "rival"] = "baseline"
    published: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    constructor: str = ""
    reads_windows: bool = True
    recalibrated: bool = False
    requires: tuple[str, ...] = ()
    batched: bool = True


METHODS = {
    "mcd": Method(
        "MC-Dropout",
        "MCDropoutRegressor",
        published=_PAPER | {"noise": "none"},
        quick={"passes": 10},
    ),
    "hnn": Method("heteroscedastic network", "HeteroscedasticRegressor", published=_PAPER_HNN),
    "deep-ens": Method("deep ensemble", "DeepEnsembleRegressor", published=_PAPER_HNN),
    "mc-nll": Method(
        "MC-Dropout likelihood",
        "MCDropoutLikelihoodRegressor",
        published=_PAPER,
        quick={"passes": 10, "training_passes": 2},
    ),
    "ell": Method(
        "ensemble likelihood", "EnsembleLikelihoodRegressor", published=_PAPER | {"dropout": 0.0}
    ),
    "dgp": Method(
        "deep Gaussian process",
        "DeepGPRegressor",
        quick={"inducing": 8, "prediction_samples": 4, "hidden_layers": 1},
        reads_windows=False,
        requires=("gpytorch",),
        batched=False,
    ),
    "isr": Method(
        "isotonic recalibration of hnn",
        "HeteroscedasticRegressor",
        published=_PAPER_HNN,
        recalibrated=True,
    ),
    "mmd": Method(
        "MMD, this library's default", "MMDRegressor", "ours", quick={"matching_epochs": 1}
    ),
    "mmd-best": Method(
        "MMD, eight networks, cross-fitted",
        "MMDRegressor",
        "ours",
        quick={"matching_epochs": 1},
        always={"quality": "best"},
    ),
    "mmd-as-published": Method(
        "MMD, Algorithm 1 to the letter",
        "MMDRegressor",
        "ours",
        quick={"matching_epochs": 1},
        constructor="as_published",
    ),
    "ngboost": Method(
        "NGBoost, normal",
        "NGBoostNormal",
        "rival",
        quick={"n_estimators": 10},
        requires=("ngboost",),
        batched=False,
    ),
    "catboost": Method(
        "CatBoost, RMSEWithUncertainty",
        "CatBoostNormal",
        "rival",
        quick={"n_estimators": 10},
        requires=("catboost",),
        batched=False,
    ),
    "lightgbm-crepes": Method(
        "LightGBM with crepes, normalised",
        "ConformalLightGBM",
        "rival",
        quick={"n_estimators": 10},
        requires=("lightgbm", "crepes"),
        batched=False,
    ),
    "quantile-forest": Method(
        "quantile forest",
        "QuantileForest",
        "rival",
        quick={"n_estimators": 10},
        requires=("quantile-forest",),
        batched=False,
    ),
}


DEPTHS = (1, 2, 3, 4, 5)


def _deeper(key: str, layers: int) -> Method:
    """Give a method that many hidden layers: of 256 units, or of Gaussian processes."""
    depth = {"hidden_layers": layers} if key == "dgp" else {"hidden": (256,) * layers}
    return replace(METHODS[key], title=f"{METHODS[key].title}, {layers} layers", always=depth)


# Training time and calibration against the number of hidden layers, on wine.
DEPTH_STUDY = {
    f"{key}-depth{layers}": _deeper(key, layers)
    for key in ("dgp", "deep-ens", "ell", "mmd")
    for layers in DEPTHS
}


def method_of(key: str) -> Method:
    """Look a method up, one of the depth study too."""
    known = METHODS | DEPTH_STUDY
    if key not in known:
        raise ParameterError(f"Unknown method {key!r}. The known ones are: {', '.join(METHODS)}.")
    return known[key]


def installed(keys: Iterable[str]) -> list[str]:
    """Those whose packages are there.

    Examples
    --------
    >>> installed(["hnn", "mmd"])
    ['hnn', 'mmd']
    """
    return [key for key in keys if not lacking(key)]


def lacking(key: str) -> list[str]:
    """Packages that a method needs and that are not installed."""
    return [name for name in method_of(key).requires if find_spec(name.replace("-", "_")) is None]


def build(key: str, protocol: Protocol, *, series: bool, quick: bool = False) -> Any:
    """Make the estimator of a method, with its settings and no seed yet.

    Examples
    --------
    >>> build("hnn", "published", series=False).lr
    0.0001
    """
    method = method_of(key)
    settings = dict(method.published) if protocol == "published" else {}
    if method.role == "rival":
        from calibrant.experiments import rivals

        home: Any = rivals
    else:
        from calibrant import estimators

        home = estimators
        if series and method.reads_windows:
            settings["network"] = "lstm"
        if quick:
            settings |= _QUICK
    settings |= dict(method.quick if quick else {}) | dict(method.always)
    kind: Any = getattr(home, method.estimator)
    make = getattr(kind, method.constructor) if method.constructor else kind
    return make(**settings)


def settings_of(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator that decide its result, as JSON holds them."""
    elsewhere = ("device", "random_state", "verbose")
    settings = estimator.get_params(deep=False)
    if hasattr(estimator, "_setting"):  # what None stands for may change with the library
        settings = {name: estimator._setting(name) for name in settings}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
        if name not in elsewhere
    }
