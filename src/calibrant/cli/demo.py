"""``calibrant demo``: what calibration is worth, on data whose true distribution is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._files import staged
from calibrant.cli._output import Messages, write_heading, write_json, write_out
from calibrant.cli._text_table import text_table
from calibrant.errors import OutputExistsError

if TYPE_CHECKING:
    from calibrant.cli._demo_run import Run
    from calibrant.metrics import Evaluation


def demo(
    out: Annotated[Path, option.folder(help="Folder for the report, figures and scores.")] = Path(
        "demo"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows and epochs: seconds, rougher results.")
    ] = False,
    seed: option.Seed = 0,
    quiet: option.Silent = False,
    as_json: option.Json = False,
) -> None:
    """Compare a likelihood fit, a calibrated fit and the truth on synthetic data.

    The data are skewed, so no normal distribution fits them, and their true distribution is known.
    """
    _check_folder(out)
    from calibrant.cli._demo_figures import draw_figures
    from calibrant.cli._demo_run import run_methods
    from calibrant.metrics import evaluate
    from calibrant.report import write_report

    messages = Messages(quiet=quiet)
    run = run_methods(quick=quick, seed=seed, messages=messages)
    scores = {name: evaluate(dist, run.y) for name, dist in run.forecasts.items()}
    messages.say("Drawing the figures and the report")
    with staged(out) as folder:
        draw_figures(run, folder)
        write_report(
            folder / "report.html",
            {name: run.models.get(name, dist) for name, dist in run.forecasts.items()},
            run.X,
            run.y,
            evaluations=scores,
            title=f"Demo: {run.data.name} data",
            target=run.data.target,
        )
        record = _record(run, scores, quick=quick, seed=seed)
        text = json.dumps(record, indent=2, allow_nan=False)
        (folder / "scores.json").write_text(text + "\n", encoding="utf-8")
    if as_json:
        write_json(record)
    elif not quiet:
        write_out(f"Open {out / 'report.html'} in a browser: the interactive report.\n\n")
        _write_scores(run, scores)
        write_out(f"\nFigures and scores.json are in {out}.")


def _write_scores(run: Run, scores: dict[str, Evaluation]) -> None:
    """Write one row per method, the noise floor and the verdicts."""
    from textwrap import fill

    from calibrant.metrics import mean_width

    rows = [
        {
            "method": name,
            "RMSE": f"{result.rmse:.4f}",
            "CRPS": f"{result.crps:.4f}",
            "ECPE": f"{result.ecpe:.4f}",
            "MCPE": f"{result.mcpe:.4f}",
            "90% covers": f"{result.coverage:.1%}",
            "width": f"{mean_width(run.forecasts[name]):.3f}",
        }
        for name, result in scores.items()
    ]
    floor = next(iter(scores.values())).floor
    rows.append(
        dict.fromkeys(rows[0], "")
        | {"method": "noise floor", "ECPE": f"{floor.ecpe:.4f}", "MCPE": f"{floor.mcpe:.4f}"}
        | {"90% covers": "90.0%"}
    )
    write_heading(f"{run.data.name}: {run.train_rows:,} training rows, {len(run.y):,} test rows")
    write_out("\n" + text_table(rows, left=("method",)))
    write_out(
        "\nwidth: mean width of 90% intervals; noise floor: what chance alone costs a\n"
        "perfect forecaster on as many rows"
    )
    *fits, truth = scores
    above = ", ".join(f"{name} {scores[name].crps / scores[truth].crps - 1:.1%}" for name in fits)
    write_out("\n" + fill(f"CRPS above that of the truth, the best possible: {above}.", 80))
    for name, result in scores.items():
        write_out("")
        write_heading(name)
        write_out(fill(result.verdict, 80))
    if any(scores[name].state != "good" for name in fits):
        write_out(
            "\nWhat a verdict finds fault with is mended by recalibration on other held-out\n"
            "rows, over all of them or within slices: calibrant recalibrate --help."
        )


def _check_folder(out: Path) -> None:
    from calibrant.persistence import check_folder_of

    if out.exists() and not out.is_dir():
        raise OutputExistsError(f"{out} exists and is not a folder. Choose another name.")
    check_folder_of(out)


def _record(run: Run, scores: dict[str, Evaluation], *, quick: bool, seed: int) -> dict[str, Any]:
    from calibrant.experiments.provenance import provenance

    return {
        "data": run.data.name,
        "train_rows": run.train_rows,
        "test_rows": len(run.y),
        "quick": quick,
        "seed": seed,
        "methods": {name: result.to_dict() for name, result in scores.items()},
    } | provenance("auto")
