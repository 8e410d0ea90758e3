"""``calibrant evaluate``: can a model be trusted on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli._output import Voice, write_json, write_out
from calibrant.cli._tables import read_table
from calibrant.errors import ParameterError


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder of a fitted model.", metavar="MODEL")],
    data: Annotated[
        Path, typer.Argument(help="Rows the model has not seen, with targets.", metavar="DATA")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            help="Column of the targets.", metavar="COL", show_default="the one it was fitted to"
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="Also check calibration within these groups.", metavar="COL"),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Also write the interactive report, one HTML file.", metavar="FILE"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No notes, only the result.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Score a model: calibration beside its noise floor, sharpness, scores and a verdict."""
    if as_json and as_markdown:
        raise ParameterError("Choose one of --json and --markdown.")
    if report is not None:
        from calibrant.report import check_free, write_report

        check_free(report, overwrite=force)
    from calibrant.cli._columns import check_columns, labels, rows_with_target
    from calibrant.cli._models import categorical_columns, innermost, model_inputs
    from calibrant.estimators import load_model
    from calibrant.metrics import evaluate as evaluate_forecast

    fitted = load_model(model)
    name = target or innermost(fitted).target_name_
    if name is None:
        raise ParameterError(f"{model} was fitted to a target without a name: pass --target.")
    frame = read_table(data, text=categorical_columns(fitted))
    check_columns(frame, [name] if groups is None else [name, groups], data)
    voice = Voice(quiet=quiet)
    frame = rows_with_target(frame, name, data, voice)
    inputs = model_inputs(fitted, frame, data, without=[name])
    with voice.hears_warnings():
        dist = fitted.predict_dist(inputs)
    members = None if groups is None else labels(frame, groups)
    result = evaluate_forecast(dist, frame[name].to_numpy(), members)
    if as_json:
        write_json(result.to_dict())
    elif as_markdown:
        write_out(result.to_markdown())
    else:
        write_out(str(result))
        if result.groups is not None:
            write_out(f"\n{result.groups}")
    if report is not None:
        write_report(
            report,
            fitted,
            inputs,
            frame[name],
            overwrite=force,
            groups=None if members is None else frame[groups].map(str),
            title=f"{model.name} on {data.name}",
        )
        voice.say(f"Report: {report}")
