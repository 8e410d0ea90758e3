"""``calibrant compare``: which method suits a table best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.cli._cells import names, resumable, watched
from calibrant.cli._columns import check_columns, labels, rows_with_target, training_inputs
from calibrant.cli._output import Voice, write_json, write_out
from calibrant.cli._seed import check_seed
from calibrant.cli._tables import read_training_table, staged
from calibrant.errors import ParameterError


def compare(
    data: Annotated[
        Path,
        typer.Argument(help="Table: .csv, .csv.gz or .parquet.", metavar="TABLE"),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.", metavar="COL")],
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas, such as mmd,hnn,ngboost.",
            metavar="KEYS",
            show_default="all of this library",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts to predict in turn.", metavar="N")] = 5,
    groups: Annotated[
        str | None,
        typer.Option(help="Rows with the same label stay in one fold.", metavar="COL"),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; repeatable.", metavar="COL")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the results; a run continues there.", metavar="FOLDER")
    ] = Path("comparison"),
    figure: Annotated[
        Path | None,
        typer.Option(help="Also draw it: a .png, .svg or .pdf file.", metavar="FILE"),
    ] = None,
    seed: Annotated[
        int, typer.Option(callback=check_seed, help="Same seed, same folds.", metavar="N")
    ] = 0,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda, cuda:1 ...", metavar="NAME")
    ] = "auto",
    engine: Annotated[
        str, typer.Option(help="processes, ray, or serial: one after another.", metavar="NAME")
    ] = "processes",
    workers: Annotated[
        int | None,
        typer.Option(help="Processes.", min=1, metavar="N", show_default="as many as fit"),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster.", metavar="ADDRESS")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No notes, only the result.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Cross-validate all methods on a table and recommend one, with the reason.

    Calibration stands beside its noise floor. Rows with equal inputs stay in one fold. Not for a
    series: folds at random would let a method see the future.
    """
    if as_json and as_markdown:
        raise ParameterError("Choose one of --json and --markdown.")
    if figure is not None and figure.suffix not in (".png", ".svg", ".pdf"):
        raise ParameterError(f"--figure must end in .png, .svg or .pdf; got {figure}.")
    voice = Voice(quiet=quiet)
    frame = read_training_table(data)
    roles = [target, *([groups] if groups else []), *(drop or [])]
    check_columns(frame, roles, data)
    frame = rows_with_target(frame, target, data, voice)
    inputs, notes = training_inputs(frame, without=roles)
    for note in notes:
        voice.note(note)

    from calibrant.experiments import Store, missing
    from calibrant.experiments import compare as compare_methods
    from calibrant.experiments.own_table import chosen_methods, own_table

    keys = chosen_methods(names(methods) or None)
    table: dict[str, Any] = {
        "folds": folds,
        "groups": None if groups is None else labels(frame, groups),
        "name": data.name.split(".")[0],
        "seed": seed,
    }

    def count_missing() -> int:
        experiment = own_table(inputs, frame[target], **table)
        return len(missing(experiment.cells(keys), Store(out), experiment))

    total = len(keys) * folds
    with (
        voice.hears_warnings(),
        resumable(out, total, count_missing),
        watched(total, voice) as tell,
    ):
        found = compare_methods(
            inputs,
            frame[target],
            **table,
            methods=keys,
            store=out,
            device=device,
            engine=engine,
            workers=workers,
            address=address,
            on_outcome=tell,
        )
    for method, message in found.failed.items():
        voice.note(f"{method} is left out: {message}")
    if as_json:
        write_json(found.to_dict())
    elif as_markdown:
        write_out(found.to_markdown())
    else:
        write_out(str(found))
    if figure is not None:
        with staged(figure.absolute().parent) as folder:
            found.draw().savefig(folder / figure.name, dpi=150)
        voice.say(f"Figure: {figure}")
