"""Model folders: whole or not at all, and nothing tampered gets in."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from calibrant.errors import MissingFileError, ModelFileError, OutputExistsError
from calibrant.persistence import folders, read_model, write_model

TENSORS = {"a": np.arange(6, dtype=np.float64).reshape(2, 3), "b": np.float32([1.5])}


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path / "model", {"class": "X", "value": 0.1}, TENSORS)
    return tmp_path / "model"


def test_round_trip_is_exact(folder) -> None:
    manifest, tensors = read_model(folder)
    assert manifest["value"] == 0.1
    assert manifest["format_version"] == folders.FORMAT_VERSION
    for name, array in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], array)
        assert tensors[name].dtype == array.dtype
    assert sorted(os.listdir(folder)) == ["manifest.json", "tensors.safetensors"]
    assert os.listdir(folder.parent) == ["model"]


def edit_manifest(folder, **changes) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_newer_format_is_refused(folder) -> None:
    edit_manifest(folder, format_version=folders.FORMAT_VERSION + 1, library_version="9.9")
    with pytest.raises(ModelFileError, match=r"calibrant 9.9.*Upgrade calibrant"):
        read_model(folder)


def test_edited_manifest_is_refused(folder) -> None:
    edit_manifest(folder, value=0.2)
    with pytest.raises(ModelFileError, match=r"manifest\.json was changed after saving"):
        read_model(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", '{"format_version": "x"}'])
def test_broken_manifest_is_refused(folder, content: str) -> None:
    (folder / "manifest.json").write_text(content)
    with pytest.raises(ModelFileError, match="damaged"):
        read_model(folder)


def test_truncated_tensors_are_refused(folder) -> None:
    path = folder / "tensors.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ModelFileError, match="truncated, swapped"):
        read_model(folder)


def test_swapped_tensors_are_refused(folder, tmp_path) -> None:
    write_model(tmp_path / "other", {"class": "X"}, {"a": np.zeros(3)})
    os.replace(tmp_path / "other" / "tensors.safetensors", folder / "tensors.safetensors")
    with pytest.raises(ModelFileError, match="truncated, swapped"):
        read_model(folder)


def test_missing_files_are_named(folder, tmp_path) -> None:
    with pytest.raises(MissingFileError, match=r"not a model folder: it has no manifest\.json"):
        read_model(tmp_path / "nothing")
    (folder / "tensors.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"no tensors.safetensors"):
        read_model(folder)


def test_existing_folder_needs_overwrite(folder) -> None:
    with pytest.raises(OutputExistsError, match="exists already"):
        write_model(folder, {"class": "Y"}, TENSORS)
    write_model(folder, {"class": "Y"}, TENSORS, overwrite=True)
    assert read_model(folder)[0]["class"] == "Y"


def test_never_overwrites_what_is_not_a_model(tmp_path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(OutputExistsError, match="not a model folder"):
        write_model(tmp_path / "thesis", {}, TENSORS, overwrite=True)
    assert (tmp_path / "thesis" / "chapter.tex").exists()


def test_missing_parent(tmp_path) -> None:
    with pytest.raises(MissingFileError, match="no folder"):
        write_model(tmp_path / "a" / "b", {}, TENSORS)


@pytest.mark.parametrize("crash_at", ["write", "first rename", "second rename"])
@pytest.mark.parametrize("old", [True, False])
def test_a_crash_leaves_the_old_model_or_none(tmp_path, monkeypatch, crash_at, old) -> None:
    target = tmp_path / "model"
    if old:
        write_model(target, {"class": "old"}, TENSORS)
    calls = {"count": 0}
    real = os.replace

    def failing_replace(source, destination):
        calls["count"] += 1
        wanted = {"first rename": 1, "second rename": 2}.get(crash_at)
        if not old and wanted is not None:
            wanted = 1
        if calls["count"] == wanted:
            raise KeyboardInterrupt
        return real(source, destination)

    def failing_write(path, blob):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", failing_replace)
    if crash_at == "write":
        monkeypatch.setattr(folders, "_write_durably", failing_write)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_model(target, {"class": "new"}, TENSORS, overwrite=True)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == (["model"] if old else [])
    if old:
        assert read_model(target)[0]["class"] == "old"
