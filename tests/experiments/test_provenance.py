from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from calibrant.experiments import provenance


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALIBRANT_COMMIT", raising=False)
    provenance.commit.cache_clear()


def repository(folder: Path) -> Path:
    """A repository with one commit of one module."""
    module = folder / "provenance.py"
    module.write_text("x = 1\n")
    for command in (
        ["init", "-q"],
        ["add", "provenance.py"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "First"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return module


def test_the_commit_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = repository(tmp_path)
    monkeypatch.setattr(provenance, "__file__", str(module))
    clean = provenance.commit()
    head = ["git", "rev-parse", "HEAD"]
    assert subprocess.check_output(head, cwd=tmp_path, text=True).startswith(clean)
    provenance.commit.cache_clear()
    module.write_text("x = 2\n")
    assert provenance.commit() == f"{clean}-dirty"


def test_a_repository_that_does_not_track_the_package_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path)
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "provenance.py").touch()
    monkeypatch.setattr(provenance, "__file__", str(installed / "provenance.py"))
    assert provenance.commit() == "unknown"


def test_copied_sources_are_named_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRANT_COMMIT", "abc1234")
    assert provenance.commit() == "abc1234"


def test_record_of_a_run() -> None:
    record = provenance.provenance("cpu", ["not-a-package"])
    assert record["versions"]["not-a-package"] == "unknown"
    assert record["machine"]["device"] == "cpu"
    assert set(record) == {"versions", "machine", "commit", "finished"}
