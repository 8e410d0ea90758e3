"""The rooms of the package may import each other in one direction only.

The table below is the one of CONTRIBUTING.md, "Architecture". Changing it is a design decision.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "calibrant"
ROOT = Path(__file__).resolve().parents[1] / "src" / PACKAGE

# room -> the rooms it may import besides `SHARED`; what those may import, it may import too.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "checks": (),
    "threads": (),
    "distributions": (),
    "kernels": (),
    "persistence": (),
    "datasets": ("persistence",),
    "tables": ("persistence",),
    "methods": (),
    "losses": ("kernels", "threads"),
    "networks": ("distributions", "persistence"),
    "recalibration": ("distributions", "persistence"),
    "metrics": ("distributions",),
    "plots": ("metrics",),
    "report": ("metrics", "persistence", "tables"),
    "training": ("losses", "networks", "metrics", "threads"),
    "estimators": ("training", "recalibration", "persistence", "tables"),
    "streaming": ("estimators",),
    "calibration": ("estimators",),
    "forecasting": ("estimators",),
    "models": ("calibration", "forecasting"),
    "adapters": ("models",),
    "engines": ("estimators",),
    "experiments": ("models", "engines", "streaming", "plots", "report", "datasets", "methods"),
    "tuning": ("experiments",),
    "cli": ("experiments", "tuning"),
}
# `model.report(...)` and `model.fit(ray_dataset, ...)` are conveniences that look upwards; they
# must stay inside their functions.
LATE_UPWARD = {
    ("distributions", "report"),
    ("forecasting", "report"),
    ("estimators", "engines"),
}
# Rooms that every room may import; `checks` imports `errors`, and `errors` nothing.
SHARED = ("errors", "checks")
# The public face and `python -m calibrant` see every room.
EXEMPT = {"__init__", "__main__"}
# How a room shows that it imports from the top-level package itself rather than from a room.
TOP = "<top level>"


@dataclass(frozen=True)
class Arrow:
    source: str
    target: str
    line: int
    late: bool  # inside a function


def allowed_targets(room: str) -> set[str]:
    if room == "cli":
        return {*MAY_IMPORT, TOP}
    if room in SHARED:
        return set(SHARED[: SHARED.index(room) + 1])
    reachable, waiting = {room, *SHARED}, list(MAY_IMPORT[room])
    while waiting:
        target = waiting.pop()
        if target not in reachable:
            reachable.add(target)
            waiting.extend(MAY_IMPORT[target])
    return reachable


def room_of(module: str) -> str | None:
    """The room of a dotted module name, or None if it is not ours."""
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return None
    return parts[1] if len(parts) > 1 else TOP


def arrows(source: str, module: str, *, is_package: bool) -> list[Arrow]:
    """Every import of one of our rooms in `source`, the text of `module`."""
    home = room_of(module)
    assert home is not None
    found = []
    for node, late in imports(ast.parse(source)):
        for name in imported_modules(node, module, is_package=is_package):
            target = room_of(name)
            if target is not None:
                found.append(Arrow(home, target, node.lineno, late))
    return found


Import = ast.Import | ast.ImportFrom


def imports(node: ast.AST, late: bool = False) -> Iterator[tuple[Import, bool]]:
    """Every import statement, and whether it is inside a function; expressions have none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Import):
            yield child, late
        elif not isinstance(child, ast.expr):
            inside = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imports(child, inside)


