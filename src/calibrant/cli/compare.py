"""``calibrant compare``: which method suits a table best."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._board import Board
from calibrant.cli._cells import resumable, split_names
from calibrant.cli._files import write_figure
from calibrant.cli._output import Messages, write_json, write_out

if TYPE_CHECKING:
    from calibrant.experiments import Leaderboard
    from calibrant.experiments.own_table import OwnTable

Methods = Annotated[
    str | None,
    option.names(
        help="Methods of calibrant fit with their options, and packages, separated by commas: "
        "'mmd,mmd --quality best,catboost'.",
        show_default="all that are installed",
    ),
]
Minutes = Annotated[
    float, typer.Option(help="Budget of time; what does not fit is left out.", metavar="MIN")
]
Results = Annotated[Path, option.folder(help="Folder of the results; a run continues there.")]


def compare(
    data: option.Table,
    target: option.Target,
    methods: Methods = None,
    minutes: Minutes = 2.0,
    folds: option.Folds = 5,
    groups: option.Groups = None,
    drop: option.Drop = None,
    out: Results = Path("comparison"),
    figure: option.Figure = None,
    seed: option.Seed = 0,
    device: option.Device = "auto",
    engine: option.Engine = "processes",
    workers: option.Workers = None,
    address: option.Address = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    as_markdown: option.Markdown = False,
) -> None:
    """Cross-validate methods on a table and recommend one, as a command to copy.

    Cheap methods and trees run first, then what the time allows. Skill is the share of the CRPS
    saved against a baseline that ignores the inputs. Rows with equal inputs stay in one fold. Not
    for a series: folds at random would let a method see the future.
    """
    option.check_one_format(json=as_json, markdown=as_markdown)
    from calibrant.cli._data import (
        RANDOM_FOLDS,
        fit_command,
        group_labels,
        note_order,
        read_training_table,
    )
    from calibrant.experiments import chosen_methods
    from calibrant.experiments.own_table import own_table

    names = chosen_methods(split_names(methods) or None)
    messages = Messages(quiet=quiet)
    table = read_training_table(data, target, [groups, *(drop or [])], messages)
    if groups is None:
        note_order(table.rows, table.encoder, messages, *RANDOM_FOLDS)
    with messages.warnings_as_notes():
        experiment = own_table(
            table.inputs,
            table.rows[target],
            folds=folds,
            groups=None if groups is None else group_labels(table.rows, groups),
            name=data.name.split(".")[0],
            seed=seed,
        )

    def command(found: Leaderboard) -> str | None:
        if found.fit_options is None:
            return None
        words = shlex.join(fit_command(data, target, groups, drop))
        return f"{words} {found.fit_options} --out model"

    def write(found: Leaderboard) -> None:
        if as_json:
            write_json(found.to_dict() | {"command": command(found)})
        elif as_markdown:
            write_out(found.to_markdown(command(found)))
        else:
            write_out(found.in_words(command(found)))

    how = {"device": device, "engine": engine, "workers": workers, "address": address}
    found = _run(experiment, names, out, messages, minutes, how, write)
    for method, message in found.failed.items():
        messages.note(f"{method} is left out: {message}")
    if found.unfinished:
        messages.say(
            f"Not enough time for {', '.join(found.unfinished)}: with a larger --minutes the same "
            f"command continues from {out}."
        )
    if figure is not None:
        write_figure(found.draw(), figure, dpi=150)
        messages.say(f"Figure: {figure}")
    write(found)  # last, as it ends in the command to copy


def _run(
    experiment: OwnTable,
    names: list[str],
    out: Path,
    messages: Messages,
    minutes: float,
    how: dict[str, Any],
    write: Callable[[Leaderboard], None],
) -> Leaderboard:
    """Run the methods while the board fills; after an interrupt write what is there."""
    from calibrant.errors import CalibrantError
    from calibrant.experiments import Store, missing, run_comparison, stored_leaderboard

    store = Store(out)
    board = Board(experiment, store, messages, names)

    def count_missing() -> int:
        return len(missing(experiment.cells(names), store, experiment))

    total = len(names) * len(experiment.folds)
    with messages.warnings_as_notes(), resumable(out, total, count_missing):
        try:
            with board.live():
                shown, failed = run_comparison(
                    experiment,
                    names,
                    store,
                    minutes=minutes,
                    on_plan=board.plan,
                    on_outcome=board.show,
                    **how,
                )
        except KeyboardInterrupt:
            with suppress(CalibrantError):  # nothing is finished yet
                write(stored_leaderboard(experiment, names, store, {}))
            raise
        return stored_leaderboard(experiment, shown, store, failed)
