"""``calibrant recalibrate``: mend the calibration of a model with rows it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import _options as option
from calibrant.cli._interrupts import uninterrupted
from calibrant.cli._output import Messages, write_json
from calibrant.errors import ParameterError

METHODS = {"isotonic": "IsotonicRecalibrator", "conformal": "ConformalRecalibrator"}

Rows = Annotated[
    Path, typer.Argument(help="Rows the model has not seen, with targets.", metavar="DATA")
]
Out = Annotated[Path, option.folder(help="Folder to save the recalibrated model in.")]
Target = Annotated[
    str | None,
    option.column(help="Column of the targets.", show_default="the one it was fitted to"),
]
Method = Annotated[
    str,
    option.one_of(
        METHODS,
        help="isotonic: a map of the model's own distributions; conformal: residuals around it.",
    ),
]
Guarantee = Annotated[
    bool,
    typer.Option("--guarantee", help="Intervals that cover what they promise, if conformal."),
]


def recalibrate(
    model: option.Model,
    data: Rows,
    out: Out,
    target: Target = None,
    method: Method = "isotonic",
    guarantee: Guarantee = False,
    force: option.Force = False,
    quiet: option.Silent = False,
    as_json: option.Json = False,
) -> None:
    """Recalibrate a model with rows it was not fitted on, and save the result.

    The new model predicts, evaluates and can be recalibrated like any other. Evaluate it on rows
    that neither the fit nor this command has seen.
    """
    if guarantee and method != "conformal":
        raise ParameterError("--guarantee needs --method conformal.")
    from calibrant.persistence import check_free

    check_free(out, overwrite=force)  # before the work, not after it
    from calibrant import recalibration
    from calibrant.cli._models import fitted_target, load_table_model, model_inputs, read_observed
    from calibrant.metrics import evaluate

    messages = Messages(quiet=quiet)
    fitted = load_table_model(model)
    column = target or fitted_target(fitted, model)
    rows = read_observed([fitted], data, [column], messages)
    options = {"guarantee": True} if guarantee else {}
    recalibrator = getattr(recalibration, METHODS[method])(**options)
    with messages.warnings_as_notes():
        inputs = model_inputs(fitted, rows, data, without=[column])
        before = evaluate(fitted.predict_dist(inputs), rows[column])
        recalibrator.fit(fitted, inputs, rows[column])
    with uninterrupted(out):
        recalibrator.save(out, overwrite=force)
    messages.say(f"Before, on {len(rows):,} rows of {data}: {before.verdict}")
    messages.say(
        f"{type(recalibrator).__name__} learned from these rows and is in {out}. "
        f"Try, with other rows: calibrant evaluate {out} TEST --against {model}"
    )
    if as_json:
        write_json(
            {
                "model": str(out),
                "method": type(recalibrator).__name__,
                "target": column,
                "rows": recalibrator.n_calibration_,
                "before": before.to_dict(),
            }
        )
