"""Model folders: whole or not at all, and nothing tampered gets in."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calibrant import persistence
from calibrant.errors import MissingFileError, ModelFileError, OutputExistsError, ParameterError
from calibrant.persistence import pack, read_model, savable_part, unpack, write_model

TENSORS = {"a": np.arange(6, dtype=np.float64).reshape(2, 3), "b": np.float32([1.5])}


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path / "model", {"class": "X", "value": 0.1}, TENSORS)
    return tmp_path / "model"


def test_round_trip_is_exact(folder) -> None:
    manifest, tensors = read_model(folder)
    assert manifest["value"] == 0.1
    assert manifest["format_version"] == persistence.FORMAT_VERSION
    for name, array in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], array)
        assert tensors[name].dtype == array.dtype
    assert sorted(os.listdir(folder)) == ["manifest.json", "tensors.safetensors"]
    assert os.listdir(folder.parent) == ["model"]


def edit_manifest(folder, **changes) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_newer_format_is_refused(folder) -> None:
    edit_manifest(folder, format_version=persistence.FORMAT_VERSION + 1, library_version="9.9")
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
        monkeypatch.setattr(persistence, "_write_durably", failing_write)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_model(target, {"class": "new"}, TENSORS, overwrite=True)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == (["model"] if old else [])
    if old:
        assert read_model(target)[0]["class"] == "old"


@pytest.fixture
def parts(monkeypatch):
    """Two registered classes, forgotten after the test."""
    monkeypatch.setattr(persistence, "_PARTS", {})

    @savable_part
    @dataclass
    class Step:
        numbers: np.ndarray
        inner: Any = None

    @savable_part
    class Search:
        """Neither its tree nor a copy of its rows is saved."""

        def __init__(self, rows: np.ndarray) -> None:
            self.rows, self.tree = rows, object()

        def saved_fields(self) -> dict[str, Any]:
            return {"rows": self.rows}

    return Step, Search


def test_nested_parts_come_back(parts) -> None:
    step, search = parts
    arrays: dict[str, np.ndarray] = {}
    value = {"a": step(np.arange(3.0), inner=(1, None, search(np.eye(2)))), "b": "text"}
    content = pack(value, arrays, "model")
    assert sorted(arrays) == ["model.a.inner.2.rows", "model.a.numbers"]
    again = unpack(json.loads(json.dumps(content)), arrays)
    assert (type(again["a"]), type(again["a"].inner[2]), again["b"]) == (step, search, "text")
    np.testing.assert_array_equal(again["a"].numbers, np.arange(3.0))
    np.testing.assert_array_equal(again["a"].inner[2].rows, np.eye(2))
    assert again["a"].inner[:2] == (1, None)


def test_a_class_that_is_not_registered_is_not_saved(parts) -> None:
    @dataclass
    class Step:  # of the same name as a registered one
        numbers: int

    for value in (Step(1), object(), [Step(1)], {"inside": Step(1)}):
        with pytest.raises(ParameterError, match=r"can't be saved.*savable_part marks"):
            pack(value, {}, "model")


@pytest.mark.parametrize("name", ["System", "os.system", "MMDRegressor"])
def test_a_class_that_is_not_registered_is_not_made(parts, name: str) -> None:
    inside = {"part": "Step", "fields": {"numbers": {"part": name, "fields": {}}}}
    for content in ({"part": name, "fields": {"x": 1}}, inside, [inside]):
        with pytest.raises(ModelFileError, match=f"does not know a '{name}'"):
            unpack(content, {})


def test_what_the_user_gives_is_not_stored() -> None:
    module = object()
    content = pack({"body": module, "width": 3}, {}, "model", given={"network": module})
    assert content["fields"] == {"body": {"given": "network"}, "width": 3}
    other = object()
    assert unpack(content, {}, given={"network": other}) == {"body": other, "width": 3}
    with pytest.raises(KeyError):
        unpack(content, {})
