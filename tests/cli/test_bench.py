"""``calibrant bench``: real processes on a real data set, where it is at hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import CalibrantError, DataWarning
from calibrant.experiments import Cell, PaperExperiment, Store

DATA = os.environ.get("CALIBRANT_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="CALIBRANT_DATA is not set: it names the folder")
QUICK = ["bench", "paper", "--preset", "quick", "--only", "wine", "--device", "cpu"]


def fill(folder: Path, method: str, values: list[float]) -> None:
    for trial, value in enumerate(values):
        scores = {"ecpe": value, "mcpe": 2 * value, "rmse": 0.7}
        record = {"scores": scores, "floor": {"ecpe": 0.0102, "mcpe": 0.0259}}
        record["rows"] = {"train": 80, "test": 20}
        Store(folder).write(Cell("published", "wine", method, trial), record)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    fill(folder, "hnn", [0.040, 0.042, 0.041])
    fill(folder, "mmd", [0.011, 0.012, 0.013])
    return folder


def test_show(run, results: Path) -> None:
    done = run("bench", "show", results)
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["published,", "wine,", "ecpe"]
    assert lines[2][:3] == ["hnn", "3", "0.041"]
    assert lines[2][-3:] == ["0.041", "0.003", "tie"]
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "calibration (ECPE) better than all baselines" in done.stdout
    assert "holds" in done.stdout


@pytest.mark.slow
def test_show_is_never_cut_in_a_pipe(results: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "calibrant", "bench", "show", str(results)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ | {"COLUMNS": "40"},
    )
    header = done.stdout.splitlines()[1]
    assert header.endswith("verdict")
    assert "…" not in done.stdout


def test_show_markdown_and_csv(run, results: Path) -> None:
    assert run("bench", "show", results, "--markdown").stdout.startswith("| protocol |")
    done = run("bench", "show", results, "--csv", "--metrics", "ecpe")
    assert len(done.stdout.splitlines()) == 3


def test_show_for_machines(run, results: Path) -> None:
    done = run("bench", "show", results, "--json", "--metrics", "ecpe,mcpe")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert [(row["metric"], row["method"]) for row in rows] == [
        *(("ecpe", "hnn"), ("ecpe", "mmd"), ("mcpe", "hnn"), ("mcpe", "mmd"))
    ]
    assert rows[0]["mean"] == pytest.approx(0.041)
    assert (rows[0]["trials"], rows[0]["floor"], rows[0]["verdict"]) == (3, 0.0102, "tie")
    assert rows[0]["published"]["printed"] == "0.041"


@pytest.fixture
def half_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment of no work, in which one of two methods fails."""

    def work(self: PaperExperiment, cells: list[Cell], device: str) -> list[dict[str, Any]]:
        if cells[0].method == "ell":
            raise CalibrantError("No luck.")
        warnings.warn("Few rows.", DataWarning, stacklevel=1)
        return [{"settings": self.settings(cells[0]), "seconds": {"fit": 2.0}}]

    monkeypatch.setattr(PaperExperiment, "run", work)


@pytest.mark.usefixtures("half_fails")
def test_paper_for_machines_and_in_silence(run, tmp_path: Path) -> None:
    out = tmp_path / "results"
    options = [*QUICK, "--methods", "hnn,ell", "--engine", "serial", "--out", out]
    done = run(*options, "--json")
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert 0 <= found.pop("seconds") < 60
    assert found == {
        **{"results": str(out), "cells": 2, "run": 1},
        **{"failed": {"honest-quick/wine/ell/0": "No luck."}, "in_other_runs": 0},
        "not_started": 0,
    }
    assert "0 of 2 cells are in" in done.stderr
    assert "Note: Few rows." in done.stderr
    error = f"Error: 1 of 1 cells failed; the others are in {out}.\n"
    done = run(*options, "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", error)
    done = run(*options, "--quiet", "--json", "--methods", "hnn")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["run"] == 0


def test_show_in_the_layout_of_the_paper(run, results: Path) -> None:
    done = run("bench", "show", results, "--table", "2", "--csv")
    assert "Table 2, published" in done.stdout
    assert ",0.041 ± 0.003," in done.stdout
    assert run("bench", "show", results, "--table", "all").stdout.count("Table ") == 4
    done = run("bench", "show", results, "--table", "9")
    assert done.exit_code == 2
    assert "The paper has no table '9': choose from 1, 2, A2, A3" in done.stderr


