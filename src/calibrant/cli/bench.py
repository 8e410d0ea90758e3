"""``calibrant bench``: the tables of the paper, run and compared."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._cells import cell_progress, resumable, split_names
from calibrant.cli._output import Messages, write_json
from calibrant.cli.bench_files import pack, unpack
from calibrant.cli.bench_results import figures, show
from calibrant.errors import (
    CalibrantError,
    MissingDependencyError,
    MissingFileError,
)

if TYPE_CHECKING:
    from calibrant.experiments import Cell, Outcome

_EXTRAS = "They are in the extras gp and rivals: pip install 'calibrant[gp,rivals]'."

Data = Annotated[Path | None, option.folder(help="Folder of the data sets.")]
Only = Annotated[str | None, option.names(help="Data sets, separated by commas.")]
Methods = Annotated[str | None, option.names(help="Methods, separated by commas.")]
Trials = Annotated[int | None, option.count(help="Trials of each cell.", show_default="5, quick 1")]
FirstTrial = Annotated[
    int,
    typer.Option(
        help="Number of the first trial; settings are chosen on trials from 100 on.",
        min=0,
        metavar="N",
    ),
]
Protocol = Annotated[
    str,
    option.name(
        help="honest: no leaks; published: as the paper's authors ran it; shuffled: as "
        "published, but every trial has a split of its own."
    ),
]
Preset = Annotated[
    str,
    option.one_of(("full", "quick"), help="full, or quick: a smoke test of one trial on few rows."),
]
Study = Annotated[
    str,
    option.one_of(
        ("tables", "depth"), help="tables, or depth: wine with one to five hidden layers."
    ),
]
Together = Annotated[
    int | None,
    option.count(help="Trials of a method to train as one batch.", show_default="on a GPU all"),
]
Minutes = Annotated[
    float | None,
    typer.Option(help="Stop after this many minutes; rerun to resume.", min=0.0, metavar="X"),
]
Results = Annotated[Path, option.folder(help="Folder of the results.")]

bench = typer.Typer(no_args_is_help=True, help="Run the experiments of the paper and compare.")


@bench.command()
def paper(
    data: Data = None,
    only: Only = None,
    methods: Methods = None,
    trials: Trials = None,
    first_trial: FirstTrial = 0,
    protocol: Protocol = "honest",
    preset: Preset = "full",
    study: Study = "tables",
    device: option.Device = "auto",
    workers: option.Workers = None,
    engine: option.Engine = "processes",
    address: option.Address = None,
    together: Together = None,
    minutes: Minutes = None,
    out: Results = Path("results"),
    quiet: option.Silent = False,
    as_json: option.Json = False,
) -> None:
    """Run the paper's tables; results that exist already are not computed again."""
    from calibrant.experiments import plan

    messages, quick = Messages(quiet=quiet), preset == "quick"
    tasks, keys = _chosen(study, split_names(only), split_names(methods), messages)
    n_trials = trials or (1 if quick else 5)
    cells = plan(tasks, keys, n_trials, protocol, first_trial=first_trial, quick=quick)
    if data is not None and not data.expanduser().is_dir():
        raise MissingFileError(f"There is no folder {data}, which --data names.")
    how = {"device": device, "engine": engine, "workers": workers, "address": address}
    summary = _run(cells, data, out, messages, **how, together=together, minutes=minutes)
    if as_json:
        write_json(summary)
    if failed := len(summary["failed"]):
        started = failed + summary["run"] + summary["in_other_runs"]
        raise CalibrantError(f"{failed} of {started} cells failed; the others are in {out}.")


def _chosen(
    study: str, only: list[str], methods: list[str], messages: Messages
) -> tuple[list[str], list[str]]:
    """Return the tasks and the methods to run; methods that are not installed are left out."""
    from calibrant.experiments import DEPTH_STUDY, METHODS, TASKS, in_depth, installed

    tasks, keys = list(TASKS), methods or list(METHODS)
    if study == "depth":
        tasks, keys = ["wine"], in_depth(methods or DEPTH_STUDY)
    if left_out := sorted(set(keys) - set(installed(keys))):
        if methods:
            raise MissingDependencyError(f"Not installed: {', '.join(left_out)}. {_EXTRAS}")
        messages.note(f"left out, not installed: {', '.join(left_out)}. {_EXTRAS}")
    return only or tasks, installed(keys)


def _run(
    cells: list[Cell], data: Path | None, out: Path, messages: Messages, **how: Any
) -> dict[str, Any]:
    """Run the cells that have no result yet, with progress, and summarise what happened.

    Parameters
    ----------
    cells : list of Cell
    data : Path, optional
        Folder of the data sets.
    out : Path
        Folder of the results.
    messages : Messages
    **how
        Options of `calibrant.experiments.run_cells`.
    """
    from calibrant.experiments import PaperExperiment, Store, missing, run_cells, time_table

    store, experiment = Store(out), PaperExperiment(data)
    todo = missing(cells, store, experiment)
    messages.say(f"{len(cells) - len(todo)} of {len(cells)} cells are in {out}, {len(todo)} to run")
    start = time.perf_counter()
    with (
        messages.warnings_as_notes(),
        resumable(out, len(cells), lambda: len(missing(cells, store, experiment))),
        cell_progress(len(todo), messages) as show_outcome,
    ):
        outcomes = run_cells(todo, store, experiment, on_outcome=show_outcome, **how)
    seconds = time.perf_counter() - start
    if times := time_table(outcomes):
        messages.say(times.rstrip())
    messages.say(f"{seconds:.1f} s; compare with: calibrant bench show {out}")
    if not_started := len(todo) - len(outcomes):
        messages.say(f"{not_started} cells were not started: the same command continues with them.")
    return {
        "results": str(out),
        "cells": len(cells),
        "run": _count(outcomes, "done"),
        "failed": {str(each.cell): each.message for each in outcomes if each.status == "failed"},
        "in_other_runs": _count(outcomes, "busy"),
        "not_started": not_started,
        "seconds": round(seconds, 3),
    }


def _count(outcomes: list[Outcome], status: str) -> int:
    return sum(outcome.status == status for outcome in outcomes)


for _command in (show, figures, pack, unpack):
    bench.command()(_command)
