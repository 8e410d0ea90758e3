"""What one stage of training minimises, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from calibrant.networks import MemberNetworks
from calibrant.training.rows import Rows

Objective = Callable[[MemberNetworks, Rows], Tensor]
# From outputs (M, b, k) and rows to the losses, (M,), and their slopes by the outputs.
Slope = Callable[[Tensor, Rows], tuple[Tensor, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: an objective for batches, a score for held-out rows, and a budget.

    Parameters
    ----------
    number : int
        1 or 2, as in the paper.
    loss : callable
        Loss of a batch for each member, (M,), with gradient.
    slope : callable or None
        `loss` from the outputs of the networks, and its slope by them, where that has a closed
        form: plain perceptrons on a CPU then need no autograd.
    score : callable
        Score of the validation rows for each member, (M,); its lowest epoch is kept. A mean
        over rows: many windows are scored in parts.
    epochs, batch_size, lr, weight_decay, patience
        Budget of Adam; a member stops after `patience` epochs without a better score.
    updates : {"all", "head"}
        Which weights move.
    keep_best : bool
        Return to the best epoch at the end, the start included (epoch 0).
    average : float
        Epochs over which the weights are averaged before they are judged and kept; 0 is none.
    decay : float
        Share of the epochs, the last ones, over which the learning rate falls from `lr` to 0.
    together : bool
        The members of a model are one: they see the same batches, loss and score are one number
        a model, and they stop as one.
    recordable : collection of {"loss", "score"}
        Those that never look at values, so that a GPU may record and replay them.
    name, score_name : str
        What is done and what `score` is, for those who watch.
    pit : callable or None
        PIT values of the validation rows, (M, n), for those who watch; None where a network
        alone is not yet the forecast.
    crps : callable or None
        CRPS of the validation rows for each member, (M,), to be shown beside another score.
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
    average: float = 0.0
    decay: float = 0.0
    together: bool = False
    recordable: Collection[str] = ("loss", "score")
    slope: Slope | None = None
    name: str = "likelihood"
    score_name: str = "NLL"
    pit: Objective | None = None
    crps: Objective | None = None

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 1."""
        left = 1.0 - (epoch - 1) / self.epochs
        return self.lr * min(1.0, left / self.decay) if self.decay else self.lr
