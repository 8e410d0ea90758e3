"""Train the networks of one or several plans as one batched program."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import torch
from torch.distributed import ProcessGroup

from calibrant.errors import ConvergenceWarning, ParameterError
from calibrant.estimators.plan import Group, Plan
from calibrant.estimators.predictor import assemble
from calibrant.networks import MemberNetworks, Networks, join_kinds
from calibrant.training import (
    BatchSource,
    Checkpoint,
    Checkpoints,
    MemberRows,
    Progress,
    Record,
    Rows,
    Stage,
    Workers,
    open_progress,
    run_stage,
)

Side = TypeVar("Side", bound=BatchSource)


@dataclass(frozen=True)
class Trained:
    """The trained networks of a plan, and one record per epoch."""

    networks: Networks
    history: list[Record]


def train(plans: Sequence[Plan], workers: Workers | None = None) -> list[Trained]:
    """Train the networks of plans of the same shape, with the result of training each one alone.

    Every plan has its own scaling, split, initialisation, order of batches, early stopping and
    roll-back; only the random numbers of dropout and of sampled losses differ.

    Parameters
    ----------
    plans : sequence of Plan
    workers : Workers or None
        Train one plan in all of them, each with its own training rows in it.
    """
    trained = run_plans(plans, workers)
    for each in trained:
        _check_convergence(each.history)
    return trained


def run_plans(plans: Sequence[Plan], workers: Workers | None = None) -> list[Trained]:
    """Train the kinds of networks one after another, and return the networks of each plan."""
    histories: list[list[Record]] = [[] for _ in plans]
    kinds: list[list[MemberNetworks]] = [[] for _ in plans]
    with open_progress(plans[0].verbose) as progress:
        for kind, groups in enumerate(zip(*(plan.groups for plan in plans), strict=True)):
            networks, records = _run_groups(groups, progress, workers, kind)
            for i in range(len(plans)):
                kinds[i].append(networks[i])
                histories[i] += records[i]
    inputs = [group.network.n_inputs for group in plans[0].groups]
    return [
        Trained(join_kinds(own, inputs), history)
        for own, history in zip(kinds, histories, strict=True)
    ]


def restored(plan: Plan, saved: Checkpoint) -> Trained:
    """Return the networks of a plan that were trained elsewhere, from their last checkpoint."""
    group = cast(ProcessGroup, None)  # nothing is left to train
    (trained,) = run_plans([plan], Workers(group, Checkpoints(lambda _: None, saved=saved)))
    _check_convergence(trained.history)
    return trained


def _run_groups(
    groups: Sequence[Group], progress: Progress, workers: Workers | None, kind: int
) -> tuple[list[MemberNetworks], list[list[Record]]]:
    """Build the networks of one group of every plan, run the stages, and return the networks."""
    first, size = groups[0], len(groups[0].seeds)
    device = first.rows.device
    generators = [torch.Generator(device).manual_seed(s) for group in groups for s in group.seeds]
    histories: list[list[Record]] = [[] for _ in groups]
    # Everything random follows the seeds, and torch's global generator stays as it is.
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        networks = build_networks(groups)
        checkpoints = None if workers is None else workers.checkpoints
        for number, stages in enumerate(zip(*(group.stages for group in groups), strict=True)):
            if checkpoints and not checkpoints.reach(kind, number, networks, histories[0]):
                continue  # trained before
            stage = _as_one(stages, size)
            if workers:
                stage = _across(stage, workers)
            if first.network.is_custom:  # a user's module may depend on values, have hooks, ...
                stage = replace(stage, recordable=())
            each = 1 if stage.shared_loss else size
            train_rows = _join([group.train for group in groups], each)
            validation = _join([group.validation for group in groups], each)
            records = run_stage(
                stage, networks, train_rows, validation, generators, progress, len(groups), workers
            )
            for history, more in zip(histories, records, strict=True):
                history += more
    parts = [networks.part(slice(i * size, (i + 1) * size)).eval() for i in range(len(groups))]
    return parts, histories


def build_networks(groups: Sequence[Group]) -> MemberNetworks:
    """Networks of groups of one shape before training, each initialised with its own seed."""
    networks = []
    for group in groups:
        for seed in group.seeds:
            torch.manual_seed(seed)
            network = group.network.build()
            group.network.initialise(network, group.rows)
            networks.append(network)
    return assemble(groups[0].network, networks).to(groups[0].rows.device)


def _as_one(stages: Sequence[Stage], members: int) -> Stage:
    """One stage for all plans; losses that depend on their rows are joined."""
    losses = [stage.loss for stage in stages]
    join = getattr(losses[0], "join", None)
    return stages[0] if join is None else replace(stages[0], loss=join(losses, members))


def _across(stage: Stage, workers: Workers) -> Stage:
    """The stage of one of the workers; losses that compare rows see those of all workers."""
    across = getattr(stage.loss, "across", None)
    return replace(
        stage,
        batch_size=workers.share(stage.batch_size),
        loss=stage.loss if across is None else across(workers.group),
        recordable=(),  # workers wait for each other
    )


def _join(sides: Sequence[Side], members: int) -> Side | MemberRows:
    """Rows of all plans; of several plans they are in memory."""
    if len(sides) == 1:
        return sides[0]
    return MemberRows.join(cast(Sequence[Rows | MemberRows], sides), members)


def _check_convergence(history: Sequence[Record]) -> None:
    """Warn where the loss of a network became NaN; without a roll-back it is an error."""
    lost = [record for record in history if not math.isfinite(record["train_loss"] or 0.0)]
    if not lost:
        return
    what = (
        f"Training diverged in epoch {lost[0]['epoch']} of stage {lost[0]['stage']}: the loss of a "
        "network is not a number."
    )
    remedy = f"Lower {'lr' if lost[0]['stage'] == 1 else 'matching__lr'}"
    if any(record["best"] for record in lost):
        raise ParameterError(
            f"{what} Nothing was rolled back. {remedy}, or set matching__rollback=True."
        )
    warnings.warn(
        f"{what} Its best earlier weights are kept, or those before training. {remedy}.",
        ConvergenceWarning,
        stacklevel=4,
    )
