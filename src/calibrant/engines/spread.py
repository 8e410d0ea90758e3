"""Train the networks of one model side by side: members and folds spread over workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch

from calibrant.engines.choice import Run
from calibrant.errors import CalibrantError
from calibrant.estimators import NetworkRegressor
from calibrant.estimators.plan import Group, Plan
from calibrant.estimators.predictor import assemble
from calibrant.estimators.train import Trained, run_plans
from calibrant.networks import MemberNetworks, join_kinds, only_kind
from calibrant.training import MemberRows, Record

Model = TypeVar("Model", bound=NetworkRegressor)


def fit_members(model: Model, run: Run, workers: int, *data: Any, **options: Any) -> Model:
    """Fit a model whose networks are trained side by side, with the result of ``model.fit``.

    Only the random numbers of dropout differ, and the order of sums.

    Parameters
    ----------
    model : estimator
        It is fitted in place. One network is trained by one worker: a model with few of them gains
        nothing.
    run : callable
        An engine with its options, such as ``partial(run_on_ray, address="auto")``.
    workers : int
        Number of parts that the networks of each kind are divided into.
    *data, **options
        Arguments of `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import DeepEnsembleRegressor
    >>> from calibrant.engines import fit_members, run_serial
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = DeepEnsembleRegressor(members=2, epochs=1, random_state=0)
    >>> fit_members(model, run_serial, 2, X, X[:, 0]).predict(X).shape
    (200,)
    """
    plan = model._plan(*data, **options)
    parts = split_plan(plan, workers)
    found: dict[int, Trained | None] = {}
    for (number, _), trained in run(_train, list(enumerate(parts))):
        found[number] = trained
    done = [each for _, each in sorted(found.items()) if each is not None]
    if len(done) < len(parts):
        raise CalibrantError("A worker was killed twice while it trained: is memory too small?")
    return model._finish(plan, join_parts(plan, parts, done))


def _train(item: tuple[int, Plan]) -> Trained:
    (trained,) = run_plans([item[1]])
    return trained


def split_plan(plan: Plan, parts: int) -> list[Plan]:
    """Plans of some of the networks of one kind each: `parts` for every kind."""
    split = []
    for group in plan.groups:
        # Members that share a loss are trained as one.
        shared = any(stage.shared_loss for stage in group.stages)
        size = len(group.seeds) if shared else -(-len(group.seeds) // parts)
        for start in range(0, len(group.seeds), size):
            own = _members(group, slice(start, start + size))
            split.append(replace(plan, groups=(own,), verbose=False))
    return split


def _members(group: Group, members: slice) -> Group:
    def rows(side: Any) -> Any:
        if not isinstance(side, MemberRows):
            return side
        return MemberRows(side.rows, side.positions[members], side.weight[members])

    return replace(
        group,
        seeds=group.seeds[members],
        train=rows(group.train),
        validation=rows(group.validation),
    )


def join_parts(plan: Plan, parts: Sequence[Plan], trained: Sequence[Trained]) -> Trained:
    """Join the networks of all parts, which are in the order of `split_plan`."""
    kinds: list[MemberNetworks] = []
    history: list[Record] = []
    left = list(zip(parts, trained, strict=True))
    for group in plan.groups:
        own, count = [], 0
        while count < len(group.seeds):
            part, networks = left.pop(0)
            own.append((len(part.groups[0].seeds), networks))
            count += len(part.groups[0].seeds)
        weights = [only_kind(each.networks).by_name() for _, each in own]
        joined = assemble(group.network, [group.network.build() for _ in group.seeds])
        names = weights[0]
        joined.load_by_name({name: torch.cat([each[name] for each in weights]) for name in names})
        kinds.append(joined.to(group.rows.device).eval())
        history += _mean_records([(size, each.history) for size, each in own])
    return Trained(join_kinds(kinds, [group.network.n_inputs for group in plan.groups]), history)


def _mean_records(histories: Sequence[tuple[int, list[Record]]]) -> list[Record]:
    """Records of every epoch, with means over the members of all parts that reached it."""
    epochs: dict[tuple[int, int], list[tuple[int, Record]]] = {}
    for size, records in histories:
        for record in records:
            epochs.setdefault((record["stage"], record["epoch"]), []).append((size, record))
    means = []
    for (_, epoch), found in sorted(epochs.items()):
        total = sum(size for size, _ in found)
        losses = [size * (record["train_loss"] or 0.0) for size, record in found]
        scores = [size * record["validation_score"] for size, record in found]
        mean = found[0][1].copy()
        mean["train_loss"] = sum(losses) / total if epoch else None
        mean["validation_score"] = sum(scores) / total
        mean["best"] = any(record["best"] for _, record in found)
        means.append(mean)
    return means
