"""What happened in an epoch."""

from __future__ import annotations

from typing import TypedDict


class Record(TypedDict):
    """One epoch of one stage.

    Epoch 0 is the network before the first step; the epoch marked `best` is the one whose
    weights were kept.
    """

    stage: int
    epoch: int
    train_loss: float | None
    validation_score: float
    best: bool
