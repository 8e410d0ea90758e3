"""Fit several models of one class as one batched program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.errors import ParameterError
from calibrant.estimators.base import NetworkRegressor
from calibrant.estimators.plan import Plan
from calibrant.estimators.train import Trained, train


def fit_batched(models: Sequence[NetworkRegressor], fits: Sequence[Mapping[str, Any]]) -> None:
    """Fit several models as one batched program, with the result of fitting each one alone.

    Every model has its own scaling, split, initialisation, order of batches, early stopping and
    roll-back; only the random numbers of dropout differ. On a GPU, ten models with small networks
    take little longer than one.

    Parameters
    ----------
    models : sequence of estimators
        Estimators of one class with equal parameters except `random_state`; fitted in place.
    fits : sequence of mappings
        Arguments of `fit` by name for every model: ``{"X": X, "y": y}`` and more. Inputs must have
        the same number of columns (and steps). Numbers of rows should be similar: all models take
        as many steps per epoch as the one with most rows, and models whose number of rows leads to
        different numbers of networks are trained separately.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import HeteroscedasticRegressor
    >>> from calibrant.estimators import fit_batched
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(200)
    >>> models = [HeteroscedasticRegressor(random_state=seed) for seed in range(3)]
    >>> fit_batched(models, [{"X": X[:150], "y": y[:150]}] * 3)
    >>> [model.predict(X[150:]).shape for model in models]
    [(50,), (50,), (50,)]
    """
    if not models or len(models) != len(fits):
        raise ParameterError(
            f"fit_batched needs one mapping of arguments per model, got {len(models)} models and "
            f"{len(fits)} mappings."
        )
    settings = [_settings(model) for model in models]
    if (
        any(type(model) is not type(models[0]) for model in models)
        or any(each != settings[0] for each in settings)
        or len({id(model) for model in models}) < len(models)
    ):
        raise ParameterError(_NOT_ALIKE)
    plans = [model._plan(**fit) for model, fit in zip(models, fits, strict=True)]
    if not plans[0].groups[0].network.batchable:
        raise ParameterError(_NOT_ALIKE)
    train_alike(models, plans)


def train_alike(
    models: Sequence[NetworkRegressor], plans: Sequence[Plan], *, as_batch: bool = True
) -> list[Trained]:
    """Train plans of one shape as one batch, others separately, and finish every model."""
    alike: dict[object, list[int]] = defaultdict(list)
    for i, plan in enumerate(plans):
        batchable = as_batch and plan.groups[0].network.batchable
        alike[_shape(plan) if batchable else i].append(i)
    found: dict[int, Trained] = {}
    for chosen in alike.values():
        for i, trained in zip(chosen, train([plans[i] for i in chosen]), strict=True):
            models[i]._finish(plans[i], trained)
            found[i] = trained
    return [found[i] for i in range(len(plans))]


_NOT_ALIKE = (
    "fit_batched takes different models of one class of networks whose parameters are equal but "
    "for random_state; fit other models one by one."
)


def _shape(plan: Plan) -> tuple[object, ...]:
    """What plans must have in common to be trained as one batch."""
    specs = [group.network for group in plan.groups]
    return plan.n_networks, *(
        (spec.n_inputs, spec.steps, spec.head.n_outputs, getattr(spec, "embedded", None))
        for spec in specs
    )


def _settings(model: NetworkRegressor) -> dict[str, str]:
    # As text, because arrays can't be compared by a single ==.
    settings = model.get_params(deep=False).items()
    return {name: repr(value) for name, value in settings if name != "random_state"}
