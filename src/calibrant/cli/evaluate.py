"""``calibrant evaluate``: how far a model can be trusted on the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from calibrant.cli import _options as option
from calibrant.cli._files import check_output
from calibrant.cli._output import Messages, write_json, write_out
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.cli._models import OneOutput
    from calibrant.distributions import Distribution
    from calibrant.estimators import MultiOutput
    from calibrant.metrics import Evaluation
    from calibrant.tables import ParquetSource

Data = Annotated[
    Path, typer.Argument(help="Rows the model has not seen, with targets.", metavar="DATA")
]
Against = Annotated[
    list[Path] | None,
    typer.Option(help="Another model to compare with; repeatable.", metavar="MODEL"),
]
Report = Annotated[
    Path | None,
    option.file(help="Also write the interactive report, an HTML file; one per target."),
]


class Forecast(NamedTuple):
    """What a model predicts for the rows of a table, and from which inputs."""

    model: OneOutput
    inputs: Any
    dist: Distribution


def evaluate(
    model: option.Model,
    data: Data,
    against: Against = None,
    target: option.FittedTarget = None,
    group: option.Group = None,
    coverage: option.Coverage = 0.9,
    report: Report = None,
    force: option.Force = False,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    as_markdown: option.Markdown = False,
) -> None:
    """Score a model: calibration beside its noise floor, sharpness, scores and a verdict."""
    option.check_one_format(json=as_json, markdown=as_markdown)
    from calibrant.cli._data import group_labels
    from calibrant.cli._models import fitted_target, load_table_model, read_observed
    from calibrant.estimators import MultiOutput
    from calibrant.metrics import evaluate as evaluate_forecast

    messages = Messages(quiet=quiet)
    paths = _by_name([model, *(against or [])])
    loaded = {name: load_table_model(path) for name, path in paths.items()}
    if joint := [each for each in loaded.values() if isinstance(each, MultiOutput)]:
        if target or against or as_markdown:
            raise ParameterError(
                "Several outputs are evaluated without --target, --against and --markdown."
            )
        pages = _pages(report, list(joint[0].models_), force=force)
        title = f"{next(iter(paths))} on {data.name}"
        common: dict[str, Any] = {
            "coverage": coverage,
            "as_json": as_json,
            "overwrite": force,
            "title": title,
        }
        _evaluate_outputs(joint[0], data, group or [], pages, messages, **common)
        return
    check_output(report, force=force)
    models = {name: each for name, each in loaded.items() if not isinstance(each, MultiOutput)}
    first = next(iter(models))
    column = target or fitted_target(models[first], paths[first])
    if not against and report is None:  # which need all rows in memory
        from calibrant.cli._streams import large_source

        source = large_source(data, column)
        if source is not None:
            result = _evaluate_source(models[first], source, data, group or [], coverage, messages)
            _write(result, {first: result}, as_json=as_json, as_markdown=as_markdown)
            return
    rows = read_observed(models.values(), data, [column], group or [], messages)
    with messages.warnings_as_notes():
        forecasts = {name: _predict(each, rows, data, column) for name, each in models.items()}
    y = rows[column]
    labels = {name: group_labels(rows, name) for name in group} if group else None
    results = {
        name: evaluate_forecast(each.dist, y, labels, coverage=coverage)
        for name, each in forecasts.items()
    }
    result = _compared(results) if against else results[first]
    if report is not None:  # before the text, which may end in a pipe that closes
        title = f"{', '.join(paths)} on {data.name}"
        options = {"overwrite": force, "groups": labels, "coverage": coverage, "title": title}
        _write_report(report, forecasts, results, y, **options)
        messages.say(f"Report: {report}")
    _write(result, results, as_json=as_json, as_markdown=as_markdown)


def _write(
    result: Any, results: Mapping[str, Evaluation], *, as_json: bool, as_markdown: bool
) -> None:
    """Write the result, and the groups of every model below it."""
    if as_json:
        write_json(result.to_dict())
    elif as_markdown:
        write_out(result.to_markdown())
    else:
        write_out(str(result))
        _write_groups(results)


def _pages(report: Path | None, targets: list[str], *, force: bool) -> dict[str, Path]:
    """Files of the reports of several targets: page_price.html and so on, for page.html."""
    if report is None:
        return {}
    words = [re.sub(r"[^\w.-]+", "-", name) for name in targets]
    if len({word.lower() for word in words}) < len(words):
        words = [f"{j}-{word}" for j, word in enumerate(words, start=1)]
    paths = [report.with_name(f"{report.stem}_{word}{report.suffix}") for word in words]
    for path in paths:
        check_output(path, force=force)
    return dict(zip(targets, paths, strict=True))


def _evaluate_outputs(
    model: MultiOutput,
    data: Path,
    groups: list[str],
    pages: Mapping[str, Path],
    messages: Messages,
    *,
    coverage: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Evaluate a model of several outputs, write the report of each one and the result."""
    from calibrant.cli._data import group_labels
    from calibrant.cli._models import model_inputs, read_observed
    from calibrant.metrics import evaluate as evaluate_forecast

    targets = list(model.models_)
    rows = read_observed([model], data, targets, groups, messages)
    with messages.warnings_as_notes():
        inputs = model_inputs(model, rows, data, without=targets)
        dist = model.predict_dist(inputs)
    labels = {name: group_labels(rows, name) for name in groups} or None
    result = evaluate_forecast(dist, rows[targets], labels, coverage=coverage)
    for name, path in pages.items():
        forecast = Forecast(model.models_[name], inputs, dist.marginal(name))
        own = {name: result.outputs[name]}
        _write_report(
            path, {name: forecast}, own, rows[name], groups=labels, coverage=coverage, **options
        )
        messages.say(f"Report: {path}")
    _write(result, result.outputs, as_json=as_json, as_markdown=False)


