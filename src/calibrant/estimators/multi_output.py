"""Several outputs: one model per output, joined by a copula of their held-out errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import check_random_state, get_tags

from calibrant.checks import Array
from calibrant.distributions.copula import rank_correlation
from calibrant.distributions.joint import JointDistribution
from calibrant.distributions.prediction_table import (
    Container,
    as_container,
    prediction_columns,
    read_stream,
)
from calibrant.errors import DataError, ModelFileError, ParameterError
from calibrant.estimators.base import NetworkRegressor
from calibrant.estimators.batched_fit import train_alike
from calibrant.estimators.fitted_model import FittedModel
from calibrant.estimators.held_out import held_out_pit
from calibrant.persistence import load_any, restoring, savable_model, write_model
from calibrant.tables import read_target, to_local
from calibrant.training import resolve_device

Bounds = tuple[float | None, float | None] | None  # of one output


@savable_model
class MultiOutput(FittedModel, RegressorMixin, MultiOutputMixin, BaseEstimator):
    """Predict several outputs jointly: marginals by any network method, joined by a copula.

    Every output gets its own model; all models hold out the same rows. The PIT values of these
    rows show how the errors of the outputs depend on each other: the correlation of their normal
    scores is that of a Gaussian copula, the same for all rows.

    Parameters
    ----------
    estimator : network method
        Cloned for every output; without a `time_budget`.
    bounds : mapping of str to (low, high) or None, optional
        Bounds of some outputs by name, in place of those of the estimator, such as
        ``{"count": (0, None)}``.

    Attributes
    ----------
    models_ : dict of str to fitted estimator
        One per output, with everything that the method offers (`report`, `history_` ...).
    correlation_ : array of shape (m, m)
        Correlation of the normal scores of held-out PIT values.
    n_held_out_ : int
        Number of rows that it was estimated from.

    Notes
    -----
    Sample weights count in the marginals; the correlation weights all held-out rows equally.
    Networks of the outputs are trained as one batch on a GPU and one after another on a CPU,
    where that is faster.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import HeteroscedasticRegressor, MultiOutput
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (300, 2))
    >>> noise = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 300)
    >>> model = MultiOutput(HeteroscedasticRegressor(epochs=20, random_state=0))
    >>> dist = model.fit(X, X + 0.3 * noise).predict_dist(X)
    >>> dist.mean.shape, dist.sample(50, random_state=0).shape
    ((300, 2), (300, 50, 2))
    """

    models_: dict[str, NetworkRegressor]
    correlation_: Array
    n_held_out_: int

    _fitted_attribute: ClassVar[str] = "models_"
    _fit_call: ClassVar[str] = "fit(X, Y)"

    def __init__(
        self, estimator: NetworkRegressor, bounds: Mapping[str, Bounds] | None = None
    ) -> None:
        self.estimator = estimator
        self.bounds = bounds

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        validation_data: tuple[Any, ...] | None = None,
        groups: ArrayLike | None = None,
        cv: Any = None,
    ) -> Self:
        """Fit a model per output and the dependence between them.

        Parameters
        ----------
        X : as in `fit` of the estimator
        Y : array or frame of shape (n, m)
            Outputs are called by the columns of a frame, otherwise y0, y1 ...
        sample_weight, groups, cv : as in `fit` of the estimator
        validation_data : tuple (X, Y) or (X, Y, sample_weight), optional
        """
        targets = check_outputs(Y)
        models = self._clones(list(targets.columns))
        common = {"sample_weight": sample_weight, "groups": groups, "cv": cv}
        plans = []
        for name, model in zip(targets.columns, models, strict=True):
            held = None
            if validation_data is not None:
                held_x, held_y, *more = validation_data
                held = (held_x, check_outputs(held_y, list(targets.columns))[name], *more)
            plans.append(model._plan(X, targets[name], validation_data=held, **common))
        trained = train_alike(models, plans, as_batch=_on_gpu(models))
        pits = [
            held_out_pit(plan, plan.predictor(each.networks), random_state=j)
            for j, (plan, each) in enumerate(zip(plans, trained, strict=True))
        ]
        self.models_ = dict(zip(targets.columns, models, strict=True))
        self.correlation_ = rank_correlation(np.column_stack(pits))
        self.n_held_out_ = len(pits[0])
        return self

    def predict_dist(self, X: Any) -> JointDistribution:
        """Return the joint predictive distribution of every row."""
        self._check_fitted()
        marginals = [model.predict_dist(X) for model in self.models_.values()]
        return JointDistribution(marginals, self.correlation_, list(self.models_))

    def predict(self, X: Any) -> Array:
        """Means, (n, m)."""
        return self.predict_dist(X).mean

    def predict_interval(self, X: Any, coverage: ArrayLike = 0.9) -> Array:
        """Central intervals of each output, (n, m, 2), or (n, m, 2, L) for L coverages."""
        return self.predict_dist(X).interval(coverage)

    def predict_quantiles(self, X: Any, alpha: ArrayLike = (0.1, 0.5, 0.9)) -> Array:
        """Quantiles of each output, (n, m, L), or (n, m) for one level."""
        return self.predict_dist(X).ppf(alpha)

    def predict_table(
        self,
        X: Any,
        coverage: ArrayLike = 0.9,
        alpha: ArrayLike = (),
        *,
        container: Container | None = None,
    ) -> Any:
        """Means, spreads, intervals and quantiles of each output as a table with named columns.

        Parameters
        ----------
        X, coverage, alpha, container : as in `predict_table` of the estimator
            Names begin with that of the output, such as ``y0_mean`` and ``y0_lower_90``.
        """
        X = read_stream(X)
        dist = self.predict_dist(X)
        columns = {
            f"{output}_{name}": values
            for output, marginal in zip(dist.names, dist.marginals, strict=True)
            for name, values in prediction_columns(marginal, coverage, alpha).items()
        }
        return as_container(columns, container, like=X)

    def _clones(self, names: list[str]) -> list[NetworkRegressor]:
        """One estimator per output, all with the same seed and so with the same held-out rows."""
        bounds = dict(self.bounds or {})
        if unknown := [name for name in bounds if name not in names]:
            raise ParameterError(
                f"bounds are given for {unknown[0]!r}, which is not an output. Outputs are "
                f"{', '.join(names)}."
            )
        if not isinstance(self.estimator, NetworkRegressor):
            raise ParameterError(
                "MultiOutput needs a network method of calibrant, such as MMDRegressor(), got "
                f"{type(self.estimator).__name__}."
            )
        if getattr(self.estimator, "time_budget", None) is not None:
            raise ParameterError(
                "MultiOutput needs the same held-out rows for all outputs, which a time_budget may "
                "choose differently: set quality or epochs instead."
            )
        state = self.estimator.random_state
        if not isinstance(state, int):
            state = int(check_random_state(state).randint(np.iinfo(np.int32).max))
        models: list[NetworkRegressor] = [clone(self.estimator) for _ in names]
        for name, model in zip(names, models, strict=True):
            model.random_state = state
            model.bounds = bounds.get(name, model.bounds)
        return models

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    # ---- save and load ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, with one folder per output inside."""
        self._check_fitted()
        manifest = {
            "class": type(self).__name__,
            "outputs": list(self.models_),
            "n_held_out": self.n_held_out_,
        }
        parts = {f"output_{j}": model.save for j, model in enumerate(self.models_.values())}
        tensors = {"correlation": self.correlation_}
        write_model(path, manifest, tensors, parts=parts, overwrite=overwrite)

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        levels: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        *,
        overwrite: bool = False,
    ) -> None:
        """Write the models of all outputs as one ONNX graph.

        Inputs are as in `to_onnx` of the estimator. Names of its outputs begin with those of ours,
        such as ``y0_mean``, ``y0_stddev`` and ``y0_quantiles``. The dependence between them is no
        part of the graph: the metadata ``correlation`` holds that of their normal scores.

        Parameters
        ----------
        path, levels, overwrite : as in `to_onnx` of the estimator
        """
        from calibrant.estimators.to_onnx import write_onnx

        self._check_fitted()
        about = {"targets": list(self.models_), "correlation": self.correlation_.tolist()}
        write_onnx(self.models_, path, levels, about=about, overwrite=overwrite)

    @classmethod
    def _from_folder(
        cls, path: Path, manifest: dict[str, Any], tensors: dict[str, NDArray[Any]], **options: Any
    ) -> Self:
        with restoring(path, manifest, cls):
            names = [str(name) for name in manifest["outputs"]]
            correlation, n_held_out = tensors["correlation"], int(manifest["n_held_out"])
        inside = [load_any(path / f"output_{j}", **options) for j in range(len(names))]
        if not inside or correlation.shape != (len(names), len(names)):
            raise ModelFileError(
                f"{path} has {len(names)} outputs and a correlation of shape {correlation.shape}."
            )
        bounds = {name: each.bounds for name, each in zip(names, inside, strict=True)}
        model = cls(clone(inside[0]), bounds if any(bounds.values()) else None)
        model.models_ = dict(zip(names, inside, strict=True))
        model.correlation_, model.n_held_out_ = correlation, n_held_out
        return model


