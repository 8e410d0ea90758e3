"""The methods of the benchmark by key: which estimator, with which settings.

Under the ``published`` protocol the baselines train with the paper's settings; under the others
with this library's defaults, which suit them better. `mmd` is the library's default under every
protocol, and `mmd-as-published` is Algorithm 1 of the paper. A new method is one entry of
`METHODS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from calibrant.errors import ParameterError

if TYPE_CHECKING:
    from calibrant.experiments.tasks import Protocol

# Section 4 of the paper; where it gives no value, the value of its authors' code.
_PAPER = {
    "training__scaling": "minmax",
    "lr": 1e-4,
    "training__weight_decay": 1e-3,
    "batch_size": 1024,
    "epochs": 1000,
    "training__patience": 50,
}
_PAPER_HNN = _PAPER | {"training__beta": 0.0, "dropout": 0.0}
# For smoke tests: every line of code runs, but the scores are meaningless.
_QUICK: dict[str, Any] = {"epochs": 2, "training__patience": 2}


@dataclass(frozen=True)
class Method:
    """One row of the tables.

    Attributes
    ----------
    title : str
    estimator : str
        Class in `calibrant.estimators`, or in the modules `rivals` and `references`.
    role : {"ours", "baseline", "library", "rival"}
        The method of the paper, one of the paper's baselines, another method of this library, or
        a package that a user could choose instead.
    published : mapping
        Settings under the published protocol that differ from the library's defaults.
    quick : mapping
        Settings of a quick run, in addition to fewer epochs.
    always : mapping
        Settings under every protocol.
    constructor : str
        Class method that builds the estimator; empty for the class itself.
    reads_windows : bool
        Whether series go through an LSTM. If not, a window is flattened to one row of inputs.
    recalibrated : {"", "isotonic", "conformal", "crepes"}
        Recalibration on a fifth of the training rows, held out for it.
    requires : tuple of str
        Optional packages that the method needs.
    batched : bool
        Whether several trials can train as one batch, as they do on a GPU.
    """

    title: str
    estimator: str
    role: Literal["ours", "baseline", "library", "rival"] = "baseline"
    published: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    constructor: str = ""
    reads_windows: bool = True
    recalibrated: Literal["", "isotonic", "conformal", "crepes"] = ""
    requires: tuple[str, ...] = ()
    batched: bool = True


def _mmd(title: str, **settings: Any) -> Method:
    return Method(title, "MMDRegressor", "ours", quick={"matching__epochs": 1}, **settings)


def _trees(title: str, estimator: str, *requires: str) -> Method:
    quick = {"n_estimators": 10}
    return Method(title, estimator, "rival", quick=quick, requires=requires, batched=False)


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
        recalibrated="isotonic",
    ),
    "conformal": Method(
        "conformal predictive system of hnn",
        "HeteroscedasticRegressor",
        "library",
        recalibrated="conformal",
    ),
    "quantile": Method("quantile network", "QuantileNetworkRegressor", "library"),
    "laplace": Method("Laplace approximation", "LaplaceRegressor", "library"),
    "mmd-fast": _mmd("MMD, five epochs of matching", always={"quality": "fast"}),
    "mmd": _mmd("MMD, this library's default"),
    "mmd-best": _mmd("MMD, best quality", always={"quality": "best"}),
    "mmd-as-published": _mmd("MMD, Algorithm 1 as printed", constructor="as_published"),
    "crepes": Method(
        "crepes on hnn, normalised, in ten bins",
        "HeteroscedasticRegressor",
        "rival",
        recalibrated="crepes",
        requires=("crepes",),
    ),
    "ngboost": _trees("NGBoost, normal", "NGBoostNormal", "ngboost"),
    "catboost": _trees("CatBoost, RMSEWithUncertainty", "CatBoostNormal", "catboost"),
    "lightgbm-crepes": _trees(
        "LightGBM with crepes, normalised", "ConformalLightGBM", "lightgbm", "crepes"
    ),
    "quantile-forest": _trees("quantile forest", "QuantileForest", "quantile-forest"),
}


DEPTHS = (1, 2, 3, 4, 5)


def _deeper(key: str, layers: int) -> Method:
    """Copy of a method with this many hidden layers, of 256 units or of Gaussian processes."""
    depth = {"hidden_layers": layers} if key == "dgp" else {"hidden": (256,) * layers}
    return replace(METHODS[key], title=f"{METHODS[key].title}, {layers} layers", always=depth)


# Training time and calibration against the number of hidden layers, on wine.
_DEEPENED = ("dgp", "deep-ens", "ell", "mmd")
DEPTH_STUDY = {
    f"{key}-depth{layers}": _deeper(key, layers) for key in _DEEPENED for layers in DEPTHS
}


# Every method that `calibrant bench paper` runs.
PAPER_METHODS: Mapping[str, Method] = METHODS | DEPTH_STUDY


def in_depth(keys: Iterable[str]) -> list[str]:
    """Rows of the depth study: all depths of a method, or one depth by its own key.

    Examples
    --------
    >>> in_depth(["ell-depth1", "mmd"])[:3]
    ['ell-depth1', 'mmd-depth1', 'mmd-depth2']
    """
    rows: list[str] = []
    for key in keys:
        found = [row for row in DEPTH_STUDY if key in (row, row.partition("-depth")[0])]
        if not found:
            raise ParameterError(
                f"The depth study has no method {key!r}. It has: {', '.join(_DEEPENED)}."
            )
        rows += found
    return list(dict.fromkeys(rows))


def get_method(key: str, methods: Mapping[str, Method] = PAPER_METHODS) -> Method:
    """Look up a method by its key."""
    if key not in methods:
        known = METHODS if methods is PAPER_METHODS else methods
        raise ParameterError(f"Unknown method {key!r}. The known ones are: {', '.join(known)}.")
    return methods[key]


def installed(keys: Iterable[str], methods: Mapping[str, Method] = PAPER_METHODS) -> list[str]:
    """Keys of the methods whose packages are installed.

    Examples
    --------
    >>> installed(["hnn", "mmd"])
    ['hnn', 'mmd']
    """
    return [key for key in keys if not missing_packages(get_method(key, methods))]


def missing_packages(method: Method) -> list[str]:
    """Packages that a method needs and that are not installed."""
    return [name for name in method.requires if find_spec(name.replace("-", "_")) is None]


def build(method: Method, protocol: Protocol, *, series: bool, quick: bool = False) -> Any:
    """Construct the estimator of a method with its settings, still without a seed.

    Examples
    --------
    >>> build(METHODS["hnn"], "published", series=False).lr
    0.0001
    """
    from calibrant import estimators

    settings = dict(method.published) if protocol == "published" else {}
    module: Any = estimators
    if not hasattr(module, method.estimator):
        from calibrant.experiments import references, rivals

        module = rivals if hasattr(rivals, method.estimator) else references
    else:
        if series and method.reads_windows:
            settings["network"] = "lstm"
        if quick:
            settings |= _QUICK
    settings |= dict(method.quick if quick else {}) | dict(method.always)
    kind: Any = getattr(module, method.estimator)
    construct = getattr(kind, method.constructor) if method.constructor else kind
    return construct().set_params(**settings)


def settings_of(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator that affect its result, as JSON values."""
    ignored = ("device", "random_state", "verbose")
    # What None stands for may change with the library; rivals have no such parameters.
    resolved = getattr(estimator, "resolved_params", estimator.get_params)
    settings: dict[str, Any] = resolved()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
        if name not in ignored
    }
