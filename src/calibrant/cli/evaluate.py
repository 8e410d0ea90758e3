"""``calibrant evaluate``: how far a model can be trusted on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from calibrant.cli import _options as option
from calibrant.cli._output import Messages, write_json, write_out
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.distributions import Distribution
    from calibrant.estimators import NetworkRegressor
    from calibrant.metrics import Evaluation
    from calibrant.recalibration import Recalibrator

Data = Annotated[
    Path, typer.Argument(help="Rows the model has not seen, with targets.", metavar="DATA")
]
Against = Annotated[
    list[Path] | None,
    typer.Option(help="Another model to compare with; repeatable.", metavar="MODEL"),
]
Target = Annotated[
    str | None,
    option.column(help="Column of the targets.", show_default="the one it was fitted to"),
]
Groups = Annotated[str | None, option.column(help="Also check calibration within these groups.")]
Report = Annotated[
    Path | None, option.file(help="Also write the interactive report, one HTML file.")
]


class Forecast(NamedTuple):
    """Predictions of a model for the rows of a table whose target is known."""

    model: NetworkRegressor | Recalibrator
    rows: pd.DataFrame
    y: pd.Series[Any]
    inputs: Any
    dist: Distribution


def evaluate(
    model: option.Model,
    data: Data,
    against: Against = None,
    target: Target = None,
    groups: Groups = None,
    report: Report = None,
    force: option.Force = False,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    as_markdown: option.Markdown = False,
) -> None:
    """Score a model: calibration beside its noise floor, sharpness, scores and a verdict."""
    option.check_one_format(json=as_json, markdown=as_markdown)
    if report is not None:
        from calibrant.report import check_free

        check_free(report, overwrite=force)
    from calibrant.cli._data import group_labels
    from calibrant.metrics import evaluate as evaluate_forecast

    messages = Messages(quiet=quiet)
    paths = _by_name([model, *(against or [])])
    forecasts = _predict_all(paths, data, target, groups, messages)
    first = next(iter(forecasts.values()))
    labels = None if groups is None else group_labels(first.rows, groups)
    results = {
        name: evaluate_forecast(each.dist, first.y, labels) for name, each in forecasts.items()
    }
    result = _compared(results, forecasts) if against else results[next(iter(results))]
    if as_json:
        write_json(result.to_dict())
    elif as_markdown:
        write_out(result.to_markdown())
    else:
        write_out(str(result))
        _write_groups(results)
    if report is not None:
        from calibrant.report import write_report

        write_report(
            report,
            _for_report(forecasts) if against else first.model,
            first.inputs,
            first.y,
            overwrite=force,
            groups=None if groups is None else first.rows[groups].map(str),
            title=f"{', '.join(paths)} on {data.name}",
            target=first.y.name,
        )
        messages.say(f"Report: {report}")


def _by_name(paths: list[Path]) -> dict[str, Path]:
    """Call models by the names of their folders, or by their paths if names repeat."""
    if len(set(paths)) < len(paths):
        raise ParameterError("--against names a model twice, or the model itself.")
    short = {path.name: path for path in paths}
    return short if len(short) == len(paths) else {str(path): path for path in paths}


def _predict_all(
    paths: dict[str, Path], data: Path, target: str | None, groups: str | None, messages: Messages
) -> dict[str, Forecast]:
    """Predict the rows with each model; all must have the target of the first."""
    from calibrant.cli._models import innermost, load_table_model

    models = {name: load_table_model(path) for name, path in paths.items()}
    first = next(iter(models))
    column = target or innermost(models[first]).target_name_
    if column is None:
        raise ParameterError(
            f"{paths[first]} was fitted to a target without a name: pass --target."
        )
    # Notes about the rows are the same for all models: print them once.
    return {
        name: _predict(
            model, data, column, groups, messages if name == first else Messages(quiet=True)
        )
        for name, model in models.items()
    }


def _predict(
    model: NetworkRegressor | Recalibrator,
    data: Path,
    target: str,
    groups: str | None,
    messages: Messages,
) -> Forecast:
    from calibrant.cli._data import check_columns, rows_with_target
    from calibrant.cli._models import categorical_columns, model_inputs
    from calibrant.tables import read_table

    frame = read_table(data, text=categorical_columns(model))
    check_columns(frame, [target] if groups is None else [target, groups], data)
    rows = rows_with_target(frame, target, data, messages)
    inputs = model_inputs(model, rows, data, without=[target])
    with messages.warnings_as_notes():
        dist = model.predict_dist(inputs)
    return Forecast(model, rows, rows[target], inputs, dist)


def _compared(results: dict[str, Evaluation], forecasts: dict[str, Forecast]) -> Any:
    from calibrant.cli._comparison import Comparison
    from calibrant.metrics import compare_scores

    crps = {name: each.dist.crps(each.y) for name, each in forecasts.items()}
    return Comparison(results, compare_scores(crps))


def _write_groups(results: dict[str, Evaluation]) -> None:
    """Write the calibration of each group, under the model's name if there are several."""
    for name, result in results.items():
        if result.groups is not None:
            heading = f"{name}\n" if len(results) > 1 else ""
            write_out(f"\n{heading}{result.groups}")


def _for_report(forecasts: dict[str, Forecast]) -> dict[str, Any]:
    """What the report compares: models, or their distributions where inputs differ."""
    first = next(iter(forecasts.values()))
    return {
        name: each.model if _equal(each.inputs, first.inputs) else each.dist
        for name, each in forecasts.items()
    }


def _equal(inputs: Any, others: Any) -> bool:
    return bool(inputs.equals(others)) if hasattr(inputs, "equals") else False
