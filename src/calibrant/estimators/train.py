"""Train the networks of one or several plans as one batched program."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from calibrant.errors import ConvergenceWarning, ParameterError
from calibrant.estimators.plan import Plan
from calibrant.estimators.predictor import assemble
from calibrant.networks import (
    DistributionNetwork,
    MemberNetworks,
    disable_embedding,
    hide_inputs,
)
from calibrant.training import MemberRows, Record, Rows, Stage, open_progress, run_stage

_PILOT_EPOCHS = 40  # of stage 2, enough to compare


@dataclass(frozen=True)
class Trained:
    """The trained networks of a plan, and one record per epoch."""

    networks: MemberNetworks
    history: list[Record]


def train(plans: Sequence[Plan]) -> list[Trained]:
    """Train the networks of plans of the same shape, with the result of training each one alone.

    Every plan has its own scaling, split, initialisation, order of batches, early stopping and
    roll-back; only the random numbers of dropout and of sampled losses differ.
    """
    trained = run_plans(choose_embeddings(plans))
    for each in trained:
        _check_convergence(each.history)
    return trained


def choose_embeddings(plans: Sequence[Plan]) -> list[Plan]:
    """Decide by a short training whether the networks of each plan use their embedding.

    For every kind, one network with the embedding and one without are trained on the rows of the
    first member; the held-out score of the last stage decides.
    """
    if not plans[0].recipe.choose_embedding:
        return list(plans)
    pilots = [_pilot(plan, use) for plan in plans for use in (False, True)]
    last = plans[0].stages[-1].number
    best = [
        min(r["validation_score"] for r in pilot.history if r["stage"] == last)
        for pilot in run_plans(pilots)
    ]
    return [
        replace(plan, use_embedding=through < without)
        for plan, without, through in zip(plans, best[::2], best[1::2], strict=True)
    ]


def run_plans(plans: Sequence[Plan]) -> list[Trained]:
    """Build the networks of all plans, run the stages, and return the networks of each plan."""
    first, size = plans[0], len(plans[0].members)
    device = first.rows.y.device
    generators = [
        torch.Generator(device).manual_seed(member.seed)
        for plan in plans
        for member in plan.members
    ]
    histories: list[list[Record]] = [[] for _ in plans]
    # Everything random follows the seeds, and torch's global generator stays as it is.
    with (
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
        open_progress(first.verbose) as progress,
    ):
        built = [network for plan in plans for network in _build(plan)]
        networks = assemble(first.network, built).to(device)
        for stages in zip(*(plan.stages for plan in plans), strict=True):
            stage = _as_one(stages, size)
            if first.network.is_custom:  # a user's module may depend on values, have hooks, ...
                stage = replace(stage, recordable=())
            each = 1 if stage.shared_loss else size
            train_rows = _join([plan.train for plan in plans], each)
            validation = _join([plan.validation for plan in plans], each)
            records = run_stage(
                stage, networks, train_rows, validation, generators, progress, len(plans)
            )
            for history, more in zip(histories, records, strict=True):
                history += more
    parts = [networks.part(slice(i * size, (i + 1) * size)).eval() for i in range(len(plans))]
    return [Trained(part, history) for part, history in zip(parts, histories, strict=True)]


def _build(plan: Plan) -> list[DistributionNetwork]:
    """Networks of a plan before training, each initialised with its own seed."""
    networks = []
    for member in plan.members:
        torch.manual_seed(member.seed)
        network = plan.network.build()
        plan.network.initialise(network, plan.rows)
        if not plan.use_embedding:
            disable_embedding(network)
        if plan.features.neighbours is not None and not member.reads_neighbours:
            hide_inputs(network, slice(-plan.features.neighbours.n_features, None))
        networks.append(network)
    return networks


def _pilot(plan: Plan, use_embedding: bool) -> Plan:
    """Plan of one network per kind, with fewer epochs and a constant learning rate."""
    kinds = enumerate(plan.members[: plan.kinds])
    members = tuple(replace(member, reads_neighbours=i == 0) for i, member in kinds)
    train, validation = (
        side.of_first(plan.kinds) if isinstance(side, MemberRows) else side
        for side in (plan.train, plan.validation)
    )
    *before, last = plan.stages
    short = replace(last, epochs=min(_PILOT_EPOCHS, last.epochs), decay=0.0)
    return replace(
        plan,
        members=members,
        train=train,
        validation=validation,
        stages=(*before, short),
        use_embedding=use_embedding,
        verbose=False,
    )


def _as_one(stages: Sequence[Stage], members: int) -> Stage:
    """One stage for all plans; losses that depend on their rows are joined."""
    losses = [stage.loss for stage in stages]
    join = getattr(losses[0], "join", None)
    return stages[0] if join is None else replace(stages[0], loss=join(losses, members))


def _join(sides: Sequence[Rows | MemberRows], members: int) -> Rows | MemberRows:
    return sides[0] if len(sides) == 1 else MemberRows.join(sides, members)


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
