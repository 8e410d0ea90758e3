"""The names that users import from `calibrant`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import calibrant


def test_every_name_can_be_imported() -> None:
    for name in calibrant.__all__:
        assert getattr(calibrant, name) is not None
    assert set(calibrant.__all__) <= set(dir(calibrant))


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'MMRegressor'"):
        calibrant.MMRegressor  # noqa: B018


def test_type_checkers_see_the_same_names() -> None:
    """Names are imported when first used, so an editor knows those of `if TYPE_CHECKING` alone."""
    tree = ast.parse(Path(calibrant.__file__).read_text(encoding="utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names}
    assert seen == {
        name: calibrant._HOME[name] for name in calibrant.__all__ if name != "__version__"
    }