def check_outputs(Y: Any, names: list[str] | None = None) -> pd.DataFrame:
    """Return targets as a frame of numbers, one column per output; `names` of an array's columns.

    Parameters
    ----------
    Y : array or frame of shape (n, m)
    """
    local = to_local(Y)
    if not isinstance(local, pd.DataFrame):
        array = np.asarray(local)
        if array.ndim != 2 or array.shape[1] == 0:
            raise DataError(
                f"Y must have shape (n, m), one column per output, got {array.shape}. For one "
                "output use the estimator itself."
            )
        columns = names or [f"y{j}" for j in range(array.shape[1])]
        if len(columns) != array.shape[1]:
            raise DataError(f"Expected {len(columns)} outputs, got {array.shape[1]}.")
        local = pd.DataFrame(array, columns=columns).infer_objects()
    labels = [str(name) for name in local.columns]
    repeated = sorted({name for name in labels if labels.count(name) > 1})
    if repeated:
        raise DataError(
            f"Names of outputs must differ, but {', '.join(map(repr, repeated))} occurs more than "
            "once. Rename the columns of Y."
        )
    local = local.set_axis(labels, axis=1)
    if names is not None:
        if missing := [name for name in names if name not in labels]:
            raise DataError(f"Y has no column {', '.join(map(repr, missing))}: one per output.")
        local = local[names]
    found = {name: read_target(column, "Y").to_numpy(np.float64) for name, column in local.items()}
    for name, values in found.items():
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise DataError(
                f"Output {name!r} has {len(wrong)} missing or infinite values of {len(values)} "
                f"(the first in row {wrong[0]}). Leave these rows out of X and Y, or fit the "
                "outputs one by one."
            )
    return pd.DataFrame(found, index=local.index)


def _on_gpu(models: list[NetworkRegressor]) -> bool:
    """Whether training all outputs as one batch is faster."""
    return resolve_device(models[0].device).type == "cuda"
