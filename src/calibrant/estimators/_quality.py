"""What the settings of `quality` stand for."""

from __future__ import annotations

from typing import Any, Literal

Quality = Literal["fast", "default", "best"]

_ONE_GAUSSIAN: dict[str, Any] = {
    "head": "gaussian",
    "periodic": 0.0,
    "members": 1,
    "cross_fit": 0,
    "epochs": 200,
    "match": "joint",
    "matching_epochs": 5,
    "matching_lr": 3e-4,
    "matching_patience": 10,
    "neighbours": False,
    "average": 0.0,
    "decay": 0.0,
}
_ONE_MIXTURE: dict[str, Any] = {
    "head": "mixture",
    "periodic": 0.0,
    "members": 1,
    "cross_fit": 0,
    "epochs": 10,  # the likelihood finds the shape, the kernel score does the rest
    "match": "rows",
    "matching_epochs": 100,
    "matching_lr": 1e-3,
    "matching_patience": 60,
    "neighbours": False,
    "average": 5.0,
    "decay": 0.25,
}
_MANY: dict[str, Any] = {
    "periodic": "auto",
    "members": 2,
    "cross_fit": 4,
    "matching_epochs": 400,
    "neighbours": True,
}
PRESETS: dict[Quality, dict[str, Any]] = {
    "fast": _ONE_GAUSSIAN,
    "default": _ONE_MIXTURE,
    "best": _ONE_MIXTURE | _MANY,
}


def limited(quality: Quality, epochs: int) -> dict[str, int]:
    """Passes over the rows in both stages of a quality, at most `epochs` in each."""
    return {name: min(epochs, PRESETS[quality][name]) for name in ("epochs", "matching_epochs")}