def test_methods_that_are_not_installed(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.experiments.methods.find_spec", lambda name: None)
    done = run("bench", "paper", "--methods", "hnn,ngboost")
    assert done.exit_code == 2
    assert "Not installed: ngboost. They are in the extras gp and rivals" in done.stderr


def test_a_protocol_without_results_is_no_empty_file(run, results: Path, tmp_path: Path) -> None:
    done = run("bench", "pack", results, "--protocols", "honst", "--out", tmp_path / "p.parquet")
    assert done.exit_code == 2
    assert "No results of the protocol honst; there are some of published." in done.stderr
    assert not (tmp_path / "p.parquet").exists()


def test_results_travel_in_one_file(run, results: Path, tmp_path: Path) -> None:
    file, there = tmp_path / "all.parquet", tmp_path / "there"
    done = run("bench", "pack", results, "--out", file)
    assert done.exit_code == 0, done.stderr
    assert "6 results are in" in done.stderr
    assert run("bench", "show", file).stdout == run("bench", "show", results).stdout
    fill(there, "ell", [0.03])
    assert "6 of 6 results were new" in run("bench", "unpack", file, "--out", there).stderr
    assert "0 of 6 results were new" in run("bench", "unpack", file, "--out", there).stderr
    assert len(Store(there).cells()) == 7
    done = run("bench", "pack", there, file, "--out", file, "--protocols", "published")
    assert "7 results are in" in done.stderr


@needs_data
def test_a_run_in_pieces_says_what_it_spent_and_what_is_left(run, tmp_path: Path) -> None:
    out = tmp_path / "results"
    options = [*QUICK, "--methods", "hnn,ell", "--engine", "serial", "--data", DATA, "--out", out]
    done = run(*options, "--minutes", "0")
    assert done.exit_code == 0, done.stderr
    assert "2 cells were not started: the same command continues with them." in done.stderr
    assert not Store(out).cells()
    done = run(*options, "--together", "9")
    lines = [line.split() for line in done.stderr.splitlines()]
    spent = {tuple(line[:-2]): float(line[-1]) for line in lines if line[:1] in (["wine"], ["all"])}
    assert list(spent) == [("wine", "ell"), ("wine", "hnn"), ("all",)]
    assert spent["all",] == pytest.approx(spent["wine", "hnn"] + spent["wine", "ell"], abs=0.11)
    assert "were not started" not in done.stderr


@needs_data
def test_figures_of_a_quick_run(run, tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = run(*QUICK, "--methods", "hnn", "--engine", "serial", "--data", DATA, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert run("bench", "figures", out, "--out", tmp_path / "figures").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "honest-quick-reliability.png",
        "honest-quick-wine-intervals.png",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "nowhere"], "There is no folder nowhere of results"),
        (["show", ".", "--markdown", "--csv"], "Choose one of --markdown, --csv and --json"),
        (["show", ".", "--json", "--csv"], "Choose one of --markdown, --csv and --json"),
        (["show", ".", "--json", "--table", "1"], "leave --json or --table out"),
        (["show", ".", "--metrics", "accuracy"], "Unknown metrics: accuracy. Choose from ecpe"),
        (["paper", "--data", "nowhere"], "There is no folder nowhere, which --data names."),
        (["paper", "--only", "wines"], "Unknown task 'wines'"),
        (["paper", "--methods", "hnn,x"], "Unknown method 'x'"),
        (["paper", "--protocol", "fair"], "protocol must be one of published, shuffled, small"),
        (["paper", "--study", "width"], "'width' is not one of 'tables', 'depth'"),
        (
            ["paper", "--study", "depth", "--methods", "hnn"],
            "no method 'hnn'. It has: dgp, deep-ens",
        ),
        (["paper", "--preset", "slow"], "'slow' is not one of 'full', 'quick'"),
        (["paper", "--engine", "dask"], "engine must be one of serial, processes, ray"),
        (["show", ".", "--table", "9"], "has no results yet"),
        (["figures", ".", "--format", "gif"], "'gif' is not one of 'png', 'svg', 'pdf'"),
    ],
)
def test_bad_arguments(run, arguments: list[str], message: str) -> None:
    done = run("bench", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


@needs_data
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_a_killed_run_continues_where_it_stopped(run, tmp_path: Path) -> None:
    out = tmp_path / "results"
    methods = "hnn,mcd,deep-ens,ell,isr,mmd,mc-nll"
    options = [*QUICK, "--methods", methods, "--workers", "1", "--data", DATA, "--out", str(out)]
    started = subprocess.Popen(
        [sys.executable, "-m", "calibrant", *options],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # the workers die with it
    )
    while len(Store(out).cells()) < 2 and started.poll() is None:
        time.sleep(0.01)
    os.killpg(started.pid, signal.SIGKILL)
    started.communicate()
    before = {cell: Store(out).path(cell).stat().st_mtime_ns for cell in Store(out).cells()}
    assert 2 <= len(before) < 7
    done = run(*options)
    assert done.exit_code == 0, done.stderr
    assert f"{len(before)} of 7 cells are in" in done.stderr
    after = Store(out).cells()
    assert len(after) == 7
    assert all(Store(out).path(cell).stat().st_mtime_ns == t for cell, t in before.items())
    record = json.loads(Store(out).path(after[0]).read_text())
    assert 300 <= sum(record["rows"].values()) < 330
    assert record["machine"]["device"] == "cpu"
