"""``calibrant tune``: search for better settings of a method on a table."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli import _options as option
from calibrant.cli._files import staged
from calibrant.cli._output import Messages, reporting_interrupts, write_json, write_out
from calibrant.methods import METHODS

if TYPE_CHECKING:
    from calibrant.tuning.search import Progress

_PARAMS, _STUDY = "params.json", "study.db"

Method = Annotated[str, option.one_of(METHODS, help="Method to tune, as in calibrant fit.")]
Quality = Annotated[
    str, option.one_of(("fast", "default", "best"), help="Quality of mmd to start from.")
]
Minutes = Annotated[float, typer.Option(min=0.01, help="Budget of time.", metavar="MIN")]
Out = Annotated[Path, option.folder(help="Folder of the search; the same command goes on there.")]


def tune(
    data: option.Table,
    target: option.Target,
    minutes: Minutes = 10.0,
    method: Method = "mmd",
    quality: Quality = "default",
    folds: option.Folds = 5,
    groups: option.Groups = None,
    drop: option.Drop = None,
    out: Out = Path("tuning"),
    seed: option.Seed = 0,
    device: option.Device = "auto",
    engine: option.Engine = "serial",
    workers: option.Workers = None,
    address: option.Address = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
) -> None:
    """Search for settings with a lower cross-validated CRPS, and print a command to copy.

    The settings of calibrant fit are the first trial: the result is never worse on these folds,
    and it says whether it is better by more than noise. Ctrl-C keeps the trials. Not for a series.
    """
    from calibrant.cli._data import (
        RANDOM_FOLDS,
        fit_command,
        group_labels,
        note_order,
        read_training_table,
    )
    from calibrant.cli.fit import make_model
    from calibrant.engines import make_engine
    from calibrant.errors import ColumnWarning
    from calibrant.experiments import duration
    from calibrant.tuning import tune as search

    messages = Messages(quiet=quiet)
    table = read_training_table(data, target, [groups, *(drop or [])], messages)
    if groups is None:
        note_order(table.rows, table.encoder, messages, *RANDOM_FOLDS)
    model = make_model(method, quality, None, device=device)
    run = make_engine(engine, workers=workers, address=address, device=device)
    trials = [0]

    def plan(seconds: float) -> None:
        messages.say(
            f"Plan: {folds} folds of {len(table.rows):,} rows. A trial takes about "
            f"{duration(seconds)}, the budget is {duration(60 * minutes)}."
        )

    def show(progress: Progress) -> None:
        trials[0] += 1
        name = "as it is" if progress.number == 0 else f"trial {progress.number}"
        given_up = "" if progress.folds == folds else f", given up after fold {progress.folds}"
        messages.say(
            f"{name}: CRPS {progress.crps:.4g}, best {progress.best:.4g}, "
            f"{duration(progress.seconds)}{given_up}; {duration(progress.left)} left"
        )

    def kept() -> str:
        return f"{trials[0]} trials of this run are kept in {out}; the same command goes on there."

    out.mkdir(parents=True, exist_ok=True)
    with messages.warnings_as_notes(but=ColumnWarning), reporting_interrupts(kept):
        found = search(
            model,
            table.inputs,
            table.rows[target],
            minutes=minutes,
            folds=folds,
            groups=None if groups is None else group_labels(table.rows, groups),
            storage=f"sqlite:///{out / _STUDY}",
            run=run,
            seed=seed,
            refit=False,
            on_plan=plan,
            on_trial=show,
        )
    result = found.to_dict()
    with staged(out) as folder:
        (folder / _PARAMS).write_text(json.dumps(result["params"], indent=2) + "\n", "utf-8")
    words = [*fit_command(data, target, groups, drop), "--method", method]
    words += ["--quality", quality] if method == "mmd" else []
    words += ["--params", str(out / _PARAMS)] if found.params else []
    command = shlex.join([*words, "--out", "model"])
    if as_json:
        write_json(result | {"command": command})
    else:
        write_out(f"{found}\n\n{command}")
