"""What happened in an epoch."""

from __future__ import annotations

from typing import TypedDict


class Record(TypedDict):
    """One epoch of one stage; loss and score are means over the members.

    Epoch 0 is the network before the first step; an epoch marked `best` is one whose weights a
    member kept.
    """

    stage: int
    epoch: int
    train_loss: float | None
    validation_score: float
    best: bool
