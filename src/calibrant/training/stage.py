"""What one stage of training minimises, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.distributions import Distribution as TorchDistribution

from calibrant.training.rows import Rows

Objective = Callable[[TorchDistribution, Rows], Tensor]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: an objective for batches, a score for held-out rows, and a budget.

    Parameters
    ----------
    number : int
        1 or 2, as in the paper.
    loss : callable
        Scalar loss of a batch, with gradient.
    score : callable
        Scalar score of the validation rows; the epoch with the lowest one is kept.
    epochs, batch_size, lr, weight_decay, patience
        Budget of Adam; the stage ends after `patience` epochs without a better score.
    updates : {"all", "head"}
        Which weights move.
    keep_best : bool
        Return to the best epoch at the end, the start included (epoch 0).
    """

    number: int
    loss: Objective
    score: Objective
    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    patience: int
    updates: Literal["all", "head"] = "all"
    keep_best: bool = True
