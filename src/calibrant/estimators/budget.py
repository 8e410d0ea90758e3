"""Choose how much to train within a budget of time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import torch

from calibrant.estimators.plan import Group, Plan
from calibrant.estimators.predictor import assemble
from calibrant.estimators.presets import Preset
from calibrant.networks import MemberNetworks
from calibrant.training import step_seconds

_PROBE_SECONDS = 0.3  # how long steps are timed
_PROBE_OF_PLAN = 0.05  # for each stage
_FOR_STEPS = 0.75  # share of the budget; the rest is scoring and calibration
_INPUTS = 64  # of a first layer, roughly


def choose_within(
    seconds: float, presets: Sequence[Preset], n_rows: int, probe: Group, probed: Preset
) -> Preset:
    """Return the most thorough preset whose steps fit into a budget of time.

    If none fits, the cheapest one with fewer epochs.

    Parameters
    ----------
    seconds : float
        The budget.
    presets : sequence of Preset
        What can be trained.
    n_rows : int
        Rows of the table.
    probe : Group
        Networks of the preset `probed`, to time some of their steps.
    """
    per_second = _work(probed, probe.stages[-1].batch_size) / _probe(probe)
    left = _FOR_STEPS * seconds
    costs = [_work(each, n_rows) * each.epochs_for(n_rows) / per_second for each in presets]
    fitting = [(cost, i) for i, cost in enumerate(costs) if cost <= left]
    if fitting:
        return presets[max(fitting)[1]]
    cost, i = min((cost, i) for i, cost in enumerate(costs))
    epochs = max(1, int(presets[i].matching_epochs * left / cost))
    return replace(presets[i], matching_epochs=epochs)


def training_seconds(plan: Plan) -> float:
    """Seconds that the steps of a plan take if no stage stops early, after timing some of them.

    Scoring after each epoch and the calibration are not included.
    """
    first = plan.groups[0]  # those of other kinds have the same widths
    networks = _networks(first)
    return len(plan.groups) * sum(
        stage.epochs
        * math.ceil(first.train.n_rows / stage.batch_size)
        * step_seconds(stage, networks, first.train, _PROBE_OF_PLAN)
        for stage in first.stages
    )


def _work(preset: Preset, n_rows: int) -> float:
    """Multiplications of a pass of these rows through all networks, roughly."""
    networks = len(preset.kinds) * preset.members * max(1, preset.folds)
    widths = (_INPUTS, *(preset.hidden or (256, 256)))
    return float(n_rows * networks * preset.submodels * sum(a * b for a, b in pairwise(widths)))


def _probe(group: Group) -> float:
    """Seconds of a training step."""
    return step_seconds(group.stages[-1], _networks(group), group.train, _PROBE_SECONDS)


def _networks(group: Group) -> MemberNetworks:
    """The networks of a group before training."""
    with torch.random.fork_rng(devices=[]):
        built = [group.network.build() for _ in group.seeds]
        for network in built:
            group.network.initialise(network, group.rows)
    return assemble(group.network, built).to(group.rows.y.device)
