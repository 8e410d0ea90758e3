"""The command line as a shell sees it: real processes, pipes and signals."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

COMMAND = [sys.executable, "-m", "calibrant"]


def calibrant(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


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
    assert list(pd.read_csv(io.StringIO(done.stdout))) == ["mean", "stddev", "lower_80", "upper_80"]


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
    assert done.stdout == "mean,stddev,lower_90,upper_90\n"
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_interrupting_leaves_nothing_behind(frame: pd.DataFrame, tmp_path: Path) -> None:
    table = pd.concat([frame[["size", "age", "price"]]] * 100)
    table.assign(key=[f"k{i}" for i in range(len(table))]).to_csv(tmp_path / "t.csv", index=False)
    command = [*COMMAND, "fit", "t.csv", "--target", "price", "--out", "m"]
    started = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    assert "key: left out" in started.stderr.readline()  # the data are read
    time.sleep(3)  # training has begun, and takes far longer
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=60)
    # An interrupt inside an exec (a dataclass being made during an import, say) makes CPython end
    # by the signal itself, whatever exit code was asked for; a shell reports both as 130.
    assert started.returncode in (130, -signal.SIGINT)
    assert errors == "Interrupted: nothing was written.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_version() -> None:
    from calibrant import __version__

    done = calibrant("--version")
    assert (done.returncode, done.stdout) == (0, f"calibrant {__version__}\n")


@pytest.mark.parametrize(
    "command", [[], ["fit"], ["predict"], ["evaluate"], ["datasets"], ["bench", "paper"], ["demo"]]
)
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
