"""Variants of `MMDRegressor` that only these studies run: its stages, and "best" without a part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calibrant.experiments.methods import METHODS, Method

# Stage 1 of each quality, with the map and everything else: stage 2 moves no weight.
_NO_STAGE_2 = {"matching__epochs": 1, "matching__lr": 1e-30}
STAGE_1 = {
    "mmd-fast-stage1": Method(
        "stage 1 of mmd-fast", "MMDRegressor", "ours", always={"quality": "fast"} | _NO_STAGE_2
    ),
    # Ten epochs of likelihood are only a start, so here they get the budget of both stages.
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


def _best_with(title: str, **changes: Any) -> Method:
    return Method(title, "MMDRegressor", "ours", always={"quality": "best"} | changes)


# "best" with one ingredient removed, or added where it has none; everything else is unchanged.
ABLATION = {
    "mmd-best": METHODS["mmd-best"],
    "best-gaussian-head": _best_with("one Gaussian in place of the mixture", components=1),
    "best-no-periodic": _best_with("no periodic embedding", ensemble__periodic=0.0),
    "best-one-submodel": _best_with("networks without submodels", ensemble__submodels=1),
    "best-no-silu": _best_with("no smooth networks", ensemble__kinds=("relu", "neighbours")),
    "best-no-kernel-score": replace(STAGE_1["mmd-best-stage1"], title="likelihood alone"),
    "best-matching": _best_with("matching given the input as well", matching__match="joint"),
    "best-no-averaging": _best_with("weights not averaged", matching__average=0.0),
    "best-no-decay": _best_with("constant learning rate", matching__decay=0.0),
    "best-one-member": _best_with("one network per fold", ensemble__members=1),
    "best-hold-out": _best_with(
        "eight networks, one common hold-out", ensemble__members=8, ensemble__folds=0
    ),
    "best-no-neighbours": _best_with(
        "no network that sees neighbours", ensemble__kinds=("relu", "silu")
    ),
    "best-no-atoms": _best_with("no probabilities for repeated values", atoms=False),
    "best-one-map": _best_with("one final map for all rows", recalibrate="common"),
    "best-no-map": _best_with("no final map", recalibrate=False),
}

STUDY_METHODS: Mapping[str, Method] = METHODS | STAGE_1 | ABLATION
