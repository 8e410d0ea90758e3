"""Choose how much to train within a budget of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from calibrant.estimators.plan import Plan
from calibrant.estimators.presets import Preset
from calibrant.estimators.train import build_networks
from calibrant.training import step_seconds

_PROBE_SECONDS = 0.05  # how long the steps of a stage are timed
_FOR_STEPS = 0.9  # share of the budget; early stopping mostly leaves more for scoring and the map


def choose_within(
    seconds: float, presets: Sequence[Preset], duration: Callable[[Preset], float]
) -> Preset:
    """Return the most thorough preset that fits into a budget of time.

    If none fits, the cheapest one with fewer epochs.

    Parameters
    ----------
    seconds : float
        The budget.
    presets : sequence of Preset
        What can be trained, the cheapest first.
    duration : callable
        Seconds that the steps of a preset take, if training does not stop early.
    """
    left = _FOR_STEPS * seconds
    cost = duration(presets[0])
    if cost > left:
        epochs = max(1, int(presets[0].matching_epochs * left / cost))
        return replace(presets[0], matching_epochs=epochs)
    chosen = presets[0]
    for preset in presets[1:]:  # an estimate takes time, too: none is made beyond the budget
        if duration(preset) > left:
            break
        chosen = preset
    return chosen


def training_seconds(plan: Plan) -> float:
    """Seconds that the steps of a plan take if no stage stops early, after timing some of them.

    Scoring after each epoch and the calibration are not included.
    """
    first = plan.groups[0]  # those of other kinds have the same widths
    device = first.rows.device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        networks = build_networks([first])
    return len(plan.groups) * sum(
        stage.epochs
        * math.ceil(first.train.n_rows / stage.batch_size)
        * step_seconds(stage, networks, first.train, _PROBE_SECONDS)
        for stage in first.stages
    )
