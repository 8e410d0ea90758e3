"""The application: its commands, its version and how errors end it.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

from __future__ import annotations

import errno
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from calibrant.cli._hints import columns_for_a_missing_target, with_hint
from calibrant.cli._interrupts import forget_kept
from calibrant.cli._output import report_error, reporting_interrupts
from calibrant.cli.backtest import backtest
from calibrant.cli.bench import bench
from calibrant.cli.compare import compare
from calibrant.cli.datasets import datasets
from calibrant.cli.demo import demo
from calibrant.cli.doctor import doctor
from calibrant.cli.evaluate import evaluate
from calibrant.cli.explain import explain
from calibrant.cli.export import export
from calibrant.cli.fit import fit
from calibrant.cli.forecast import forecast
from calibrant.cli.predict import predict
from calibrant.cli.recalibrate import recalibrate
from calibrant.cli.tune import tune
from calibrant.errors import CalibrantError


class _Commands(TyperGroup):
    """Turns errors of this library and of the file system into one sentence and exit code 2."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with reporting_interrupts():  # parsing imports a good deal of typer
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        forget_kept()
        try:
            with reporting_interrupts(), columns_for_a_missing_target():
                return super().invoke(ctx)
        except typer.BadParameter as error:  # typer prints it, in better words
            error.message = with_hint(error.message)
            raise
        except CalibrantError as error:
            report_error(str(error))
            raise typer.Exit(2) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of a pipe has left, which typer handles
                raise
            report_error(f"{error.filename or 'The file system'}: {error.strerror or error}.")
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",  # line breaks within a paragraph are ignored
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from calibrant import __version__

        typer.echo(f"calibrant {__version__}")
        raise typer.Exit


@app.callback()
def _describe(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Calibrated probabilistic regression: intervals that cover what they promise."""


_COMMANDS = (
    *(fit, predict, evaluate, recalibrate, export, compare, tune, forecast, backtest),
    *(datasets, explain, demo, doctor),
)
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(bench, name="bench")
