"""The training history: one record per epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict

import torch
from torch import Tensor

if TYPE_CHECKING:
    from calibrant.training.best import BestWeights
    from calibrant.training.progress import Progress, Snapshot
    from calibrant.training.stage import Stage


class Record(TypedDict):
    """One epoch of one stage; loss and score are means over the members.

    Epoch 0 is the network before the first step. An epoch is `best` if a member kept its weights.
    `score_name` names the validation score, which differs between stages.
    """

    stage: int
    epoch: int
    train_loss: float | None
    validation_score: float
    score_name: str
    best: bool


class HistoryRecorder:
    """Collects losses and scores of all members, and copies them from the device in batches.

    Parameters
    ----------
    stage : Stage
    best : BestWeights
        Before the first step.
    progress : Progress
    snapshot : callable or None
        Returns a `Snapshot` of the held-out rows for the progress bar.
    """

    def __init__(
        self,
        stage: Stage,
        best: BestWeights,
        progress: Progress,
        snapshot: Callable[[], Snapshot] | None,
    ) -> None:
        self._stage, self._best, self._progress = stage, best, progress
        self._snapshot = snapshot
        self._scores = [best.score.cpu().clone()]
        self._losses = [torch.full_like(self._scores[0], torch.nan)]
        self._unread: list[Tensor] = []

    def add(self, loss: Tensor, score: Tensor) -> None:
        """Add an epoch, still on the device."""
        self._unread.append(torch.stack([loss.double(), score]))

    def flush(self) -> None:
        """Copy the added epochs to the host and report them to the progress bar."""
        for loss, score in torch.stack(self._unread).cpu():
            self._losses.append(loss)
            self._scores.append(score)
            record = self._record(len(self._scores) - 1, slice(None))
            best = float(self._best.score.mean())
            self._progress.advance(self._stage, record, best, self._snapshot)
        self._unread.clear()

    def by_name(self) -> dict[str, Tensor]:
        """Losses and scores of the epochs that were read."""
        return {"losses": torch.stack(self._losses), "scores": torch.stack(self._scores)}

    def load_by_name(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that `by_name` returned."""
        self._losses, self._scores = list(state["losses"]), list(state["scores"])

    def records(self, models: int) -> list[list[Record]]:
        """Records of every model, up to the epoch at which it would have stopped alone."""
        kept = self._best.epoch.cpu().chunk(models)
        size = len(self._scores[0]) // models
        result = []
        for i, epochs in enumerate(kept):
            last = min(len(self._scores) - 1, int(epochs.max()) + self._stage.patience)
            own = slice(i * size, (i + 1) * size)
            records = [self._record(epoch, own) for epoch in range(last + 1)]
            for epoch in epochs.tolist() if self._stage.keep_best else [last]:
                records[epoch]["best"] = True
            result.append(records)
        return result

    def _record(self, epoch: int, members: slice) -> Record:
        return {
            "stage": self._stage.number,
            "epoch": epoch,
            "train_loss": float(self._losses[epoch][members].mean()) if epoch else None,
            "validation_score": float(self._scores[epoch][members].mean()),
            "score_name": self._stage.score_name,
            "best": False,
        }
