"""The presets that `quality` chooses from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from calibrant.estimators.scaling import Scaling
from calibrant.losses import Match

Quality = Literal["fast", "default", "best"]
NetworkKind = Literal["relu", "silu", "neighbours"]

_FULL_EPOCHS = 8_000  # rows up to which all epochs are needed; larger tables need fewer
_FEW_ROWS = 2_000  # up to which smooth networks pay in the default, and small ones do in "best"
_FIVE_FOLDS_ROWS = 4_000  # up to which networks need four fifths of the rows, not two thirds
_FOLD_ROWS = 25_000  # up to which folds are worth their price
SUBMODELS_WITHOUT_FOLDS = 8  # where `fit` is told what to hold out: there are few networks then


class EnsembleSize(NamedTuple):
    """How many networks are trained, on which rows, of which kinds and sizes."""

    members: int
    folds: int
    submodels: int
    kinds: tuple[NetworkKind, ...]
    hidden: tuple[int, ...]


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
    periodic: float = 0.0
    members: int = 1
    folds: int = 0
    submodels: int = 1
    kinds: tuple[NetworkKind, ...] = ("relu",)
    # What has no parameter of its own that could be None.
    hidden: tuple[int, ...] | None = None
    batch_size: int = 256
    beta2: float = 0.999
    weight_decay: float = 1e-5
    scaling: Scaling = "standard"

    def epochs_for(self, n_rows: int) -> int:
        """Epochs of stage 2 for this many training rows: more rows are more steps per epoch."""
        if self.submodels == 1:
            return self.matching_epochs
        fewer = round(self.matching_epochs * math.sqrt(min(1.0, _FULL_EPOCHS / n_rows)))
        return max(min(4, self.matching_epochs), fewer)


# Chosen on splits 100 and 101 of the development tables; docs/method.md describes it.
_DEFAULT = Preset(
    components=5,
    epochs=2,  # the likelihood only has to find the shape of the noise
    match=None,
    matching_epochs=60,
    matching_lr=4e-3,
    matching_patience=12,
    average=2.0,
    decay=0.5,
    periodic=0.1,
    members=2,
    folds=5,
    submodels=2,
    kinds=("relu", "neighbours"),
    hidden=(128, 128),
    batch_size=128,
    beta2=0.95,
    weight_decay=0.0,
    scaling="robust",
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
        _DEFAULT,
        matching_epochs=120,
        matching_patience=24,
        submodels=8,
        kinds=("relu", "silu", "neighbours"),
        hidden=(256, 256, 256),
    ),
}
# As good on few rows; with wider layers, most of what "best" gains on more at a tenth of its cost.
_SMALLER_BEST: dict[str, Any] = {
    "submodels": 2,
    "hidden": (112, 112, 112),
    "matching_epochs": 80,
    "matching_patience": 16,
}
# Recurrent networks and modules of the user: no submodels, and slower but safer training.
_PLAIN = replace(
    _DEFAULT,
    epochs=10,
    matching_epochs=100,
    matching_lr=1e-3,
    matching_patience=60,
    average=5.0,
    decay=0.25,
    periodic=0.0,
    members=1,
    folds=0,
    submodels=1,
    kinds=("relu",),
    hidden=None,
    batch_size=256,
    beta2=0.999,
    weight_decay=1e-5,
    scaling="standard",
)
_PLAIN_PRESETS: dict[Quality, Preset] = {
    "fast": PRESETS["fast"],
    "default": _PLAIN,
    "best": replace(_PLAIN, members=2, folds=4, matching_epochs=400),
}


def preset(quality: Quality, network: object, n_rows: int | None = None) -> Preset:
    """Return the preset of a quality for the "mlp" or another network, sized for a table.

    Without `n_rows`, what depends on the number of rows is that of a table of 2,001 to 4,000.
    """
    if network != "mlp":
        return _PLAIN_PRESETS[quality]
    chosen = PRESETS[quality]
    if n_rows is None or quality == "fast":
        return chosen
    if quality == "default":
        return replace(chosen, **default_size(n_rows)._asdict())
    return replace(chosen, **_SMALLER_BEST) if n_rows <= _FEW_ROWS else chosen


def default_size(n_rows: int) -> EnsembleSize:
    """Ensemble of the default for this many rows, at two to three times the price of boosted trees.

    Folds use all rows, at the price of several networks of a kind. On large tables few wide
    networks that are trained long are better than many that are trained briefly.
    """
    kinds: tuple[NetworkKind, ...] = ("relu", "neighbours")
    if n_rows > _FOLD_ROWS:
        return EnsembleSize(1, 0, 4, kinds, (256, 256))
    if n_rows <= _FEW_ROWS:
        kinds = ("relu", "silu", "neighbours")
    return EnsembleSize(2, 5 if n_rows <= _FIVE_FOLDS_ROWS else 3, 2, kinds, (128, 128))


def ladder(n_rows: int) -> list[Preset]:
    """Presets that a budget of time chooses from, from less than the default to "best"."""
    default, best = preset("default", "mlp", n_rows), preset("best", "mlp", n_rows)
    smaller = replace(best, **(_SMALLER_BEST | {"hidden": (192, 192, 192)}))
    one = replace(default, members=1, folds=0, kinds=("relu",))
    return [
        replace(one, submodels=4, matching_epochs=15),
        replace(one, submodels=8, matching_epochs=30),
        replace(default, kinds=("relu",)),
        default,
        *([replace(_DEFAULT, kinds=default.kinds)] if n_rows > _FIVE_FOLDS_ROWS else []),
        replace(_DEFAULT, hidden=(192, 192), kinds=default.kinds),
        *([smaller] if n_rows > _FEW_ROWS else []),
        best,
    ]


# The parameter of `MMDRegressor` that takes the place of each value.
PRESET_PARAMETERS = {
    "components": "components",
    "epochs": "epochs",
    "match": "matching__match",
    "matching_epochs": "matching__epochs",
    "matching_lr": "matching__lr",
    "matching_patience": "matching__patience",
    "average": "matching__average",
    "decay": "matching__decay",
    "members": "ensemble__members",
    "folds": "ensemble__folds",
    "submodels": "ensemble__submodels",
    "kinds": "ensemble__kinds",
    "periodic": "ensemble__periodic",
    "hidden": "hidden",
}


def limited_epochs(quality: Quality, epochs: int) -> dict[str, int]:
    """Parameters of `MMDRegressor` that limit each stage of a quality to `epochs`."""
    chosen = PRESETS[quality]
    return {
        "epochs": min(epochs, chosen.epochs),
        "matching__epochs": min(epochs, chosen.matching_epochs),
    }
