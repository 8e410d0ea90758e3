"""A small set of records: three methods, two data sets, two trials."""

from __future__ import annotations

from typing import Any

import numpy as np

SCORES = ("ecpe", "mcpe", "rmse", "epiw", "mpiw", "r2", "smape", "rse", "crps")
LEVELS = np.arange(1, 100) / 100


def record(
    dataset: str, method: str, trial: int, value: float = 0.1, **more: Any
) -> dict[str, Any]:
    drawn = {name: [1.0, 2.0, 3.0] for name in ("y", "mean")}
    drawn |= {"position": [0, 1, 5], "lower": [0.0, 1.5, 2.0], "upper": [2.0, 3.0, 2.5]}
    return {
        "cell": {"protocol": "honest", "dataset": dataset, "method": method, "trial": trial},
        "scores": dict.fromkeys(SCORES, value + 0.001 * trial),
        "floor": {"ecpe": 0.0102, "mcpe": 0.0259},
        "covered": (LEVELS**2).tolist(),
        "rows": {"train": 80, "test": 20},
        "seconds": {"fit": 1800.0, "predict": 0.0},
        "versions": {"torch": "2.13.0"},
        "machine": {"device": "cpu", "system": "Linux", "python": "3.11", "cores": 2},
        "commit": "abc1234",
        "finished": "2026-01-02T03:04:05+00:00",
        **({"intervals": drawn} if trial == 0 else {}),
    } | more


RECORDS = [
    record(dataset, method, trial, value)
    for dataset in ("wine", "pm25")
    for method, value in (("hnn", 0.2), ("mmd", 0.1), ("ngboost", 0.01))
    for trial in range(2)
]
DEPTH = [record("wine", f"mmd-depth{layers}", 0) for layers in (1, 2)]
PUBLISHED = [run | {"cell": run["cell"] | {"protocol": "published"}} for run in RECORDS]


def scored(
    method: str, trial: int, scores: dict[str, float], *, dataset: str = "wine"
) -> dict[str, Any]:
    """A record under the published protocol with these scores."""
    cell = {"protocol": "published", "dataset": dataset, "method": method, "trial": trial}
    return record(dataset, method, trial, scores=scores, cell=cell)


def trials_of(method: str, **values: list[float]) -> list[dict[str, Any]]:
    """One record per trial of a method, with these scores."""
    rows = zip(*values.values(), strict=True)
    return [
        scored(method, trial, {k: v for k, v in zip(values, row, strict=True) if v is not None})
        for trial, row in enumerate(rows)
    ]
