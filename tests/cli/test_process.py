"""The command line as a shell sees it: real processes, pipes and signals."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.slow  # a process imports torch anew

COMMAND = [sys.executable, "-m", "calibrant"]
COMMANDS = [
    [],
    ["fit"],
    ["predict"],
    ["evaluate"],
    ["forecast"],
    ["backtest"],
    ["datasets"],
    ["explain"],
    ["bench", "paper"],
    ["demo"],
    ["doctor"],
]


def calibrant(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *(str(argument) for argument in arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | variables,
    )


def test_fit_is_quiet_in_a_pipe(data, tmp_path) -> None:
    options = ["--target", "price", "--out", tmp_path / "m", "--epochs", 2]
    done = calibrant("fit", data / "table.csv", *options)
    assert (done.returncode, done.stdout) == (0, "")
    assert "━" not in done.stderr
    assert "\x1b" not in done.stderr
    assert "Warning" not in done.stderr


def test_predictions_can_be_piped(data, model) -> None:
    done = calibrant("predict", model, data / "table.csv", "--coverage", 0.8)
    assert (done.returncode, done.stderr) == (0, "")
    columns = ["name", "mean", "stddev", "lower_80", "upper_80"]  # the identifier is kept
    assert list(pd.read_csv(io.StringIO(done.stdout))) == columns


def test_evaluation_for_machines(data, model) -> None:
    done = calibrant("evaluate", model, data / "table.parquet", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n"] == 120


def test_errors_have_no_traceback(tmp_path) -> None:
    done = calibrant("fit", tmp_path / "no.csv", "--target", "y", "--out", tmp_path / "m")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"Error: There is no file {tmp_path / 'no.csv'}.\n"


def test_a_reader_that_leaves_early_is_no_error(data, model) -> None:
    command = " ".join([*COMMAND, "predict", str(model), str(data / "table.csv"), "| head -n 1"])
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "name,mean,stddev,lower_90,upper_90\n"
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_interrupting_leaves_nothing_behind(frame: pd.DataFrame, tmp_path: Path) -> None:
    table = pd.concat([frame[["size", "age", "price"]]] * 100)
    table.assign(key=[f"k{i}" for i in range(len(table))]).to_csv(tmp_path / "t.csv", index=False)
    command = [*COMMAND, "fit", "t.csv", "--target", "price", "--out", "m"]
    started = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    try:
        for line in started.stderr:
            if "left out" in line:  # the data are read
                break
        time.sleep(3)  # training has begun, and takes far longer
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=60)
    finally:
        started.kill()
    # An interrupt inside an exec (a dataclass being made during an import, say) makes CPython end
    # by the signal itself, whatever exit code was asked for; a shell reports both as 130.
    assert started.returncode in (130, -signal.SIGINT)
    assert errors.endswith("Interrupted: nothing was written.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_version() -> None:
    from calibrant import __version__

    done = calibrant("--version")
    assert (done.returncode, done.stdout) == (0, f"calibrant {__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_light(command) -> None:
    heavy = "{'torch', 'sklearn', 'pandas', 'matplotlib', 'scipy'}"
    code = (
        "import sys; from calibrant.cli import app\n"
        f"try: app([*{command!r}, '--help'])\n"
        f"except SystemExit: print('loaded', sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "Usage" in done.stdout
    assert done.stdout.endswith("loaded []\n")


def test_forced_colours_do_not_force_a_moving_bar(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.assign(price=frame["price"].where(frame.index > 0)).to_csv(tmp_path / "t.csv")
    options = ["--target", "price", "--out", tmp_path / "m", "--epochs", 2]
    done = calibrant("fit", tmp_path / "t.csv", *options, FORCE_COLOR="1", NO_COLOR="")
    assert done.returncode == 0
    assert "\x1b[33mNote: " in done.stderr  # colour
    assert "━" not in done.stderr  # no bar
    assert "\x1b[?25l" not in done.stderr  # no cursor hidden


@pytest.mark.parametrize("command", [["--help"], ["explain", "ecpe"], ["fit", "none.csv"]])
def test_no_colour_where_none_is_wanted(command) -> None:
    # Stronger than FORCE_COLOR, as no-color.org asks.
    done = calibrant(*command, NO_COLOR="1", FORCE_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("calibrant ev", ["evaluate"]),
        ("calibrant explain ec", ["ecpe"]),
        ("calibrant fit --method mc", ["mc-dropout", "mc-nll"]),
        ("calibrant fit --ta", ["--target"]),
    ],
)
def test_completion(words, found) -> None:
    done = calibrant(
        _CALIBRANT_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    assert done.stdout.split() == found


def test_completion_can_be_shown() -> None:
    # Otherwise the shell is the one that runs the tests, and may be one without completion.
    told = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    assert "_CALIBRANT_COMPLETE" in calibrant("--show-completion", "bash", **told).stdout
