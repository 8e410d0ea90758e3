"""The README is a promise: its Python and its commands run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.documents import ROOT, blocks

README = ROOT / "README.md"


def run(command: list[str], folder: Path) -> str:
    # The scripts beside this interpreter, no window for a figure, and no waiting for a busy core.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def words(text: str) -> list[str]:
    """Words of what is printed, without the digits, which differ from machine to machine."""
    return re.sub(r"[-\d.]+", "", text).split()


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_python(number: int, tmp_path: Path) -> None:
    code = blocks(README, "python")[number].code
    printed = run([sys.executable, "-W", "error::FutureWarning", "-c", code], tmp_path)
    shown = blocks(README, "text")[number].code
    assert words(printed)[:30] == words(shown)[:30]  # up to the verdict's first words


@pytest.mark.slow
def test_commands(tmp_path: Path) -> None:
    (commands,) = blocks(README, "sh")
    output = run(["bash", "-e", "-c", commands.code], tmp_path)
    assert "Evaluation on 2,000 rows" in output
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 2001
    assert (tmp_path / "forecast.csv").read_text().count("\n") == 4
    assert "90% intervals covered" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README.read_text(encoding="utf-8"))
    assert len(pictures) == 2
    for picture in pictures:
        assert (README.parent / picture).stat().st_size < 150_000


def test_links_lead_somewhere() -> None:
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)]*)\)", README.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith("https://")]
    assert {"CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"} <= set(local)
    assert all((README.parent / link.partition("#")[0]).exists() for link in local)
