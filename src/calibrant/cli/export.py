"""``calibrant export``: a fitted model as a file for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._files import check_output
from calibrant.cli._interrupts import uninterrupted
from calibrant.cli._output import Messages
from calibrant.errors import ParameterError

Onnx = Annotated[Path, option.file(help="ONNX file to write.")]
Level = Annotated[
    list[float] | None,
    typer.Option(
        callback=option.check_levels,
        help="Level of a quantile; repeatable.",
        metavar="LEVEL",
        show_default="0.05, 0.25, 0.5, 0.75 and 0.95",
    ),
]
Encoded = Annotated[
    bool,
    typer.Option("--encoded", help="Take rows that model.encoder_ has encoded, such as dates."),
]


def export(
    model: option.Model,
    onnx: Onnx,
    level: Level = None,
    encoded: Encoded = False,
    force: option.Force = False,
    quiet: option.Silent = False,
) -> None:
    """Export a model as one ONNX graph: features to mean, spread and calibrated quantiles.

    Scaling and the encoding of numbers, gaps and categories are part of the graph.
    """
    from calibrant.estimators import MultiOutput, NetworkRegressor
    from calibrant.models import load_model
    from calibrant.recalibration import Recalibrator

    check_output(onnx, force=force)
    fitted = load_model(model)
    if not isinstance(fitted, NetworkRegressor | Recalibrator | MultiOutput):
        raise ParameterError(
            f"{model} holds a {type(fitted).__name__}, which can't be exported: only models that "
            "`calibrant fit` and `calibrant recalibrate` write can."
        )
    if encoded and isinstance(fitted, MultiOutput):
        raise ParameterError(
            "--encoded takes a model of one target: export each of model.models_ in Python."
        )
    messages = Messages(quiet=quiet)
    options: dict[str, Any] = {"levels": level} if level else {}
    options |= {"encoded": True} if encoded else {}
    with messages.warnings_as_notes(), uninterrupted(onnx):
        fitted.to_onnx(onnx, overwrite=force, **options)
    messages.say(f"{onnx} takes any number of rows; its metadata names the columns.")
