"""Ctrl-C at the worst moments."""

from __future__ import annotations

import importlib.abc
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from calibrant import load_model
from calibrant.cli import main
from calibrant.cli._files import staged
from calibrant.cli._interrupts import forget_kept, uninterrupted, what_was_kept
from calibrant.estimators import NetworkRegressor
from calibrant.experiments import PaperExperiment, Store, plan
from calibrant.experiments.own_table import OwnTable

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of another kind")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def clean() -> None:
    forget_kept()


def test_an_interrupt_waits_for_the_result(tmp_path: Path) -> None:
    file = tmp_path / "result"
    with pytest.raises(KeyboardInterrupt), uninterrupted(file):  # noqa: PT012 (the order is the point)
        interrupt()
        file.write_text("whole")
    assert file.read_text() == "whole"
    assert what_was_kept() == f"complete and kept: {file}."
    with pytest.raises(KeyboardInterrupt):  # and works again afterwards
        interrupt()


def test_a_failure_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), uninterrupted(tmp_path / "result"):
        raise OSError("full")
    assert what_was_kept() == "nothing was written."
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_an_interrupted_stage_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), staged(tmp_path / "figures") as work:  # noqa: PT012
        (work / "one.png").write_text("1")
        interrupt()
    assert not any(tmp_path.iterdir())


def test_an_interrupted_stage_leaves_a_folder_that_was_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), staged(tmp_path):
        interrupt()
    assert tmp_path.exists()
    assert not any(tmp_path.iterdir())


def test_while_the_model_is_saved(run, data, tmp_path, monkeypatch) -> None:
    save = NetworkRegressor.save

    def save_and_interrupt(self, path, **options) -> None:
        interrupt()
        save(self, path, **options)

    monkeypatch.setattr(NetworkRegressor, "save", save_and_interrupt)
    out = tmp_path / "m"
    options = ["--target", "price", "--out", out, "--epochs", 1, "--quiet"]
    done = run("fit", data / "table.csv", *options)
    assert done.exit_code == 130
    assert done.stderr == f"Interrupted: complete and kept: {out}.\n"
    assert load_model(out).target_name_ == "price"


def test_the_next_command_starts_afresh(run, data, tmp_path, monkeypatch) -> None:
    out = tmp_path / "m"
    options = ["--target", "price", "--epochs", 1, "--quiet"]
    assert run("fit", data / "table.csv", "--out", out, *options).exit_code == 0

    def stop(self, *_: object, **__: object) -> None:
        interrupt()

    monkeypatch.setattr(NetworkRegressor, "fit", stop)
    done = run("fit", data / "table.csv", "--out", out, *options, "--force")
    assert done.exit_code == 130
    assert done.stderr == "Interrupted: nothing was written.\n"
    assert load_model(out).target_name_ == "price"


def test_while_the_commands_are_imported(monkeypatch, capsys) -> None:
    class Interrupts(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "calibrant.cli._app":
                interrupt()

    monkeypatch.delitem(sys.modules, "calibrant.cli._app")
    monkeypatch.setattr(sys, "meta_path", [Interrupts(), *sys.meta_path])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "Interrupted: nothing was written.\n"


def test_while_the_options_are_read(run, monkeypatch) -> None:
    monkeypatch.setattr(TyperGroup, "parse_args", lambda *_: interrupt())
    done = run("doctor")
    assert (done.exit_code, done.stderr) == (130, "Interrupted: nothing was written.\n")


COMPARE = ["--target", "price", "--methods", "heteroscedastic,ell", "--folds", 2]
HERE = ["--engine", "serial", "--device", "cpu", "--quiet", "--out"]
PAPER = ["--preset", "quick", "--only", "wine", "--methods", "hnn,ell"]


def interrupt_after(monkeypatch: pytest.MonkeyPatch, kind: type[Any], finished: int) -> None:
    """Let an experiment finish so many cells, with empty results."""
    cells: list[object] = []

    def run_one(self: Any, batch: Any, device: str) -> list[dict[str, Any]]:
        cells.extend(batch)
        if len(cells) > finished:
            interrupt()
        return [{"settings": self.settings(batch[0]), "seconds": {}}]

    monkeypatch.setattr(kind, "run", run_one)


def test_a_comparison_without_a_finished_cell_leaves_nothing(run, data, tmp_path, monkeypatch):
    interrupt_after(monkeypatch, OwnTable, 0)
    done = run("compare", data / "table.csv", *COMPARE, *HERE, tmp_path / "out")
    assert done.exit_code == 130
    assert done.stderr == (
        "Interrupted: none of 6 cells was finished; the same command starts again.\n"
    )
    assert not any(tmp_path.iterdir())


def test_a_bench_says_how_many_cells_it_keeps(run, tmp_path, monkeypatch) -> None:
    out = tmp_path / "out"
    for finished, words in ((0, "none of 2 cells was finished"), (1, "1 of 2 cells are kept")):
        interrupt_after(monkeypatch, PaperExperiment, finished)
        done = run("bench", "paper", *PAPER, *HERE, out)
        assert done.exit_code == 130
        assert done.stderr.startswith(f"Interrupted: {words}")
        assert len(list(tmp_path.rglob("*.json"))) == finished == len(Store(out).cells())
        assert out.exists() == bool(finished)


def test_locks_of_another_run_stay(run, tmp_path, monkeypatch) -> None:
    out = tmp_path / "out"
    interrupt_after(monkeypatch, PaperExperiment, 0)
    ell, hnn = plan(["wine"], ["ell", "hnn"], 1, "honest", quick=True)
    with Store(out).claim(ell) as mine:
        assert mine
        assert run("bench", "paper", *PAPER, *HERE, out).exit_code == 130
        with Store(out).claim(ell) as again, Store(out).claim(hnn) as other:
            assert (again, other) == (False, True)
    assert not Store(out).cells()
