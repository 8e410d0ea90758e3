"""The methods of the paper by key: which estimator with which settings.

Under the ``published`` protocol the baselines train as the paper says; under ``honest`` they train
as this library would, which is kinder to them. `mmd` is the library's default in both, and
`mmd-as-published` the paper's algorithm to the letter in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from calibrant.errors import ParameterError

if TYPE_CHECKING:
    from calibrant.estimators import NetworkRegressor
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
        Class in `calibrant.estimators`.
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
    """

    title: str
    estimator: str
    published: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    constructor: str = ""
    reads_windows: bool = True
    recalibrated: bool = False


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
    ),
    "isr": Method(
        "isotonic recalibration of hnn",
        "HeteroscedasticRegressor",
        published=_PAPER_HNN,
        recalibrated=True,
    ),
    "mmd": Method("MMD, this library's default", "MMDRegressor", quick={"matching_epochs": 1}),
    "mmd-as-published": Method(
        "MMD, Algorithm 1 to the letter",
        "MMDRegressor",
        quick={"matching_epochs": 1},
        constructor="as_published",
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


def build(key: str, protocol: Protocol, *, series: bool, quick: bool = False) -> NetworkRegressor:
    """Make the estimator of a method, with its settings and no seed yet.

    Examples
    --------
    >>> build("hnn", "published", series=False).lr
    0.0001
    """
    from calibrant import estimators

    method = method_of(key)
    settings = dict(method.published) if protocol == "published" else {}
    if series and method.reads_windows:
        settings["network"] = "lstm"
    if quick:
        settings |= _QUICK | dict(method.quick)
    settings |= method.always
    kind: Any = getattr(estimators, method.estimator)
    make = getattr(kind, method.constructor) if method.constructor else kind
    made: NetworkRegressor = make(**settings)
    return made


def settings_of(estimator: NetworkRegressor) -> dict[str, Any]:
    """Parameters of an estimator that decide its result, as JSON holds them."""
    elsewhere = ("device", "random_state", "verbose")
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in estimator.get_params(deep=False).items()
        if name not in elsewhere
    }
