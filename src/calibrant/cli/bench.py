"""``calibrant bench``: the tables of the paper, run and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli._cells import names, resumable, watched
from calibrant.cli._output import Voice, write_json
from calibrant.cli.bench_files import pack, unpack
from calibrant.cli.bench_results import figures, report, show
from calibrant.errors import (
    CalibrantError,
    MissingDependencyError,
    MissingFileError,
    ParameterError,
)

_EXTRAS = "They are in the extras gp and rivals: pip install 'calibrant[gp,rivals]'."

bench = typer.Typer(no_args_is_help=True, help="Run the experiments of the paper and compare.")


@bench.command()
def paper(
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data sets.", metavar="DIR")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Data sets, separated by commas.", metavar="NAMES")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas.", metavar="KEYS")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="Trials of each cell.", min=1, metavar="N", show_default="5, quick 1"),
    ] = None,
    first_trial: Annotated[
        int,
        typer.Option(
            help="Number of the first one: from 100 on to choose settings.", min=0, metavar="N"
        ),
    ] = 0,
    protocol: Annotated[
        str,
        typer.Option(
            help="honest: no leaks; published: as the paper's authors ran it; shuffled: as "
            "published, but every trial has a split of its own.",
            metavar="NAME",
        ),
    ] = "honest",
    preset: Annotated[
        str,
        typer.Option(help="full, or quick: a smoke test of one trial on few rows.", metavar="NAME"),
    ] = "full",
    study: Annotated[
        str,
        typer.Option(help="tables, or depth: wine with one to five hidden layers.", metavar="NAME"),
    ] = "tables",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda ...", metavar="NAME")] = "auto",
    workers: Annotated[
        int | None,
        typer.Option(help="Processes.", min=1, metavar="N", show_default="as many as fit"),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="processes, ray, or serial: one cell after another.", metavar="NAME")
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of the Ray cluster.", metavar="ADDRESS", show_default="this machine"
        ),
    ] = None,
    together: Annotated[
        int | None,
        typer.Option(
            help="Trials of a method to train as one batch.",
            min=1,
            metavar="N",
            show_default="on a GPU all",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Start nothing new after so many; the same command goes on.", min=0.0, metavar="X"
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.", metavar="DIR")] = Path(
        "results"
    ),
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary for machines.")] = False,
) -> None:
    """Run the paper's tables; results that are there already are not computed again."""
    import time

    from calibrant.experiments import (
        DEPTH_STUDY,
        METHODS,
        TASKS,
        PaperExperiment,
        Store,
        in_depth,
        installed,
        missing,
        plan,
        run_cells,
        time_table,
    )

    if study not in ("tables", "depth"):
        raise ParameterError(f"--study must be tables or depth; got {study!r}.")
    if preset not in ("full", "quick"):
        raise ParameterError(f"--preset must be full or quick; got {preset!r}.")
    quick, voice = preset == "quick", Voice(quiet=quiet)
    tasks, keys = list(TASKS), names(methods)
    if study == "depth":
        tasks, keys = ["wine"], in_depth(keys or DEPTH_STUDY)
    keys = keys or list(METHODS)
    if left_out := sorted(set(keys) - set(installed(keys))):
        if methods:
            raise MissingDependencyError(f"Not installed: {', '.join(left_out)}. {_EXTRAS}")
        voice.note(f"left out, not installed: {', '.join(left_out)}. {_EXTRAS}")
    cells = plan(
        names(only) or tasks,
        installed(keys),
        trials or (1 if quick else 5),
        protocol,
        first_trial=first_trial,
        quick=quick,
    )
    if data is not None and not data.expanduser().is_dir():
        raise MissingFileError(f"There is no folder {data}, which --data names.")
    store, experiment = Store(out), PaperExperiment(data)
    todo = missing(cells, store, experiment)
    voice.say(f"{len(cells) - len(todo)} of {len(cells)} cells are in {out}, {len(todo)} to run")
    start = time.perf_counter()
    with (
        voice.hears_warnings(),
        resumable(out, len(cells), lambda: len(missing(cells, store, experiment))),
        watched(len(todo), voice) as tell,
    ):
        outcomes = run_cells(
            todo,
            store,
            experiment,
            device=device,
            engine=engine,
            workers=workers,
            address=address,
            together=together,
            minutes=minutes,
            on_outcome=tell,
        )
    wall, failed = time.perf_counter() - start, [o for o in outcomes if o.status == "failed"]
    if times := time_table(outcomes):
        voice.say(times.rstrip())
    voice.say(f"{wall:.1f} s; compare with: calibrant bench show {out}")
    if left := len(todo) - len(outcomes):
        voice.say(f"{left} cells were not started: the same command goes on with them.")
    if as_json:
        write_json(
            {
                "results": str(out),
                "cells": len(cells),
                "run": sum(outcome.status == "done" for outcome in outcomes),
                "failed": {str(outcome.cell): outcome.message for outcome in failed},
                "in_other_runs": sum(outcome.status == "busy" for outcome in outcomes),
                "not_started": left,
                "seconds": round(wall, 3),
            }
        )
    if failed:
        raise CalibrantError(f"{len(failed)} of {len(todo)} cells failed; the others are in {out}.")


for _command in (show, figures, report, pack, unpack):
    bench.command()(_command)
