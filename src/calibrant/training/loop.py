"""The training loop: `run_stage` > `run_epoch` > `train_step`.

M networks train as one. Each has its own order of batches, its own clipping, early stopping and
roll-back, and ends up where it would have ended alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor
from torch.optim import Adam, Optimizer

from calibrant.networks import MemberNetworks
from calibrant.training.averaging import WeightAverage
from calibrant.training.best import BestWeights
from calibrant.training.devices import threads_for
from calibrant.training.history import Record
from calibrant.training.progress import Progress
from calibrant.training.rows import MemberRows, Rows
from calibrant.training.stage import Objective, Stage

_CLIP = 10.0  # largest norm of a member's gradient; it binds only when a likelihood explodes


def run_stage(
    stage: Stage,
    network: MemberNetworks,
    train: Rows | MemberRows,
    validation: Rows,
    generators: Sequence[torch.Generator],
    progress: Progress,
) -> list[Record]:
    """Train until the budget or the patience ends and keep the best weights.

    The network as it comes in is a candidate of its own (epoch 0): a stage that only makes the
    validation score worse is rolled back to where it began.

    Parameters
    ----------
    train : rows for all members, or for each member its own
    validation : rows (n,) for all members, or (M, n) for each its own
    generators : one a member, for the order of its batches

    Returns
    -------
    list of Record, one an epoch, epoch 0 included
    """
    parameters: list[Tensor] = (
        list(network.parameters()) if stage.updates == "all" else network.head_parameters()
    )
    optimiser = Adam(
        parameters, lr=stage.lr, weight_decay=stage.weight_decay, fused=_can_fuse(train.y.device)
    )
    orders = generators[:1] if stage.together else generators
    pit = None if stage.pit is None else partial(validation_pit, stage.pit, network, validation)
    steps = math.ceil(train.n_rows / stage.batch_size)
    average = WeightAverage(network, stage.average * steps) if stage.average else None
    progress.start(stage)
    with threads_for(stage.batch_size * train.steps):
        first = validation_score(stage, network, validation)
        best = BestWeights(network, first, stage.patience)
        records = [_record(stage, 0, None, first)]
        for epoch in range(1, stage.epochs + 1):
            loss = run_epoch(stage, network, train, orders, optimiser, average)
            with average.in_place() if average else nullcontext():
                score = validation_score(stage, network, validation)
                records.append(_record(stage, epoch, loss, score))
                going_on = best.update(score, epoch)
                progress.advance(stage, records[-1], float(best.score.mean()), pit)
            if not going_on:
                break
    progress.finish(stage)
    if stage.keep_best:
        best.restore()
        for epoch in best.epoch.tolist():
            records[epoch]["best"] = True
    else:
        records[-1]["best"] = True
    return records


def run_epoch(
    stage: Stage,
    network: MemberNetworks,
    train: Rows | MemberRows,
    orders: Sequence[torch.Generator],
    optimiser: Optimizer,
    average: WeightAverage | None = None,
) -> float:
    """Pass once over the training rows; returns the mean loss."""
    network.train()
    losses = []
    for index in batches(train.n_rows, stage.batch_size, orders):
        losses.append(train_step(stage, network, train.take(index), optimiser))
        if average:
            average.update()
    return float(torch.stack(losses).mean())


def train_step(stage: Stage, network: MemberNetworks, batch: Rows, optimiser: Optimizer) -> Tensor:
    """One batch for every member: losses, gradients, step."""
    optimiser.zero_grad(set_to_none=True)
    losses = stage.loss(network, batch)
    losses.sum().backward()
    clip_gradients(network)
    optimiser.step()
    return losses.detach()


def clip_gradients(network: MemberNetworks) -> None:
    """Limit the norm of every member's gradient, each by itself."""
    if network.size == 1:
        torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
        return
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    squares = torch.stack([g.flatten(1).square().sum(dim=1) for g in gradients]).sum(dim=0)
    factor = (_CLIP / (squares.sqrt() + 1e-6)).clamp(max=1.0)  # (M,)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.ndim - 1)))


def batches(n_rows: int, batch_size: int, orders: Sequence[torch.Generator]) -> Iterator[Tensor]:
    """Index tensors (M, b) of shuffled batches of nearly equal size; all rows, each once."""
    order = torch.stack([torch.randperm(n_rows, generator=g, device=g.device) for g in orders])
    # Equal sizes: a last batch of three rows would weigh as much as one of 256.
    yield from order.chunk(max(1, math.ceil(n_rows / batch_size)), dim=1)


@torch.no_grad()
def validation_score(stage: Stage, network: MemberNetworks, rows: Rows) -> Tensor:
    """Scores of the validation rows as each member predicts them now, on the CPU."""
    network.eval()
    scores = [
        stage.score(network, part).double().cpu() * (part.n_rows / rows.n_rows)
        for part in rows.parts()
    ]
    return torch.stack(scores).sum(dim=0)


@torch.no_grad()
def validation_pit(pit: Objective, network: MemberNetworks, rows: Rows) -> Tensor:
    """PIT values of the validation rows as each member predicts them now, on the CPU."""
    network.eval()
    return torch.cat([pit(network, part).double().cpu() for part in rows.parts()], dim=-1)


def _record(stage: Stage, epoch: int, loss: float | None, score: Tensor) -> Record:
    return {
        "stage": stage.number,
        "epoch": epoch,
        "train_loss": loss,
        "validation_score": float(score.mean()),
        "best": False,
    }


def _can_fuse(device: torch.device) -> bool:
    return device.type in ("cpu", "cuda")
