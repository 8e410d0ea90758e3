"""``calibrant fit``: learn a model from a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._bounds import Lowers, Uppers, bounds_by_target
from calibrant.cli._fit_summary import fit_summary, in_words, stage_table
from calibrant.cli._interrupts import uninterrupted
from calibrant.cli._output import Messages, write_json, write_out
from calibrant.errors import ParameterError
from calibrant.methods import METHODS

if TYPE_CHECKING:
    from calibrant.cli._split import TestSplit
    from calibrant.estimators import MultiOutput, NetworkRegressor
    from calibrant.metrics import Evaluation, JointEvaluation

QUALITIES = ("fast", "default", "best")

Train = Annotated[
    Path,
    typer.Argument(
        help="Table to learn from: .csv, .csv.gz, .parquet; or Parquet by folder or pattern.",
        metavar="TRAIN",
    ),
]
Targets = Annotated[
    list[str], option.column("--target", help="Column to predict; repeatable: predicted jointly.")
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
Minutes = Annotated[
    float | None,
    typer.Option(min=0.01, help="Minutes for mmd to train in, instead of --quality.", metavar="X"),
]
Validation = Annotated[
    Path | None,
    option.file(help="Rows for early stopping and calibration, instead of some of TRAIN."),
]
Groups = Annotated[
    str | None,
    option.column("--groups", "--group", help="Rows with the same label are held out together."),
]
Time = Annotated[
    str | None, option.column(help="Test rows are the last by this column, not random ones.")
]
Use = Annotated[
    list[str] | None,
    option.column(help="Column to learn from though it looks like an identifier; repeatable."),
]
Weight = Annotated[str | None, option.column(help="Weight of each row, at least 0.")]
Storage = Annotated[
    str | None,
    option.folder(
        help="Folder or URL for checkpoints of --engine ray, which all workers can reach.",
        show_default="temporary",
    ),
]
Params = Annotated[
    Path | None,
    option.file(help="JSON of further parameters, such as calibrant tune writes."),
]


def fit(
    train: Train,
    target: Targets,
    out: Out,
    method: Method = "mmd",
    quality: Quality = "default",
    minutes: Minutes = None,
    params: Params = None,
    validation: Validation = None,
    test_size: option.TestSize = None,
    time: Time = None,
    groups: Groups = None,
    weight: Weight = None,
    drop: option.Drop = None,
    use: Use = None,
    lower: Lowers = None,
    upper: Uppers = None,
    seed: option.Seed = 0,
    epochs: option.Epochs = None,
    device: option.Device = "auto",
    engine: option.Cluster = "local",
    address: option.Address = None,
    workers: option.Workers = None,
    storage: Storage = None,
    force: option.Force = False,
    quiet: option.Silent = False,
    as_json: option.Json = False,
) -> None:
    """Fit a model to a table and save it; with --test-size also evaluate it.

    Columns may hold numbers, text, dates, durations, true and false, and gaps; how each is read
    is told. The columns of --groups and --weight are not learned from. Of several targets,
    --lower 0 bounds all and --lower COL=0 one.
    """
    from calibrant.persistence import check_free

    check_free(out, overwrite=force)  # before the work, not after it
    option.check_cluster(engine, address)
    targets = list(dict.fromkeys(target))
    bounds = bounds_by_target(lower, upper, targets)
    if time is not None and test_size is None:
        raise ParameterError("--time says which rows to test on: pass --test-size as well.")
    if minutes is not None and method != "mmd":
        raise ParameterError(f"--minutes is for --method mmd, got --method {method}.")
    if len(targets) > 1 and engine == "ray":
        raise ParameterError("--engine ray fits one --target at a time: run it for each of them.")
    from calibrant.cli._cluster import fit_members_on_cluster, fit_on_cluster, is_parquet
    from calibrant.cli._fit_table import Roles, fit_table
    from calibrant.cli._streams import large_source
    from calibrant.estimators import MultiOutput

    messages = Messages(quiet=quiet)
    how: dict[str, Any] = {"random_state": seed, "device": device, "bounds": bounds[targets[0]]}
    how |= {} if minutes is None else {"time_budget": 60.0 * minutes}
    network = make_model(method, quality, epochs, verbose=messages.shows_progress, **how)
    if params is not None:
        _set_params(network, params)
    model = network if len(targets) == 1 else MultiOutput(network, bounds)
    in_memory = {
        "--target": len(targets) > 1,
        "--groups": groups,
        "--weight": weight,
        "--validation": validation,
        "--test-size": test_size,
        "--use": use,
    }
    needs_memory = [name for name, value in in_memory.items() if value]
    split: TestSplit | None = None
    if engine == "ray" and is_parquet(train):
        if needs_memory:
            raise ParameterError(
                f"{needs_memory[0]} can't be used with --engine ray and Parquet files, which only "
                "the workers read."
            )
        where: dict[str, Any] = {"address": address, "workers": workers, "storage": storage}
        with messages.warnings_as_notes():
            n_rows = fit_on_cluster(network, train, targets[0], drop or [], **where)
    elif not needs_memory and (source := large_source(train, targets[0], drop or [])) is not None:
        n_rows = source.n_rows
        messages.say(f"{n_rows:,} rows, too many to be held in memory, are streamed.")
        with messages.warnings_as_notes():
            network.fit(source)
    else:
        fitting: Callable[..., object] = model.fit
        if engine == "ray":
            fitting = partial(fit_members_on_cluster, network, address, workers)
        roles = Roles(targets, groups, weight, time, drop or [], use or [])
        share = None if test_size is None else (test_size, seed)
        unbounded = [name for name, ends in bounds.items() if ends is None or ends[0] is None]
        n_rows, split = fit_table(
            fitting, train, roles, validation, share, messages, unbounded=unbounded
        )
    summary = _save(model, out, n_rows, validation, messages, force=force)
    found = None if split is None else _evaluated(model, split, targets, train, messages)
    tried = (
        f"Try: calibrant evaluate {out} TEST"
        if found is None
        else "It was fitted without the test rows."
    )
    messages.say(f"The model is in {out}. {tried}")
    if as_json:
        test = None if found is None or split is None else {"how": split.how} | found.to_dict()
        write_json({"model": str(out), **summary, "test": test})
    elif found is not None and not quiet:
        write_out(str(found))


def _save(
    model: NetworkRegressor | MultiOutput,
    out: Path,
    n_rows: int,
    validation: Path | None,
    messages: Messages,
    *,
    force: bool,
) -> dict[str, Any]:
    """Save the model, and say how it was fitted."""
    with uninterrupted(out):
        model.save(out, overwrite=force)
    summary = fit_summary(model, n_rows=n_rows)
    for each in summary.get("outputs", [summary]):
        messages.say(in_words(each, validation))
        messages.say(stage_table(each))
    return summary


def _evaluated(
    model: NetworkRegressor | MultiOutput,
    split: TestSplit,
    targets: list[str],
    path: Path,
    messages: Messages,
) -> Evaluation | JointEvaluation:
    """Evaluate the model on the rows that were set aside, and say which they are."""
    from calibrant.cli._data import observed
    from calibrant.cli._models import model_inputs
    from calibrant.metrics import evaluate

    share = len(split.test) / (len(split.test) + len(split.train))
    messages.say(
        f"\nEvaluated on {len(split.test):,} rows that were set aside ({share:.0%}, {split.how})."
    )
    with messages.warnings_as_notes():
        dist = model.predict_dist(model_inputs(model, split.test, path))
    return evaluate(dist, observed(split.test, targets))


def _set_params(model: NetworkRegressor, path: Path) -> None:
    """Set the parameters of a JSON file."""
    import json

    from calibrant.errors import MissingFileError

    try:
        model.set_params(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise MissingFileError(f"There is no file {path} of parameters.") from error
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{path} must hold a JSON object of parameters of {type(model).__name__}, such as "
            f'{{"lr": 0.001}}: {error}'
        ) from error


def make_model(
    method: str, quality: Any, epochs: int | None, **parameters: Any
) -> NetworkRegressor:
    """Return the estimator of a method, with the quality and the limit of epochs of the options."""
    from calibrant import estimators
    from calibrant.estimators import limited_epochs

    if method == "mmd":
        parameters["quality"] = quality
        parameters |= {} if epochs is None else limited_epochs(quality, epochs)
    elif epochs is not None:
        parameters["epochs"] = epochs
    model: NetworkRegressor = getattr(estimators, METHODS[method])().set_params(**parameters)
    return model
