"""``calibrant evaluate``: can a model be trusted on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from calibrant.cli._output import Voice, write_json, write_out
from calibrant.cli._tables import read_table
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.distributions import Distribution
    from calibrant.estimators import NetworkRegressor


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder of a fitted model.", metavar="MODEL")],
    data: Annotated[
        Path, typer.Argument(help="Rows the model has not seen, with targets.", metavar="DATA")
    ],
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Another model to compare with; repeatable.", metavar="MODEL"),
    ] = None,
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
        from calibrant.report import check_free

        check_free(report, overwrite=force)
    from calibrant.cli._columns import labels
    from calibrant.metrics import evaluate as evaluate_forecast

    voice = Voice(quiet=quiet)
    paths = _named([model, *(against or [])])
    forecasts = _forecasts(paths, data, target, groups, voice)
    first = next(iter(forecasts.values()))
    members = None if groups is None else labels(first.rows, groups)
    results = {
        name: evaluate_forecast(each.dist, first.y, members) for name, each in forecasts.items()
    }
    if against:
        from calibrant.cli._comparison import Comparison
        from calibrant.metrics import compare_scores

        crps = {name: each.rows.crps for name, each in results.items()}
        result: Any = Comparison(results, compare_scores(crps))
    else:
        (result,) = results.values()
    if as_json:
        write_json(result.to_dict())
    elif as_markdown:
        write_out(result.to_markdown())
    else:
        write_out(str(result))
        for name, each in results.items():
            if each.groups is not None:
                heading = f"{name}\n" if against else ""
                write_out(f"\n{heading}{each.groups}")
    if report is not None:
        from calibrant.report import write_report

        write_report(
            report,
            _shown(forecasts) if against else first.model,
            first.inputs,
            first.y,
            evaluations=results if against else result,
            overwrite=force,
            groups=None if groups is None else first.rows[groups].map(str),
            title=f"{', '.join(paths)} on {data.name}",
            target=first.y.name,
        )
        voice.say(f"Report: {report}")


class Forecast(NamedTuple):
    """What a model says about the rows of a table whose target is known."""

    model: NetworkRegressor
    rows: pd.DataFrame
    y: pd.Series[Any]
    inputs: Any
    dist: Distribution


def _named(paths: list[Path]) -> dict[str, Path]:
    """Models by the names of their folders, or by their paths where those are not enough."""
    if len(set(paths)) < len(paths):
        raise ParameterError("--against names a model twice, or the model itself.")
    short = {path.name: path for path in paths}
    return short if len(short) == len(paths) else {str(path): path for path in paths}


def _forecasts(
    paths: dict[str, Path], data: Path, target: str | None, groups: str | None, voice: Voice
) -> dict[str, Forecast]:
    from calibrant.cli._models import innermost, load_rows_model

    models = {name: load_rows_model(path) for name, path in paths.items()}
    model, path = next(zip(models.values(), paths.values(), strict=True))
    column = target or innermost(model).target_name_
    if column is None:
        raise ParameterError(f"{path} was fitted to a target without a name: pass --target.")
    found: dict[str, Forecast] = {}
    for name, each in models.items():
        # What is said about the rows is the same for all models: once is enough.
        speaker = Voice(quiet=True) if found else voice
        found[name] = _forecast(each, data, column, groups, speaker)
    return found


def _forecast(
    model: NetworkRegressor, data: Path, target: str, groups: str | None, voice: Voice
) -> Forecast:
    from calibrant.cli._columns import check_columns, rows_with_target
    from calibrant.cli._models import categorical_columns, model_inputs

    frame = read_table(data, text=categorical_columns(model))
    check_columns(frame, [target] if groups is None else [target, groups], data)
    rows = rows_with_target(frame, target, data, voice)
    inputs = model_inputs(model, rows, data, without=[target])
    with voice.hears_warnings():
        dist = model.predict_dist(inputs)
    return Forecast(model, rows, rows[target], inputs, dist)


def _shown(forecasts: dict[str, Forecast]) -> dict[str, Any]:
    """What the report compares: models, or only their forecasts where inputs differ."""
    first = next(iter(forecasts.values()))
    return {
        name: each.model if _same(each.inputs, first.inputs) else each.dist
        for name, each in forecasts.items()
    }


def _same(inputs: Any, others: Any) -> bool:
    same: bool = inputs.equals(others) if hasattr(inputs, "equals") else False
    return same
