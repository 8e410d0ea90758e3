"""``calibrant recalibrate``: mend the calibration of a model with rows it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._interrupts import uninterrupted
from calibrant.cli._output import Messages, write_json
from calibrant.errors import ParameterError

METHODS = {
    "isotonic": "IsotonicRecalibrator",
    "conformal": "ConformalRecalibrator",
    "groups": "GroupRecalibrator",
}

Rows = Annotated[
    Path, typer.Argument(help="Rows the model has not seen, with targets.", metavar="DATA")
]
Out = Annotated[Path, option.folder(help="Folder to save the recalibrated model in.")]
Method = Annotated[
    str | None,
    option.one_of(
        METHODS,
        help="isotonic: a map of the model's own distributions; conformal: residuals around it; "
        "groups: a map within each --group.",
        show_default="isotonic, groups with --group",
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        "--groups",
        help='Column of groups to calibrate one by one, or "predicted mean" or "predicted spread"; '
        "repeatable.",
        metavar="COL",
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
    target: option.FittedTarget = None,
    method: Method = None,
    group: Group = None,
    guarantee: Guarantee = False,
    force: option.Force = False,
    quiet: option.Silent = False,
    as_json: option.Json = False,
) -> None:
    """Recalibrate a model with rows it was not fitted on, and save the result.

    The new model predicts, evaluates and can be recalibrated like any other; with --group, tables
    need these columns. Evaluate it on rows that neither the fit nor this command has seen.
    """
    method = method or ("groups" if group else "isotonic")
    if guarantee and method != "conformal":
        raise ParameterError("--guarantee needs --method conformal.")
    if bool(group) != (method == "groups"):
        raise ParameterError(f"--method {method} {'takes no' if group else 'needs a'} --group.")
    from calibrant.persistence import check_free

    check_free(out, overwrite=force)  # before the work, not after it
    from calibrant import recalibration
    from calibrant.cli._models import fitted_target, load_one_output, model_inputs, read_observed
    from calibrant.metrics import evaluate
    from calibrant.recalibration.grouping import PREDICTED

    messages = Messages(quiet=quiet)
    fitted = load_one_output(model)
    column = target or fitted_target(fitted, model)
    groups = list(dict.fromkeys(group or []))
    columns = [name for name in groups if name not in PREDICTED]
    rows = read_observed([fitted], data, [column], columns, messages)
    options: dict[str, Any] = {"guarantee": True} if guarantee else {}
    options |= {"groups": groups} if groups else {}
    recalibrator = getattr(recalibration, METHODS[method])(**options)
    with messages.warnings_as_notes():
        inputs = model_inputs(fitted, rows, data, without=[column])
        before = evaluate(fitted.predict_dist(inputs), rows[column])
        inputs = model_inputs(fitted, rows, data, without=[column], also=columns)
        recalibrator.fit(fitted, inputs, rows[column])
    with uninterrupted(out):
        recalibrator.save(out, overwrite=force)
    messages.say(f"Before, on {len(rows):,} rows of {data}: {before.verdict}")
    messages.say(
        f"{type(recalibrator).__name__} learned from these rows{_corrected(recalibrator)} and is "
        f"in {out}. "
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


def _corrected(recalibrator: Any) -> str:
    """How many groups have a correction of their own, in words."""
    if not hasattr(recalibrator, "groupings_"):
        return ""
    corrected = len({(step.column, step.code) for step in recalibrator.steps_})
    found = sum(len(each) for each in recalibrator.groupings_)
    return f", {corrected} of {found} groups corrected by themselves,"
