"""Description of one stage of training: objective and budget."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from torch import Tensor

from calibrant.networks import MemberNetworks, Precision
from calibrant.training.rows import Rows

Objective = Callable[[MemberNetworks, Rows], Tensor]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: an objective for batches, a score for held-out rows, and a budget.

    Parameters
    ----------
    number : int
        1 or 2, as in the paper.
    loss : callable
        Loss of a batch for each member, (M,), with gradient.
    score : callable
        Score of the validation rows for each member, (M,); the epoch with the lowest one is kept.
        It must be a mean over rows, because many windows are scored in parts.
    epochs, batch_size, lr, weight_decay, patience
        Budget of Adam; a member stops after `patience` epochs without a better score.
    beta2 : float
        Decay of Adam's mean of squared gradients.
    seconds : float or None
        Seconds after which no further epoch starts.
    keep_best : bool
        Restore the weights of the best epoch at the end, which may be the start (epoch 0).
    average : float
        Number of epochs over which weights are averaged before they are scored and kept; or 0.
    decay : float
        Share of the epochs, at the end, over which the learning rate falls from `lr` to 0.
    precision : {"float32", "bfloat16"}
        Precision of the networks' matrix products in training; weights, losses and scores are
        float32.
    shared_loss : bool
        The members of a model share one loss: they see the same batches, loss and score are one
        number per model, and they stop at the same epoch.
    recordable : collection of {"loss", "score"}
        Those that do not depend on values on the host, so that a CUDA graph can capture them.
    name, score_name : str
        Names of the stage and of its score, shown by the progress bar.
    pit : callable or None
        PIT values of the validation rows, (M, n), for the progress bar; None if the output of a
        single network is not yet the forecast.
    crps : callable or None
        CRPS of the validation rows for each member, (M,), shown in addition to another score.
    """

    number: int
    loss: Objective
    score: Objective
    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    patience: int
    beta2: float = 0.999
    seconds: float | None = None
    keep_best: bool = True
    average: float = 0.0
    decay: float = 0.0
    precision: Precision = "float32"
    shared_loss: bool = False
    recordable: Collection[str] = ("loss", "score")
    name: str = "likelihood"
    score_name: str = "NLL"
    pit: Objective | None = None
    crps: Objective | None = None

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 1."""
        left = 1.0 - (epoch - 1) / self.epochs
        return self.lr * min(1.0, left / self.decay) if self.decay else self.lr
