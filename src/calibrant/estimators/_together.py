"""Models of one kind, trained as one."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from calibrant.errors import ConvergenceWarning, ParameterError
from calibrant.training import MemberRows, Record, Rows, open_progress, run_stage

if TYPE_CHECKING:
    from calibrant.estimators._base import NetworkRegressor


class Lot(NamedTuple):
    """What one model is trained on."""

    rows: Rows  # all that it may learn from
    train: Rows | MemberRows
    validation: Rows | MemberRows
    seed: int
    learn: Callable[[], None]  # what the trained model learns from rows held out

    def of_first(self, members: int) -> Lot:
        """What its first network sees, for so many of them."""
        train, validation = (
            side.of_first(members) if isinstance(side, MemberRows) else side
            for side in (self.train, self.validation)
        )
        return self._replace(train=train, validation=validation)


def fit_together(models: Sequence[NetworkRegressor], fits: Sequence[Mapping[str, Any]]) -> None:
    """Fit several models as one batched program, each as if by its own `fit`.

    Every model keeps its own scaling, split, initialisation, order of batches, early stopping
    and roll-back; only what dropout draws differs. On a GPU ten models of small networks cost
    little more time than one.

    Parameters
    ----------
    models : sequence of estimators
        Of one class with the same parameters, `random_state` excepted; fitted in place.
    fits : sequence of mappings
        What `fit` is called with, by name, for every model: ``{"X": X, "y": y}`` and more. Inputs
        must have the same number of columns (and steps). Numbers of rows should not differ by
        much: all models take as many steps an epoch as the one with most rows, and where a model
        has more networks than others for its number of rows, it is trained apart.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import HeteroscedasticRegressor
    >>> from calibrant.estimators import fit_together
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(200)
    >>> models = [HeteroscedasticRegressor(random_state=seed) for seed in range(3)]
    >>> fit_together(models, [{"X": X[:150], "y": y[:150]}] * 3)
    >>> [model.predict(X[150:]).shape for model in models]
    [(50,), (50,), (50,)]
    """
    if not models or len(models) != len(fits):
        raise ParameterError(
            f"fit_together takes one fit for every model, got {len(models)} models and "
            f"{len(fits)} fits."
        )
    settings = [_settings(model) for model in models]
    if (
        not models[0]._batched
        or any(type(model) is not type(models[0]) for model in models)
        or any(each != settings[0] for each in settings)
        or len({id(model) for model in models}) < len(models)
    ):
        raise ParameterError(
            "fit_together takes different models of one class of networks whose parameters are "
            "equal but for random_state; fit others one by one."
        )
    lots = [model._prepare(**fit) for model, fit in zip(models, fits, strict=True)]
    # The number of rows may decide how many networks a model has, and what they see.
    alike: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
    for i, model in enumerate(models):
        shape = (model._n_members(), model._n_inputs(), model._make_head().n_outputs)
        alike[(*shape, model.n_steps_)].append(i)
    for chosen in alike.values():
        train_together([models[i] for i in chosen], [lots[i] for i in chosen])


def train_together(models: Sequence[NetworkRegressor], lots: Sequence[Lot]) -> None:
    """Let the models look ahead, train their networks, then learn from rows held out."""
    models[0]._look_ahead(models, lots)
    train_networks(models, lots)
    for model, lot in zip(models, lots, strict=True):
        _check_convergence(model.history_)
        lot.learn()


def train_networks(models: Sequence[NetworkRegressor], lots: Sequence[Lot]) -> None:
    """Train the networks of prepared models."""
    leader, members = models[0], models[0]._n_members()
    device = lots[0].rows.y.device
    # Everything random follows the seeds, and torch's global generator stays as it is.
    seeds = [model._seeds(lot.seed) for model, lot in zip(models, lots, strict=True)]
    generators = [torch.Generator(device).manual_seed(seed) for own in seeds for seed in own]
    histories: list[list[Record]] = [[] for _ in models]
    with (
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
        open_progress(leader.verbose) as progress,
    ):
        networks = []
        for model, lot, own in zip(models, lots, seeds, strict=True):
            built = model._build(own)
            model._initialise(built, lot.rows)
            networks += built
        network = leader._as_one(networks).to(device)
        for stage in leader._stages([lot.rows for lot in lots], generators[0]):
            if isinstance(leader.network, nn.Module):  # which may look at values, have hooks, ...
                stage = replace(stage, recordable=(), slope=None)
            each = 1 if stage.together else members
            train, validation = (_side(lots, name, each) for name in ("train", "validation"))
            records = run_stage(
                stage, network, train, validation, generators, progress, len(models)
            )
            for history, more in zip(histories, records, strict=True):
                history += more
    for i, model in enumerate(models):
        model.module_ = network.part(slice(i * members, (i + 1) * members)).eval()
        model.history_ = histories[i]


def _check_convergence(history: Sequence[Record]) -> None:
    """Say where a network was lost, and what became of it."""
    lost = [record for record in history if not math.isfinite(record["train_loss"] or 0.0)]
    if not lost:
        return
    what = (
        f"Training diverged in epoch {lost[0]['epoch']} of stage {lost[0]['stage']}: a network's "
        "loss is no longer a number."
    )
    remedy = f"Lower {'lr' if lost[0]['stage'] == 1 else 'matching_lr'}"
    if any(record["best"] for record in lost):
        raise ParameterError(f"{what} Nothing was rolled back. {remedy}, or set rollback=True.")
    warnings.warn(
        f"{what} Its best weights before are kept, those before training if there are none. "
        f"{remedy}.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _side(lots: Sequence[Lot], name: str, members: int) -> Rows | MemberRows:
    sides = [getattr(lot, name) for lot in lots]
    return sides[0] if len(sides) == 1 else MemberRows.join(sides, members)


def _settings(model: NetworkRegressor) -> dict[str, str]:
    # As text, since arrays among them have no one truth value.
    settings = model.get_params(deep=False).items()
    return {name: repr(value) for name, value in settings if name != "random_state"}
