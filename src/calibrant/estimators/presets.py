"""The presets that `quality` chooses from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from calibrant.losses import Match

Quality = Literal["fast", "default", "best"]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Values of the parameters of `MMDRegressor` that the user leaves at None."""

    components: int
    epochs: int
    match: Match | None
    matching_epochs: int
    matching_lr: float
    matching_patience: int
    average: float
    decay: float
    periodic: float | Literal["auto"] = 0.0
    members: int = 1
    folds: int = 0
    neighbours: bool = False


_DEFAULT = Preset(
    components=5,
    epochs=10,  # the likelihood only has to find the shape of the noise
    match=None,
    matching_epochs=100,
    matching_lr=1e-3,
    matching_patience=60,
    average=5.0,
    decay=0.25,
)
PRESETS: dict[Quality, Preset] = {
    "fast": Preset(
        components=1,
        epochs=200,
        match="joint",
        matching_epochs=5,
        matching_lr=3e-4,
        matching_patience=10,
        average=0.0,
        decay=0.0,
    ),
    "default": _DEFAULT,
    "best": replace(
        _DEFAULT, periodic="auto", members=2, folds=4, matching_epochs=400, neighbours=True
    ),
}


# The parameter of `MMDRegressor` that takes the place of each value.
PRESET_PARAMETERS = {
    "components": "components",
    "epochs": "epochs",
    "periodic": "periodic",
    "match": "matching__match",
    "matching_epochs": "matching__epochs",
    "matching_lr": "matching__lr",
    "matching_patience": "matching__patience",
    "average": "matching__average",
    "decay": "matching__decay",
    "members": "ensemble__members",
    "folds": "ensemble__folds",
    "neighbours": "ensemble__neighbours",
}


def limited_epochs(quality: Quality, epochs: int) -> dict[str, int]:
    """Parameters of `MMDRegressor` that limit each stage of a quality to `epochs`."""
    preset = PRESETS[quality]
    return {
        "epochs": min(epochs, preset.epochs),
        "matching__epochs": min(epochs, preset.matching_epochs),
    }