def _evaluate_source(
    model: OneOutput,
    source: ParquetSource,
    data: Path,
    groups: list[str],
    coverage: float,
    messages: Messages,
) -> Evaluation:
    """Evaluate a model on Parquet files part by part."""
    from calibrant.cli._models import model_inputs
    from calibrant.streaming import evaluate_source

    with messages.warnings_as_notes():
        return evaluate_source(
            model,
            source,
            groups=groups,
            coverage=coverage,
            inputs=lambda frame: model_inputs(model, frame, data),
            verbose=messages.shows_progress,
        )


def _by_name(paths: list[Path]) -> dict[str, Path]:
    """Call models by the names of their folders, or by their paths if names repeat."""
    if len(set(paths)) < len(paths):
        raise ParameterError("--against names a model twice, or the model itself.")
    short = {path.name: path for path in paths}
    return short if len(short) == len(paths) else {str(path): path for path in paths}


def _predict(model: OneOutput, rows: pd.DataFrame, data: Path, target: str) -> Forecast:
    from calibrant.cli._models import model_inputs

    inputs = model_inputs(model, rows, data, without=[target])
    return Forecast(model, inputs, model.predict_dist(inputs))


def _compared(results: dict[str, Evaluation]) -> Any:
    from calibrant.cli._comparison import Comparison
    from calibrant.metrics import compare_scores

    crps = {name: each.rows.crps for name, each in results.items()}
    return Comparison(results, compare_scores(crps))


def _write_groups(results: Mapping[str, Evaluation]) -> None:
    """Write the calibration of each group, under the model's name if there are several."""
    for name, result in results.items():
        if result.groups is not None:
            heading = f"{name}\n" if len(results) > 1 else ""
            write_out(f"\n{heading}{result.groups}")


def _write_report(
    path: Path,
    forecasts: dict[str, Forecast],
    results: dict[str, Evaluation],
    y: pd.Series[Any],
    **options: Any,
) -> None:
    """Write the report; of models with other inputs than the first it shows the forecasts only."""
    from calibrant.report import write_report

    first = next(iter(forecasts.values()))
    compared = {
        name: each.model if _equal(each.inputs, first.inputs) else each.dist
        for name, each in forecasts.items()
    }
    several = len(compared) > 1
    shown = compared if several else first.model
    evaluations = results if several else next(iter(results.values()))
    write_report(path, shown, first.inputs, y, target=y.name, evaluations=evaluations, **options)


def _equal(inputs: Any, others: Any) -> bool:
    return bool(inputs.equals(others)) if hasattr(inputs, "equals") else False
