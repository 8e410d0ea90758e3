"""The pages of results are those that the committed results give."""

from __future__ import annotations

import pytest
from benchmarks.quality_pages import (
    between_marks,
    frontier_summary,
    quality_page,
    read_frontier,
    reported,
)
from benchmarks.reproduction_page import page_figures, reproduction_page
from tests.documents import ROOT

from calibrant.experiments import read_results

RESULTS = ROOT / "benchmarks" / "results"
STORE = "benchmarks/results/paper.parquet"
AGAIN = f"""Regenerate it: python benchmarks/reproduction.py {STORE} \\
    --out docs/reproduction.md --images docs/images"""
QUALITY_AGAIN = "Regenerate it: python benchmarks/quality.py show --docs docs/quality.md"
FRONTIER_AGAIN = "Regenerate it: python benchmarks/frontier.py --readme README.md"


@pytest.fixture(scope="module")
def records() -> list[dict[str, object]]:
    return read_results(ROOT / STORE)


def test_the_page_is_what_the_results_say(records: list[dict[str, object]]) -> None:
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert page == reproduction_page(records, STORE, "images"), AGAIN


def test_the_pictures_are_those_of_the_results(records: list[dict[str, object]]) -> None:
    drawn = {f"{name}.png" for name, _ in page_figures(records)}
    there = {path.name for path in (ROOT / "docs" / "images").glob("reproduction-*.png")}
    assert there == drawn, AGAIN


def test_the_results_are_small() -> None:
    assert (ROOT / STORE).stat().st_size < 2_000_000


def test_the_page_of_quality_is_what_its_results_say() -> None:
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    records = read_results(RESULTS / "quality.parquet")
    timed = {device: read_results(RESULTS / f"cost-{device}.parquet") for device in ("cpu", "cuda")}
    assert page == quality_page(records, timed), QUALITY_AGAIN


def test_the_table_of_the_readme_is_what_its_results_say() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    results = reported(read_frontier(RESULTS / "frontier.jsonl"))
    assert readme == between_marks(readme, frontier_summary(results), "frontier"), FRONTIER_AGAIN
