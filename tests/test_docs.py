"""The documentation is a promise: its Python runs, its commands exist, its pictures are small."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
import typer
from tests.documents import ROOT, blocks

from calibrant.cli import app

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


@pytest.fixture(autouse=True)
def quiet_corner(tmp_path, monkeypatch):
    """A folder to write into, no window for a figure, and no waiting for a busy core."""
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
# Every forecaster of sktime warns of a coming default, its own ones too.
@pytest.mark.filterwarnings("ignore:.*remember_data:FutureWarning")
@pytest.mark.filterwarnings("error::FutureWarning")
def test_python_of_a_page_runs_from_top_to_bottom(page: Path) -> None:
    space: dict[str, object] = {"__name__": "__main__"}
    missing = set()
    for code, needs, line in blocks(page, "python"):
        if needs is not None and importlib.util.find_spec(needs) is None:
            missing.add(needs)
            continue
        # Blank lines in front, so that a traceback names the line of the page.
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), space)
    if missing:
        pytest.skip(f"{', '.join(sorted(missing))} not installed; all other blocks ran")


@pytest.mark.parametrize("language", ["python", "console", "text"])
def test_code_fits_the_page_without_scrolling(language: str) -> None:
    for page in PAGES:
        for code, _, line in blocks(page, language):
            assert max(map(len, code.splitlines())) <= 80, f"{name_of(page)}, line {line}"


def test_side_by_side_code_is_narrow() -> None:
    for page in (DOCS / "migration").glob("*.md"):
        for grid in re.findall(r'<div class="grid" markdown>(.*?)</div>', page.read_text(), re.S):
            assert max(map(len, re.sub("<!--.*?-->", "", grid).splitlines())) <= 55, page.name


def test_commands_on_the_pages_exist() -> None:
    group = typer.main.get_command(app)
    found = set()
    for page in PAGES:
        for code, _, _ in blocks(page, "console"):
            for line in code.splitlines():
                for command, options in re.findall(r"calibrant ([a-z]+)\b([^|#]*)", line):
                    called = group.commands[command]
                    if hasattr(called, "commands"):  # such as bench paper
                        called = called.commands[options.split()[0]]
                    known = {o for p in called.params for o in p.opts}
                    assert set(re.findall(r"--[a-z-]+", options)) <= known, line
                    found.add(command)
    assert {"fit", "predict", "evaluate", "forecast", "bench"} <= found


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    listed = re.findall(r"[\w/-]+\.md", nav)
    assert sorted(listed) == sorted(name_of(page) for page in PAGES)


def test_pictures_are_there_small_and_drawn_by_a_command() -> None:
    script = (DOCS / "figures.py").read_text(encoding="utf-8")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
            file = (page.parent / picture).resolve()
            assert file.stat().st_size < 100_000, picture
            by_bench = file.stem.startswith("reproduction-")
            by_page = f'savefig("{file.name}")' in text  # kept by docs/outputs.py
            by_script = f"def {file.stem}(" in script or f'"{file.name}"' in script
            assert by_bench or by_page or by_script, picture


def test_what_a_page_prints_is_on_it() -> None:
    for page in [ROOT / "README.md", *PAGES]:
        text = page.read_text(encoding="utf-8")
        for code, after in re.findall(r"^```python\n(.*?)^```\n(.{0,10})", text, re.M | re.S):
            assert "print(" not in code or after.startswith("\n```text"), f"{page.name}: {code}"


def test_nothing_is_loaded_from_elsewhere() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "  font: false" in config
    extras = re.search(r"\nextra_javascript:\n((?:  - .*\n)+)", config)
    assert extras is not None
    scripts = [line.removeprefix("  - ") for line in extras[1].splitlines()]
    assert scripts == ["javascripts/search.js"]  # ours, in the repository
    assert "://" not in (DOCS / scripts[0]).read_text(encoding="utf-8")
    for page in PAGES:
        assert not re.search(r"!\[.*?\]\(https?:|<script|<img[^>]+https?:", page.read_text())
