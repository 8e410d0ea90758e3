"""The training loop: `run_stage` > `run_epoch` > `train_step`.

M networks train as one. Each has its own order of batches, its own clipping, early stopping and
roll-back, and ends up where it would have ended alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Adam, Optimizer

from calibrant.networks import MemberNetworks
from calibrant.training.best import BestWeights
from calibrant.training.devices import threads_for
from calibrant.training.history import Record
from calibrant.training.progress import Progress
from calibrant.training.rows import Rows
from calibrant.training.stage import Objective, Stage

_CLIP = 10.0  # largest norm of a member's gradient; it binds only when a likelihood explodes


def run_stage(
    stage: Stage,
    network: MemberNetworks,
    train: Rows,
    validation: Rows,
    generators: Sequence[torch.Generator],
    progress: Progress,
) -> list[Record]:
    """Train until the budget or the patience ends and keep the best weights.

    The network as it comes in is a candidate of its own (epoch 0): a stage that only makes the
    validation score worse is rolled back to where it began.

    Parameters
    ----------
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
    progress.start(stage)
    with threads_for(stage.batch_size * train.steps):
        first = validation_score(stage, network, validation)
        best = BestWeights(network, first, stage.patience)
        records = [_record(stage, 0, None, first)]
        for epoch in range(1, stage.epochs + 1):
            loss = run_epoch(stage, network, train, orders, optimiser)
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
    train: Rows,
    orders: Sequence[torch.Generator],
    optimiser: Optimizer,
) -> float:
    """Pass once over the training rows; returns the mean loss."""
    network.train()
    losses = [
        train_step(stage, network, train.take(index), optimiser)
        for index in batches(len(train.y), stage.batch_size, orders)
    ]
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
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    if network.size == 1:
        norm = get_total_norm(gradients)
        # Nearly all are small enough, which is cheap to see unless the host must wait for it.
        if norm.is_cuda or not norm <= _CLIP:
            clip_grads_with_norm_(network.parameters(), _CLIP, norm)
        return
    squares = torch.stack([g.flatten(1).square().sum(dim=1) for g in gradients]).sum(dim=0)
    factor = (_CLIP / (squares.sqrt() + 1e-6)).clamp(max=1.0)  # (M,)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.ndim - 1)))


def batches(n_rows: int, batch_size: int, orders: Sequence[torch.Generator]) -> Iterator[Tensor]:
    """Index tensors (M, b) of shuffled batches of nearly equal size; all rows, each once."""
    order = torch.stack([torch.randperm(n_rows, generator=g, device=g.device) for g in orders])
    # Equal sizes: a last batch of three rows would weigh as much as one of 256.
    yield from order.chunk(max(1, math.ceil(n_rows / batch_size)), dim=1)


def validation_score(stage: Stage, network: MemberNetworks, rows: Rows) -> Tensor:
    """Scores of the validation rows as each member predicts them now, on the CPU."""
    shares = [len(part.y) / len(rows.y) for part in rows.parts()]
    scores = evaluated(stage.score, network, rows)
    return torch.stack([share * score for share, score in zip(shares, scores, strict=True)]).sum(0)


def validation_pit(what: Objective, network: MemberNetworks, rows: Rows) -> Tensor:
    """PIT values of the validation rows as each member predicts them now, on the CPU."""
    return torch.cat(evaluated(what, network, rows), dim=-1)


@torch.no_grad()
def evaluated(what: Objective, network: MemberNetworks, rows: Rows) -> list[Tensor]:
    """An objective of every part of the rows, on the CPU."""
    network.eval()
    return [what(network, part).double().cpu() for part in rows.parts()]


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
