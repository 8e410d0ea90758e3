"""``calibrant demo``: what calibration gives, on data whose truth is known."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli._output import Voice, write_json, write_out
from calibrant.cli._seed import check_seed
from calibrant.cli._tables import staged
from calibrant.errors import MissingFileError, OutputExistsError

if TYPE_CHECKING:
    from calibrant.cli._demo_run import Run
    from calibrant.metrics import Evaluation


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the report, figures and scores.", metavar="FOLDER")
    ] = Path("demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows and epochs: seconds, rougher results.")
    ] = False,
    seed: Annotated[
        int,
        typer.Option(callback=check_seed, help="Seed of data, split and networks.", metavar="N"),
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print scores.json.")] = False,
) -> None:
    """Compare a likelihood fit, a calibrated fit and the truth on synthetic data.

    The data are skewed: no normal distribution fits them, and the truth is known.
    """
    _check_folder(out)
    from calibrant.cli._demo_figures import draw_figures
    from calibrant.cli._demo_run import run_methods
    from calibrant.cli._demo_table import print_scores
    from calibrant.metrics import evaluate
    from calibrant.report import write_report

    voice = Voice(quiet=quiet)
    run = run_methods(quick=quick, seed=seed, voice=voice)
    scores = {name: evaluate(dist, run.y) for name, dist in run.forecasts.items()}
    voice.say("Drawing the figures and the report")
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
        write_out(f"Open {out / 'report.html'} in a browser: the interactive report.\n")
        print_scores(run, scores)
        write_out(f"\nFigures and scores.json are in {out}.")


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise OutputExistsError(f"{out} exists and is not a folder. Choose another name.")
    if not out.absolute().parent.is_dir():
        raise MissingFileError(f"There is no folder {out.parent} to write {out.name} into.")


def _record(run: Run, scores: dict[str, Evaluation], *, quick: bool, seed: int) -> dict[str, Any]:
    packages = ("calibrant", "numpy", "torch")
    return {
        "data": run.data.name,
        "train_rows": run.train_rows,
        "test_rows": len(run.y),
        "quick": quick,
        "seed": seed,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in packages},
        "methods": {name: result.to_dict() for name, result in scores.items()},
    }
