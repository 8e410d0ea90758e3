"""The training loop: `run_stage` > `run_epoch` > `train_step`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.optim import Adam, Optimizer

from calibrant.networks import DistributionNetwork
from calibrant.training.devices import threads_for
from calibrant.training.history import Record
from calibrant.training.progress import Progress
from calibrant.training.rows import Rows
from calibrant.training.stage import Stage

_CLIP = 10.0  # largest norm of a gradient; it binds only when a likelihood explodes


def run_stage(
    stage: Stage,
    network: DistributionNetwork,
    train: Rows,
    validation: Rows,
    generator: torch.Generator,
    progress: Progress,
) -> list[Record]:
    """Train until the budget or the patience ends and keep the best weights.

    The network as it comes in is a candidate of its own (epoch 0): a stage that only makes the
    validation score worse is rolled back to where it began.

    Returns
    -------
    list of Record, one an epoch, epoch 0 included
    """
    parameters = list(
        network.parameters() if stage.updates == "all" else network.output.parameters()
    )
    optimiser = Adam(
        parameters, lr=stage.lr, weight_decay=stage.weight_decay, fused=_can_fuse(train.x.device)
    )
    first = validation_score(stage, network, validation)
    records = [_record(stage, 0, None, first)]
    best, best_epoch, best_weights = first, 0, _copy_weights(network)
    progress.start(stage)
    with threads_for(stage.batch_size):
        for epoch in range(1, stage.epochs + 1):
            loss = run_epoch(stage, network, train, generator, optimiser)
            score = validation_score(stage, network, validation)
            records.append(_record(stage, epoch, loss, score))
            # The start may be unscored (nan for an exploding one): any number is better then.
            if score < best or (math.isnan(best) and not math.isnan(score)):
                best, best_epoch, best_weights = score, epoch, _copy_weights(network)
            progress.advance(stage, epoch, score, best)
            if epoch - best_epoch >= stage.patience:
                break
    progress.finish(stage)
    if stage.keep_best:
        network.load_state_dict(best_weights)
        records[best_epoch]["best"] = True
    else:
        records[-1]["best"] = True
    return records


def run_epoch(
    stage: Stage,
    network: DistributionNetwork,
    train: Rows,
    generator: torch.Generator,
    optimiser: Optimizer,
) -> float:
    """Pass once over the training rows; returns the mean loss."""
    network.train()
    losses = [
        train_step(stage, network, train.take(index), optimiser)
        for index in batches(len(train.y), stage.batch_size, generator)
    ]
    return float(torch.stack(losses).mean())


def train_step(
    stage: Stage, network: DistributionNetwork, batch: Rows, optimiser: Optimizer
) -> Tensor:
    """One batch: loss, gradient, step."""
    optimiser.zero_grad(set_to_none=True)
    loss = stage.loss(network(batch.x), batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
    optimiser.step()
    return loss.detach()


def batches(n_rows: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Index tensors of shuffled batches of nearly equal size; all rows, each once."""
    order = torch.randperm(n_rows, generator=generator, device=generator.device)
    # Equal sizes: a last batch of three rows would weigh as much as one of 256.
    yield from order.chunk(max(1, math.ceil(n_rows / batch_size)))


@torch.no_grad()
def validation_score(stage: Stage, network: DistributionNetwork, rows: Rows) -> float:
    """Score of the validation rows as they are predicted now."""
    network.eval()
    return float(stage.score(network(rows.x), rows))


def _record(stage: Stage, epoch: int, loss: float | None, score: float) -> Record:
    return {
        "stage": stage.number,
        "epoch": epoch,
        "train_loss": loss,
        "validation_score": score,
        "best": False,
    }


def _copy_weights(network: DistributionNetwork) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def _can_fuse(device: torch.device) -> bool:
    return device.type in ("cpu", "cuda")
