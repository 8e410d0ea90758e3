"""Which settings of `MMDRegressor` are better? On development splits, paired with the default.

    python benchmarks/settings.py --only pm25 --try epochs=1 --try dropout=0.2 matching__average=15
    python benchmarks/settings.py --protocol small-200 --try ensemble__folds=0 --methods quantile
    python benchmarks/settings.py --device cuda --workers 14 --trials 12 --try components=1

Every --try is one row, with those parameters in place of the defaults. Trials are numbered from 100
on; the reported ones, 0 to 19, are not used. Differences of CRPS are paired by trial, with their
standard error; ECPE is in noise floors. On a GPU the trials of a row train as one batch.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Sequence
from datetime import date
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from quality_pages import STUDY_METHODS

from calibrant.engines import run_in_processes
from calibrant.experiments import TASKS, make_split
from calibrant.experiments.methods import build
from calibrant.experiments.trial import fit_and_predict

FIRST_TRIAL = 100
LARGE = ("metro_traffic", "protein")


class Job(NamedTuple):
    """Trials of one row of a table."""

    dataset: str
    row: str
    method: str
    settings: dict[str, Any]
    trials: Sequence[int]


class Score(NamedTuple):
    """Scores of a trial."""

    crps: float
    ecpe: float  # in floors
    seconds: float


def run(job: Job, protocol: Any, data: str, device: str) -> list[Score]:
    """Fit and score."""
    import torch

    from calibrant import evaluate

    if device == "cpu":
        torch.set_num_threads(1)  # other workers use the other cores
    task, method = TASKS[job.dataset], STUDY_METHODS[job.method]
    splits = [make_split(task, protocol, trial, data) for trial in job.trials]
    models = [
        build(method, protocol, series=task.series).set_params(
            random_state=trial, device=device, **job.settings
        )
        for trial in job.trials
    ]
    scores = []
    for (dist, seconds), split in zip(fit_and_predict(method, models, splits), splits, strict=True):
        found = evaluate(dist, split.y_test)
        scores.append(Score(found.crps, found.ecpe / found.floor.ecpe, seconds["fit"]))
    return scores


def jobs_of(options: argparse.Namespace) -> list[Job]:
    """Jobs to run, the longest first."""
    rows: list[tuple[str, str, dict[str, Any]]] = [("default", "mmd", {})]
    rows += [(" ".join(each), "mmd", dict(map(parameter, each))) for each in options.settings]
    rows += [(key, key, {}) for key in options.methods]
    return [
        Job(name, *row, trials)
        for name in sorted(options.only, key=lambda name: name not in LARGE)
        for row in rows
        for trials in parts_of(row[1], options)
    ]


def parts_of(method: str, options: argparse.Namespace) -> list[range]:
    """Trials per job: all on a GPU if they can train as one batch, otherwise one."""
    trials = range(FIRST_TRIAL, FIRST_TRIAL + options.trials)
    together = len(trials) if options.device == "cuda" and STUDY_METHODS[method].batched else 1
    return [trials[i : i + together] for i in range(0, len(trials), together)]


def parameter(text: str) -> tuple[str, Any]:
    """Name and value of ``name=value``; numbers and booleans are parsed."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def show(found: dict[tuple[str, str], dict[int, Score]]) -> None:
    """Print one table per data set."""
    for dataset in dict.fromkeys(name for name, _ in found):
        rows = {row: trials for (name, row), trials in found.items() if name == dataset}
        width = max(len(row) for row in rows)
        print(f"\n{dataset:{width}}       CRPS   to default, %  ECPE / floor  seconds")
        for row, trials in rows.items():
            crps, ecpe, seconds = np.mean(list(trials.values()), axis=0)
            shares = [100 * (own.crps / rows["default"][t].crps - 1) for t, own in trials.items()]
            error = ""  # one trial says nothing about noise
            if len(shares) > 1:
                error = f" ± {np.std(shares, ddof=1) / len(shares) ** 0.5:4.2f}"
            print(
                f"{row:{width}} {crps:10.4g}  {np.mean(shares):+6.2f}{error:7}"
                f"  {ecpe:12.2f}  {seconds:7.1f}"
            )


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names: Any = {"type": lambda text: text.split(","), "metavar": "A,B"}
    parser.add_argument("--data", default=os.environ.get("CALIBRANT_DATA", "../shared/data"))
    parser.add_argument("--only", default=list(TASKS), help="data sets", **names)
    parser.add_argument(
        "--try", nargs="+", action="append", default=[], dest="settings", metavar="NAME=VALUE"
    )
    parser.add_argument("--methods", default=[], help="other methods, with their defaults", **names)
    parser.add_argument("--protocol", default="shuffled")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if not options.settings and not options.methods:
        print("Nothing to compare with the default: name settings with --try, see --help.")
        return
    jobs = jobs_of(options)
    fit = partial(run, protocol=options.protocol, data=options.data, device=options.device)
    found: dict[tuple[str, str], dict[int, Score]] = {(job.dataset, job.row): {} for job in jobs}
    finished = run_in_processes(fit, jobs, workers=options.workers)
    for count, (job, scores) in enumerate(finished, start=1):
        if scores is None:
            raise SystemExit(f"The process of {job} died twice, probably out of memory.")
        found[job.dataset, job.row].update(zip(job.trials, scores, strict=True))
        print(f"\r{count}/{len(jobs)}", end="", file=sys.stderr, flush=True)
    print(f"\npython {' '.join(sys.argv)}")
    print(f"{date.today()}, torch {version('torch')}, {options.device}")
    show(found)


if __name__ == "__main__":
    main()
