"""The methods of the paper by key: which estimator with which settings.

Under the ``published`` protocol the baselines train as the paper says; under the others they train
as this library would, which is kinder to them. `mmd` is the library's default in all, and
`mmd-as-published` the paper's algorithm to the letter. A new row is one entry of `METHODS`.
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
    role : {"ours", "baseline", "library", "rival"}
        What the paper proposes, what it compares with, what this library has besides, and what a
        user may take instead.
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
    recalibrated : {"", "isotonic", "conformal", "crepes"}
        What follows on a fifth of the training rows, held out for it.
    requires : tuple of str
        Optional packages that it needs.
    batched : bool
        Several trials can train as one batch, which is how they run on a GPU.
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
    "mmd-fast": Method(
        "MMD, five epochs of matching",
        "MMDRegressor",
        "ours",
        quick={"matching_epochs": 1},
        always={"quality": "fast"},
    ),
    "mmd": Method(
        "MMD, this library's default", "MMDRegressor", "ours", quick={"matching_epochs": 1}
    ),
    "mmd-best": Method(
        "MMD, best quality",
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
    "crepes": Method(
        "crepes on hnn, normalised, in ten bins",
        "HeteroscedasticRegressor",
        "rival",
        recalibrated="crepes",
        requires=("crepes",),
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


# Stage 1 of each quality with all that surrounds it, the map too: in stage 2 no weight moves.
_NO_STAGE_2 = {"matching_epochs": 1, "matching_lr": 1e-30}
STAGE_1 = {
    "mmd-fast-stage1": Method(
        "stage 1 of mmd-fast", "MMDRegressor", "ours", always={"quality": "fast"} | _NO_STAGE_2
    ),
    # Ten epochs of likelihood are a start only; alone they get the budget of both stages.
    "mmd-stage1": Method(
        "the network of mmd, by likelihood",
        "MMDRegressor",
        "ours",
        always={"epochs": 110} | _NO_STAGE_2,
    ),
    "mmd-best-stage1": Method(
        "the networks of mmd-best, by likelihood",
        "MMDRegressor",
        "ours",
        always={"quality": "best", "epochs": 410} | _NO_STAGE_2,
    ),
}


def _best_but(title: str, **changes: Any) -> Method:
    return Method(title, "MMDRegressor", "ours", always={"quality": "best"} | changes)


# Each ingredient of "best" taken out, or put in where it has none of it; the rest as it is.
ABLATION = {
    "mmd-best": METHODS["mmd-best"],
    "best-gaussian-head": _best_but("one Gaussian in place of the mixture", head="gaussian"),
    "best-no-periodic": _best_but("no periodic embedding", periodic=0.0),
    "best-periodic": _best_but("periodic embedding without a pilot", periodic=0.1),
    "best-no-kernel-score": replace(STAGE_1["mmd-best-stage1"], title="likelihood alone"),
    "best-matching": _best_but("matching given the input as well", match="joint"),
    "best-no-averaging": _best_but("weights as they are, not averaged", average=0.0),
    "best-no-decay": _best_but("a learning rate that stays", decay=0.0),
    "best-one-member": _best_but("one network a fold", members=1),
    "best-hold-out": _best_but("eight networks, the same fifth held out", members=8, cross_fit=0),
    "best-no-neighbours": _best_but("no network that sees neighbours", neighbours=False),
    "best-no-atoms": _best_but("no probabilities for repeated values", atoms=False),
    "best-one-map": _best_but("one final map for all rows", recalibrate="common"),
    "best-no-map": _best_but("no final map", recalibrate=False),
}


DEPTHS = (1, 2, 3, 4, 5)


def _deeper(key: str, layers: int) -> Method:
    """Give a method that many hidden layers: of 256 units, or of Gaussian processes."""
    depth = {"hidden_layers": layers} if key == "dgp" else {"hidden": (256,) * layers}
    return replace(METHODS[key], title=f"{METHODS[key].title}, {layers} layers", always=depth)


# Training time and calibration against the number of hidden layers, on wine.
_DEEPENED = ("dgp", "deep-ens", "ell", "mmd")
DEPTH_STUDY = {
    f"{key}-depth{layers}": _deeper(key, layers) for key in _DEEPENED for layers in DEPTHS
}


def in_depth(keys: Iterable[str]) -> list[str]:
    """Rows of the depth study: all depths of a method, or one by its own key.

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


def method_of(key: str) -> Method:
    """Look a method up, one of the studies too."""
    known = METHODS | DEPTH_STUDY | STAGE_1 | ABLATION
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
    from calibrant import estimators

    home: Any = estimators
    if not hasattr(home, method.estimator):
        from calibrant.experiments import rivals as home
    else:
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