def imported_modules(node: Import, module: str, *, is_package: bool) -> list[str]:
    """Absolute dotted names that an import statement may load."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        # One dot is the package of the module: itself for __init__.py, else its parent.
        parts = module.split(".")
        package = parts[: len(parts) - node.level + is_package]
        base = ".".join([*package, base] if base else package)
    if base == PACKAGE:
        # `from calibrant import x`: x is a room, or a public name of the top level.
        rooms = [alias.name for alias in node.names if alias.name in MAY_IMPORT]
        others = len(rooms) < len(node.names)
        return [f"{PACKAGE}.{room}" for room in rooms] + [PACKAGE] * others
    return [base]


def private_imports(source: str, module: str, *, is_package: bool = False) -> set[str]:
    """Private modules of other rooms, or private names in them, that `source` imports."""
    found = set()
    for node, _ in imports(ast.parse(source)):
        for name in imported_modules(node, module, is_package=is_package):
            members = [a.name for a in node.names] if isinstance(node, ast.ImportFrom) else []
            if room_of(name) in (None, room_of(module)):
                continue
            parts = [*name.split(".")[1:], *members]
            if any(part.startswith("_") and not part.startswith("__") for part in parts):
                found.add(name)
    return found


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    wrong = []
    for arrow in arrows(source, module, is_package=is_package):
        excused = arrow.late and (arrow.source, arrow.target) in LATE_UPWARD
        if not excused and arrow.target not in allowed_targets(arrow.source):
            wrong.append(f"{module}:{arrow.line}: {arrow.source} -> {arrow.target}")
    return wrong


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_files() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if not is_exempt(path)]


def is_exempt(path: Path) -> bool:
    return path.parent == ROOT and path.stem in EXEMPT


def test_arrows_point_one_way() -> None:
    files = package_files()
    assert files
    wrong = [
        line
        for path in files
        for line in violations(
            path.read_text(encoding="utf-8"),
            module_name(path),
            is_package=path.name == "__init__.py",
        )
    ]
    assert not wrong, "imports against the architecture:\n" + "\n".join(wrong)


def test_no_room_imports_private_modules_of_another() -> None:
    wrong = [
        f"{module_name(path)}: {name}"
        for path in package_files()
        for name in private_imports(
            path.read_text(encoding="utf-8"),
            module_name(path),
            is_package=path.name == "__init__.py",
        )
    ]
    assert not wrong, "imports of private modules of other rooms:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "source",
    [
        "from calibrant.metrics._inputs import column",
        "import calibrant.metrics._inputs",
        "from ..metrics._inputs import column",
        "from calibrant.metrics import _inputs",
        "from calibrant.metrics.calibration import _hidden",
        "def f():\n    from calibrant.metrics._inputs import column",
    ],
)
def test_a_planted_private_import_is_caught(source: str) -> None:
    assert private_imports(source, "calibrant.plots.fan")
    assert not private_imports(source, "calibrant.metrics.floor")


def test_public_imports_pass() -> None:
    assert not private_imports("from calibrant.metrics import crps", "calibrant.plots.fan")
    assert not private_imports("from numpy._core import multiarray", "calibrant.plots.fan")


def test_every_room_is_in_the_table() -> None:
    rooms = {room_of(module_name(path)) for path in package_files()}
    assert rooms <= set(MAY_IMPORT), f"rooms missing in the table: {rooms - set(MAY_IMPORT)}"


def test_table_has_no_cycles() -> None:
    for room, targets in MAY_IMPORT.items():
        assert all(room not in allowed_targets(target) for target in targets)


@pytest.mark.parametrize(
    "source",
    [
        "from calibrant.estimators import MMDRegressor",
        "import calibrant.estimators.mmd",
        "import calibrant.estimators as e",
        "from calibrant import estimators",
        "from calibrant import errors, estimators",
        "from ..estimators import MMDRegressor",
        "from .. import estimators",
        "from ..estimators.mmd import MMDRegressor",
        "def f():\n    from calibrant.estimators import MMDRegressor",
        "class A:\n    def f(self):\n        from .. import estimators",
        "if True:\n    from calibrant.estimators import MMDRegressor",
    ],
)
def test_a_planted_wrong_arrow_is_caught(source: str) -> None:
    (message,) = violations(source, "calibrant.distributions.normal")
    line = source.count("\n") + 1
    assert message == f"calibrant.distributions.normal:{line}: distributions -> estimators"


@pytest.mark.parametrize(
    ("source", "module", "is_package"),
    [
        ("from ..estimators import base", "calibrant.metrics.floor", False),
        ("from ..estimators import base", "calibrant.metrics", True),
        ("from ...estimators import base", "calibrant.metrics.rules", True),
        ("from .estimators import base", "calibrant.persistence", False),
    ],
)
def test_relative_imports_resolve(source: str, module: str, is_package: bool) -> None:
    (message,) = violations(source, module, is_package=is_package)
    assert message.endswith("-> estimators")


def test_what_all_rooms_share_imports_none_of_them() -> None:
    assert violations("from calibrant.distributions import Normal", "calibrant.checks.levels")
    assert violations("from calibrant.checks import Array", "calibrant.errors")


def test_the_top_level_is_out_of_reach() -> None:
    assert violations("from calibrant import evaluate", "calibrant.plots.reliability")
    assert violations("import calibrant", "calibrant.plots.reliability")
    assert not violations("from calibrant import evaluate", "calibrant.cli.fit")


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from calibrant.errors import DataError", "calibrant.datasets.synthetic"),
        ("from calibrant import errors", "calibrant.kernels.gaussian"),
        ("from calibrant.checks import Array", "calibrant.datasets.synthetic"),
        ("from calibrant.errors import DataError", "calibrant.checks.folds"),
        ("from . import synthetic", "calibrant.datasets._load"),
        ("from calibrant.kernels import gaussian", "calibrant.estimators.mmd"),  # through training
        ("from calibrant.metrics import crps", "calibrant.training.loop"),
        ("import numpy\nfrom torch import nn", "calibrant.networks.mlp"),
        ("import calibrant_extras", "calibrant.errors"),
        ("from calibrant.experiments import run", "calibrant.cli.bench"),
    ],
)
def test_right_arrows_pass(source: str, module: str) -> None:
    assert not violations(source, module)


def test_the_late_import_upward_must_be_late() -> None:
    upward = "from calibrant.report import write"
    assert violations(upward, "calibrant.distributions.predictor")
    assert not violations(f"def report(self):\n    {upward}", "calibrant.distributions.predictor")
    assert violations(f"def report(self):\n    {upward}", "calibrant.metrics.summary")


def loaded_modules(*arguments: str) -> tuple[str, set[str]]:
    """Output of the interpreter run with `arguments`, and every module that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return done.stdout, {line.rsplit("|", 1)[1].strip() for line in lines}


def test_help_does_not_import_torch() -> None:
    output, modules = loaded_modules("-m", PACKAGE, "--help")
    assert "Usage" in output
    assert f"{PACKAGE}.cli" in modules
    assert "torch" not in modules


@pytest.mark.parametrize("statement", ["import calibrant", "import calibrant.cli"])
def test_start_stays_light(statement: str) -> None:
    _, modules = loaded_modules("-c", statement)
    assert not modules & {"torch", "sklearn", "matplotlib", "plotly"}
