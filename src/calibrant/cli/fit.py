"""``calibrant fit``: learn a model from a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._interrupts import uninterrupted
from calibrant.cli._output import Messages, write_json
from calibrant.cli._text_table import text_table
from calibrant.errors import ParameterError
from calibrant.methods import METHODS

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.estimators import NetworkRegressor

QUALITIES = ("fast", "default", "best")

Train = Annotated[
    Path, typer.Argument(help="Table to learn from: .csv, .csv.gz or .parquet.", metavar="TRAIN")
]
Out = Annotated[Path, option.folder(help="Folder to save the model in.")]
Method = Annotated[
    str,
    option.one_of(
        METHODS, help=f"mmd, calibrated in two stages, or {', '.join(list(METHODS)[1:])}."
    ),
]
Quality = Annotated[
    str, option.one_of(QUALITIES, help="How much work mmd does: fast, default or best.")
]
TimeBudget = Annotated[
    float | None,
    typer.Option(
        min=1, help="Seconds for mmd to train in, instead of --quality.", metavar="SECONDS"
    ),
]
Validation = Annotated[
    Path | None,
    option.file(help="Rows for early stopping and calibration, instead of some of TRAIN."),
]
Groups = Annotated[
    str | None, option.column(help="Rows with the same label are held out together.")
]
Weight = Annotated[str | None, option.column(help="Weight of each row, at least 0.")]
Lower = Annotated[float | None, typer.Option(help="Lower bound of the target.", metavar="X")]
Upper = Annotated[float | None, typer.Option(help="Upper bound of the target.", metavar="X")]


def fit(
    train: Train,
    target: option.Target,
    out: Out,
    method: Method = "mmd",
    quality: Quality = "default",
    time_budget: TimeBudget = None,
    validation: Validation = None,
    groups: Groups = None,
    weight: Weight = None,
    drop: option.Drop = None,
    lower: Lower = None,
    upper: Upper = None,
    seed: option.Seed = 0,
    epochs: option.Epochs = None,
    device: option.Device = "auto",
    force: option.Force = False,
    quiet: option.Silent = False,
    as_json: option.Json = False,
) -> None:
    """Fit a model to a table and save it.

    Text columns become categories and gaps are filled with the median, with a flag column. The
    columns of --groups and --weight are not learned from.
    """
    from calibrant.persistence import check_free

    check_free(out, overwrite=force)  # before the work, not after it
    bounds = _bounds(lower, upper)
    from calibrant.cli._data import group_labels, read_training_table
    from calibrant.tables import to_numbers

    messages = Messages(quiet=quiet)
    table = read_training_table(train, target, [groups, weight, *(drop or [])], messages)
    common: dict[str, Any] = {
        "random_state": seed,
        "device": device,
        "verbose": messages.shows_progress,
    }
    if time_budget is not None and method != "mmd":
        raise ParameterError(f"--time-budget is for --method mmd, got --method {method}.")
    common |= {} if time_budget is None else {"time_budget": time_budget}
    model = _make_model(method, quality, epochs, bounds=bounds, **common)
    with messages.warnings_as_notes():
        model.fit(
            table.inputs,
            table.rows[target],
            None if weight is None else to_numbers(table.rows[weight], str(train)),
            groups=None if groups is None else group_labels(table.rows, groups),
            validation_data=None
            if validation is None
            else _validation_data(validation, table.inputs, target, weight, messages),
        )
    with uninterrupted(out):
        model.save(out, overwrite=force)
    encoded = [] if model.encoder_ is None else model.encoder_.notes
    for note in encoded:
        messages.note(note)
    summary = _summary(model, n_rows=len(table.rows))
    messages.say(_in_words(summary, validation))
    messages.say(_stage_table(summary))
    messages.say(f"The model is in {out}. Try: calibrant evaluate {out} TEST")
    if as_json:
        write_json({"model": str(out), **summary, "notes": [*table.notes, *encoded]})


def _validation_data(
    path: Path, inputs: pd.DataFrame, target: str, weight: str | None, messages: Messages
) -> tuple[Any, ...]:
    """Read inputs, targets and, where there are any, weights of the validation rows."""
    from calibrant.cli._data import check_columns, rows_with_target, select_inputs
    from calibrant.tables import is_categorical, read_table, to_numbers

    categorical = [str(name) for name, column in inputs.items() if is_categorical(column)]
    frame = read_table(path, text=categorical)
    check_columns(frame, [target] if weight is None else [target, weight], path)
    rows = rows_with_target(frame, target, path, messages)
    data = select_inputs(rows, list(inputs.columns), categorical, path), rows[target]
    return data if weight is None else (*data, to_numbers(rows[weight], str(path)))


def _bounds(lower: float | None, upper: float | None) -> tuple[float | None, float | None] | None:
    if lower is None and upper is None:
        return None
    if lower is not None and upper is not None and not lower < upper:
        raise ParameterError(f"--lower must be below --upper, got {lower:g} and {upper:g}.")
    return lower, upper


def _make_model(
    method: str, quality: Any, epochs: int | None, **parameters: Any
) -> NetworkRegressor:
    from calibrant import estimators
    from calibrant.estimators import limited_epochs

    if method == "mmd":
        parameters["quality"] = quality
        parameters |= {} if epochs is None else limited_epochs(quality, epochs)
    elif epochs is not None:
        parameters["epochs"] = epochs
    model: NetworkRegressor = getattr(estimators, METHODS[method])().set_params(**parameters)
    return model


def _summary(model: NetworkRegressor, *, n_rows: int) -> dict[str, Any]:
    """What was fitted, as JSON values."""
    stages = []
    for number in sorted({record["stage"] for record in model.history_}):
        records = [record for record in model.history_ if record["stage"] == number]
        kept = next(record for record in records if record["best"])
        stages.append(
            {
                "stage": number,
                "score": kept["score_name"],
                "epochs": records[-1]["epoch"],
                "best_epoch": kept["epoch"],
                "first_score": _finite(records[0]["validation_score"]),
                "validation_score": _finite(kept["validation_score"]),
            }
        )
    return {
        "method": type(model).__name__,
        "target": model.target_name_,
        "rows": n_rows,
        "held_out_rows": model.n_held_out_,
        "inputs": [str(name) for name in model.feature_names_in_],
        "stages": stages,
    }


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None


def _in_words(summary: dict[str, Any], validation: Path | None) -> str:
    rows, held_out = summary["rows"], summary["held_out_rows"]
    if validation is not None:
        which = f"{held_out:,} of {validation}"
    else:  # all of them where folds are cross-fitted
        which = "all held out in turn" if held_out == rows else f"{held_out:,} of them held out"
    return (
        f"{summary['method']}: {summary['target']} from {len(summary['inputs'])} columns, "
        f"{rows:,} rows, {which} to stop and calibrate."
    )


def _stage_table(summary: dict[str, Any]) -> str:
    """Table of the training stages, with scores of the held-out rows."""
    rows = [
        {
            "stage": f"{stage['stage']}, by {stage['score']}",
            "epochs": str(stage["epochs"]),
            "kept": f"epoch {stage['best_epoch']}" if stage["best_epoch"] else "its start",
            "held-out score": _four_digits(stage["validation_score"]),
            "at its start": _four_digits(stage["first_score"]),
        }
        for stage in summary["stages"]
    ]
    table = text_table(rows, left=("stage",))
    return f"\n{table}\n\nScores are of the scaled target, lower is better."


def _four_digits(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}"
