"""Parameter groups, and the checks of all parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from calibrant.errors import ParameterError
from calibrant.estimators.scaling import Scaling
from calibrant.losses import Expectation, Match, Statistic
from calibrant.networks import Precision
from calibrant.persistence import savable_part

Constraints = dict[str, list[Any]]


def count(least: int = 1) -> Interval:
    """Whole numbers from `least` on."""
    return Interval(Integral, least, None, closed="left")


def positive() -> Interval:
    """Numbers above 0."""
    return Interval(Real, 0, None, closed="neither")


def non_negative() -> Interval:
    """Numbers from 0 on."""
    return Interval(Real, 0, None, closed="left")


def share() -> Interval:
    """Numbers in [0, 1)."""
    return Interval(Real, 0, 1, closed="left")


def fraction() -> Interval:
    """Numbers in [0, 1]."""
    return Interval(Real, 0, 1, closed="both")


class ParameterGroup(BaseEstimator):
    """Base of parameter groups, whose fields are parameters of the estimator as well.

    ``get_params``, ``clone`` and grid searches see into a group:
    ``GridSearchCV(MMDRegressor(), {"matching__lr": [1e-3, 3e-4]})`` tunes a field of a group.
    """

    _parameter_constraints: ClassVar[Constraints] = {}


class GroupedParameters(BaseEstimator):
    """Base of estimators with parameter groups; None stands for a group with its defaults.

    Fields of a group are nested parameters, as in scikit-learn: ``set_params(matching__lr=1e-3)``
    creates the group if it is None, and otherwise changes a copy, so that estimators which share a
    group do not affect each other.
    """

    _groups: ClassVar[Mapping[str, type[ParameterGroup]]] = {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep=True`` also the fields of groups."""
        parameters: dict[str, Any] = super().get_params(deep)
        if deep:
            for name, group in self._groups.items():
                if parameters[name] is None:
                    inside = group().get_params().items()
                    parameters |= {f"{name}__{key}": value for key, value in inside}
        return parameters

    def resolved_params(self) -> dict[str, Any]:
        """All parameters, fields of groups by nested names, with None replaced by its meaning.

        What depends on the data stays None.
        """
        parameters = self.get_params()
        return {name: value for name, value in parameters.items() if name not in self._groups}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; fields of a group are named ``group__name``."""
        for name, group in self._groups.items():
            defaults = {f"{name}__{key}": value for key, value in group().get_params().items()}
            fields = [key for key in parameters if key.startswith(f"{name}__")]
            own = parameters.get(name, getattr(self, name))
            if own is None and all(parameters[key] is defaults.get(key, self) for key in fields):
                # Nothing but the defaults, which `get_params` lists for None: it stays None.
                parameters = {k: value for k, value in parameters.items() if k not in fields}
            elif fields:
                parameters[name] = group() if own is None else clone(own)
        changed: Self = super().set_params(**parameters)
        return changed


@savable_part
@dataclass(kw_only=True, repr=False)
class Training(ParameterGroup):
    """Early stopping, regularisation, hold-out and scaling: what all methods share.

    Parameters
    ----------
    patience : int, default 20
        Epochs without a better validation score after which training ends.
    weight_decay : float or None
        L2 penalty of Adam; None is 1e-5, and 0 for a deep Gaussian process.
    beta : float, default 0.5
        Safeguard of Gaussian likelihoods against a collapsing variance: each row is weighted by
        its predicted variance to this power, held constant (beta-NLL). 0 is the plain likelihood of
        the paper.
    validation_fraction : float, default 0.2
        Share of the training rows to hold out if `fit` gets neither validation rows nor `cv`.
    scaling : {"standard", "robust", "minmax"} or None
        How inputs and target are scaled, fitted on training rows only: by mean and standard
        deviation, by median and quantiles with a smooth limit, or to [0, 1]. None is "standard",
        and "robust" for the weight-sharing networks of `MMDRegressor`.
    precision : {"float32", "bfloat16"}, default "float32"
        Precision of the matrix products in training. With "bfloat16", weights, losses, scores and
        predictions are still float32; wide networks train several times as fast on a GPU
        (docs/scaling.md), small ones don't. Not for recurrent networks and deep Gaussian processes.
    """

    patience: int = 20
    weight_decay: float | None = None
    beta: float = 0.5
    validation_fraction: float = 0.2
    scaling: Scaling | None = None
    precision: Precision = "float32"

    _parameter_constraints: ClassVar[Constraints] = {
        "patience": [count()],
        "weight_decay": [non_negative(), None],
        "beta": [fraction()],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "scaling": [StrOptions({"standard", "robust", "minmax"}), None],
        "precision": [StrOptions({"float32", "bfloat16"})],
    }


@savable_part
@dataclass(kw_only=True, repr=False)
class Matching(ParameterGroup):
    """Objective and budget of stage 2 of `MMDRegressor`.

    Fields that are None, and ``match="auto"``, take the value that `quality` sets.

    Parameters
    ----------
    match : {"auto", "joint", "marginal", "distribution"} or None
        Pairs of rows that are matched in addition to the kernel score: none (None), all pairs
        ("marginal", as in the paper), or pairs weighted by the similarity of their inputs
        ("joint": a Gaussian kernel, a tenth of the median squared distance wide) or of their
        predictions ("distribution"). The marginal objective can't tell a
        collapsed mean with an inflated spread from the truth.
    score_weight : float, default 1
        Weight of the kernel score, the squared MMD between the distribution of a row and its own
        observation; with 0, only pairs are matched.
    score_kernel : {"energy", "gaussian"}, default "energy"
        Kernel of the score. With the energy kernel it is twice the CRPS; "gaussian" is the kernel
        of the matching.
    statistic : {"u", "v"}, default "u"
        Leave out ("u") or include ("v") the terms i = j, which penalise the predictive variance.
    expectation : {"closed", "sampled"}, default "closed"
        Exact expectations of the kernel, or one draw per row (the paper).
    bandwidths : "adaptive", "published" or sequence of float, default "adaptive"
        The h of ``exp(-d^2 / (2 h))`` in squared units of the scaled target; adaptive ones run
        from a twentieth to twice its spread.
    rollback : bool, default True
        Return to the epoch of stage 2 with the best held-out CRPS, which may be its start.
    epochs, lr, patience : int, float, int or None
        Budget of stage 2.
    batch_size : int or "auto", default "auto"
        "auto" is the batch size of stage 1.
    average : float or None
        Number of epochs over which the weights are averaged; 0 turns averaging off.
    decay : float or None
        Share of the epochs, at the end, over which the learning rate falls to 0.
    """

    match: Match | Literal["auto"] | None = "auto"
    score_weight: float = 1.0
    score_kernel: Literal["energy", "gaussian"] = "energy"
    statistic: Statistic = "u"
    expectation: Expectation = "closed"
    bandwidths: Sequence[float] | Literal["adaptive", "published"] = "adaptive"
    rollback: bool = True
    epochs: int | None = None
    batch_size: int | Literal["auto"] = "auto"
    lr: float | None = None
    patience: int | None = None
    average: float | None = None
    decay: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "match": [StrOptions({"auto", "joint", "marginal", "distribution"}), None],
        "score_weight": [non_negative()],
        "score_kernel": [StrOptions({"energy", "gaussian"})],
        "statistic": [StrOptions({"u", "v"})],
        "expectation": [StrOptions({"closed", "sampled"})],
        "bandwidths": [StrOptions({"adaptive", "published"}), "array-like"],
        "rollback": ["boolean"],
        "epochs": [count(), None],
        "batch_size": [count(), StrOptions({"auto"})],
        "lr": [positive(), None],
        "patience": [count(), None],
        "average": [non_negative(), None],
        "decay": [fraction(), None],
    }


@savable_part
@dataclass(kw_only=True, repr=False)
class Ensemble(ParameterGroup):
    """Number of networks that `MMDRegressor` trains, and the rows and features of each.

    Fields that are None take the value that `quality` sets.

    Parameters
    ----------
    members : int or None
        Networks whose predictions are mixed; with `folds`, the number of times the rows are split
        into folds, differently each time; at least twice unless set, since one network per row
        can't show how an ensemble differs from it.
    folds : int or None
        Number of folds. Each fold has a network that is trained on the others and stopped on it,
        so every row is held out `members` times and all rows train the calibration map. 0 holds
        one part of the rows out from all networks, as do `validation_data` and `cv` of `fit`.
    submodels : int or None
        Submodels of every network, which share its weight matrices: an ensemble for less than the
        cost of as many networks (`calibrant.networks.BatchEnsembleMLP`). 1 is a plain network.
        Only for the "mlp".
    kinds : sequence of {"relu", "silu", "neighbours"} or None
        Kinds of networks, as many of each; the CRPS of held-out rows decides their weights. "relu"
        has an embedding of the inputs (`periodic`), "silu" is smooth and has none,
        "neighbours" is a "relu" that also reads the targets of the nearest training rows and the
        predictions of a random forest whose trees have not seen the row; it is left out on tables
        of fewer than 100 or more than 200,000 rows, and where `fit` is told which rows to hold
        out. The model then keeps its training rows, inputs and targets, and `save` writes them:
        consider their size, and who may read them. Only for the "mlp".
    periodic : float or None
        Initial scale of the learned frequencies of the periodic embedding of the inputs
        (`calibrant.networks.PeriodicEmbedding`), such as 0.1; 0 is no embedding. Only for the
        "mlp".
    """

    members: int | None = None
    folds: int | None = None
    submodels: int | None = None
    kinds: Sequence[str] | None = None
    periodic: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "members": [count(), None],
        "folds": [count(0), None],
        "submodels": [count(), None],
        "kinds": ["array-like", None],
        "periodic": [non_negative(), None],
    }


def check_parameters(model: BaseEstimator) -> None:
    """Raise a ParameterError for the first value that is not allowed, groups included.

    Each class constrains its own parameters in `_parameter_constraints`; those of its bases hold,
    too.
    """
    values = model.get_params(deep=False)
    groups = [value for value in values.values() if isinstance(value, ParameterGroup)]
    for part in (model, *groups):
        constraints: Constraints = {}
        for cls in reversed(type(part).__mro__):
            constraints |= vars(cls).get("_parameter_constraints", {})
        try:
            validate_parameter_constraints(
                constraints, part.get_params(deep=False), type(part).__name__
            )
        except InvalidParameterError as error:
            raise ParameterError(str(error)) from error
