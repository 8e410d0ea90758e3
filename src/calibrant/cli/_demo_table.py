"""The scores of the demo as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from calibrant.metrics import mean_width

if TYPE_CHECKING:
    from calibrant.cli._demo_run import Run
    from calibrant.metrics import Evaluation


def print_scores(run: Run, scores: dict[str, Evaluation]) -> None:
    """Print a row a method, the noise floor and the verdicts to standard output."""
    n = len(run.y)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),  # so that the names fit into 80 columns
        title=f"{run.data.name}: {run.train_rows:,} training rows, {n:,} test rows",
        caption="width: mean width of 90% intervals; noise floor: what chance alone costs a "
        "perfect forecaster on as many rows",
    )
    table.add_column("")
    for name in ("RMSE", "CRPS", "ECPE", "MCPE", "90% covers", "width"):
        table.add_column(name, justify="right")
    for name, result in scores.items():
        table.add_row(
            name,
            f"{result.rmse:.4f}",
            f"{result.crps:.4f}",
            f"{result.ecpe:.4f}",
            f"{result.mcpe:.4f}",
            f"{result.coverage:.1%}",
            f"{mean_width(run.forecasts[name]):.3f}",
        )
    floor = next(iter(scores.values())).floor
    table.add_section()
    table.add_row("noise floor", "", "", f"{floor.ecpe:.4f}", f"{floor.mcpe:.4f}", "90.0%", "")
    console = Console(highlight=False)
    console.print(table)
    for name, result in scores.items():
        console.print()
        console.print(Text.assemble((name, "bold"), "\n", result.verdict))
