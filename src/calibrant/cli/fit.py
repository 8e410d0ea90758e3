"""``calibrant fit``: learn a model from a table."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table

from calibrant.cli._columns import (
    check_columns,
    labels,
    numbers,
    rows_with_target,
    select_inputs,
    text_columns,
    training_inputs,
)
from calibrant.cli._interrupts import keeping
from calibrant.cli._output import Voice, write_json
from calibrant.cli._seed import check_seed
from calibrant.cli._tables import read_table, read_training_table
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.estimators import NetworkRegressor


_STAGES = {1: "1, likelihood (NLL)", 2: "2, matching (CRPS)"}


class Method(StrEnum):
    """Methods by the names they have on the command line; the member's name is the class."""

    MMDRegressor = "mmd"
    HeteroscedasticRegressor = "heteroscedastic"
    DeepEnsembleRegressor = "deep-ensemble"
    EnsembleLikelihoodRegressor = "ell"
    QuantileNetworkRegressor = "quantile"
    LaplaceRegressor = "laplace"
    DeepGPRegressor = "dgp"
    MCDropoutRegressor = "mc-dropout"
    MCDropoutLikelihoodRegressor = "mc-nll"


class Quality(StrEnum):
    """How much work the method mmd does."""

    fast = "fast"
    default = "default"
    best = "best"


def fit(
    train: Annotated[
        Path,
        typer.Argument(help="Table to learn from: .csv, .csv.gz or .parquet.", metavar="TRAIN"),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.", metavar="COL")],
    out: Annotated[Path, typer.Option(help="Folder to save the model in.", metavar="FOLDER")],
    method: Annotated[
        Method,
        typer.Option(
            help="mmd, calibrated in two stages, or heteroscedastic, deep-ensemble, ell, "
            "quantile, laplace, dgp, mc-dropout, mc-nll.",
            metavar="NAME",
        ),
    ] = Method.MMDRegressor,
    quality: Annotated[
        Quality,
        typer.Option(help="How much work mmd does: fast, default or best.", metavar="NAME"),
    ] = Quality.default,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="Rows for early stopping and calibration, instead of some of TRAIN.",
            metavar="FILE",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="Rows with the same label are held out together.", metavar="COL"),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Weight of each row, at least 0.", metavar="COL")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; repeatable.", metavar="COL")
    ] = None,
    lower: Annotated[float | None, typer.Option(help="Least possible target.", metavar="X")] = None,
    upper: Annotated[
        float | None, typer.Option(help="Largest possible target.", metavar="X")
    ] = None,
    seed: Annotated[
        int, typer.Option(callback=check_seed, help="Same seed, same model.", metavar="N")
    ] = 0,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Most passes over the rows in each stage.", metavar="N"),
    ] = None,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda, cuda:1 ...", metavar="NAME")
    ] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace a model that is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary for machines.")] = False,
) -> None:
    """Fit a model to a table and save it.

    Text columns become categories and gaps are filled with the median, with a flag column. The
    columns of --groups and --weight are not learned from.
    """
    from calibrant.persistence import check_free

    check_free(out, overwrite=force)  # before the work, not after it
    bounds = _bounds(lower, upper)
    voice = Voice(quiet=quiet)
    frame = read_training_table(train)
    roles = [target, *(name for name in (groups, weight) if name is not None), *(drop or [])]
    check_columns(frame, roles, train)
    frame = rows_with_target(frame, target, train, voice)
    inputs, notes = training_inputs(frame, without=roles)
    for note in notes:
        voice.note(note)

    model = _make_model(
        method,
        quality.value,
        epochs,
        missing="impute",
        bounds=bounds,
        random_state=seed,
        device=device,
        verbose=voice.shows_progress,
    )
    with voice.hears_warnings():
        model.fit(
            inputs,
            frame[target],
            None if weight is None else numbers(frame, weight, train),
            groups=None if groups is None else labels(frame, groups),
            validation_data=None
            if validation is None
            else _validation_rows(validation, inputs, target, weight, voice),
        )
    with keeping(out):
        model.save(out, overwrite=force)

    encoded = [] if model.encoder_ is None else model.encoder_.notes
    for note in encoded:
        voice.note(note)
    summary = _summary(model, rows=len(frame))
    voice.say(_in_words(summary, validation))
    voice.show(_table(summary))
    voice.say(f"The model is in {out}. Try: calibrant evaluate {out} TEST")
    if as_json:
        write_json({"model": str(out), **summary, "notes": [*notes, *encoded]})


def _validation_rows(
    path: Path, inputs: pd.DataFrame, target: str, weight: str | None, voice: Voice
) -> tuple[Any, ...]:
    categorical = text_columns(inputs)
    frame = read_table(path, text=categorical)
    frame = rows_with_target(frame, target, path, voice)
    rows = select_inputs(frame, list(inputs.columns), categorical, path), frame[target]
    return rows if weight is None else (*rows, numbers(frame, weight, path))


def _bounds(lower: float | None, upper: float | None) -> tuple[float | None, float | None] | None:
    if lower is None and upper is None:
        return None
    if lower is not None and upper is not None and not lower < upper:
        raise ParameterError(f"--lower must be below --upper, got {lower:g} and {upper:g}.")
    return lower, upper


def _make_model(
    method: Method,
    quality: Literal["fast", "default", "best"],
    epochs: int | None,
    **parameters: Any,
) -> NetworkRegressor:
    from calibrant import estimators
    from calibrant.estimators import limited_epochs

    if method is Method.MMDRegressor:
        parameters["quality"] = quality
        parameters |= {} if epochs is None else limited_epochs(quality, epochs)
    elif epochs is not None:
        parameters["epochs"] = epochs
    model: NetworkRegressor = getattr(estimators, method.name)().set_params(**parameters)
    return model


def _summary(model: NetworkRegressor, *, rows: int) -> dict[str, Any]:
    stages = []
    for number in sorted({record["stage"] for record in model.history_}):
        records = [record for record in model.history_ if record["stage"] == number]
        kept = next(record for record in records if record["best"])
        stages.append(
            {
                "stage": number,
                "epochs": records[-1]["epoch"],
                "best_epoch": kept["epoch"],
                "first_score": _finite(records[0]["validation_score"]),
                "validation_score": _finite(kept["validation_score"]),
            }
        )
    return {
        "method": type(model).__name__,
        "target": model.target_name_,
        "rows": rows,
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


def _table(summary: dict[str, Any]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 2, 0, 0),
        caption="scores of the scaled target, lower is better",
        caption_justify="left",
    )
    table.add_column("Stage")
    for name in ("epochs", "kept", "held-out score", "at its start"):
        table.add_column(name, justify="right")
    quantiles = summary["method"] == Method.QuantileNetworkRegressor.name
    names = _STAGES | ({1: "1, quantiles (CRPS)"} if quantiles else {})
    for stage in summary["stages"]:
        kept, scores = stage["best_epoch"], (stage["validation_score"], stage["first_score"])
        table.add_row(
            names.get(stage["stage"], str(stage["stage"])),
            str(stage["epochs"]),
            f"epoch {kept}" if kept else "its start",
            *("" if score is None else f"{score:.4f}" for score in scores),
        )
    return table
