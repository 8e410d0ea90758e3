"""Ctrl-C at the worst moments."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from calibrant.cli._interrupts import forget_kept, keeping, what_was_kept
from calibrant.cli._tables import staged
from calibrant.estimators import NetworkRegressor, load_model

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of another kind")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def clean() -> None:
    forget_kept()


def test_an_interrupt_waits_for_the_result(tmp_path: Path) -> None:
    file = tmp_path / "result"
    with pytest.raises(KeyboardInterrupt), keeping(file):  # noqa: PT012 (the order is the point)
        interrupt()
        file.write_text("whole")
    assert file.read_text() == "whole"
    assert what_was_kept() == f"complete and kept: {file}."
    with pytest.raises(KeyboardInterrupt):  # and works again afterwards
        interrupt()


def test_a_failure_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"), keeping(tmp_path / "result"):
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
