"""The training loop: `run_stage` > `run_epoch` > `train_step`.

M networks are trained as one batched program. Each has its own order of batches, gradient
clipping, early stopping and roll-back, and ends with the weights that it would have alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_

from calibrant.networks import MemberNetworks
from calibrant.threads import one_thread
from calibrant.training.adam import Adam
from calibrant.training.averaging import WeightAverage
from calibrant.training.batches import BatchSource
from calibrant.training.best import BestWeights
from calibrant.training.checkpoints import Generators, Stateful
from calibrant.training.deadline import Deadline
from calibrant.training.history import HistoryRecorder, Record
from calibrant.training.progress import Progress, Snapshot
from calibrant.training.replay import own_stream
from calibrant.training.rows import MemberRows, Rows
from calibrant.training.speed import fast_score, fast_step
from calibrant.training.stage import Objective, Stage
from calibrant.training.workers import Workers

_CLIP = 10.0  # largest norm of a member's gradient; only an exploding likelihood exceeds it
_EPOCHS_AHEAD = 8  # epochs that a GPU runs before the host waits for their scores


def run_stage(
    stage: Stage,
    network: MemberNetworks,
    train: BatchSource,
    validation: Rows | MemberRows,
    generators: Sequence[torch.Generator],
    progress: Progress,
    models: int = 1,
    workers: Workers | None = None,
) -> list[list[Record]]:
    """Train until the budget or the patience ends, and keep the best weights.

    The initial weights are a candidate (epoch 0): a stage that does not improve the validation
    score is rolled back.

    Parameters
    ----------
    train : BatchSource
        Rows in memory (`Rows`, `MemberRows`), or a stream.
    validation : rows for all members, or different rows for each member
    generators : one per member, for the order of its batches
    models : int
        Number of models in the network, with equally many consecutive members each.
    workers : Workers or None
        Of a data-parallel training. Each has other training rows, of which `stage.batch_size` make
        its share of a batch, and all score the same validation rows.

    Returns
    -------
    list of lists of Record
        For every model one record per epoch, epoch 0 included.
    """
    optimiser = Adam(list(network.parameters()), stage.lr, stage.weight_decay, stage.beta2)
    steps = math.ceil(train.n_rows / stage.batch_size)
    average = WeightAverage(network, stage.average * steps) if stage.average else None
    average_in_place = average.in_place if average else nullcontext
    orders = generators[:: network.size // models] if stage.shared_loss else generators
    checkpoints = workers.checkpoints if workers else None
    ahead = _EPOCHS_AHEAD if train.device.type == "cuda" and not checkpoints else 1
    progress.start(stage)
    deadline = Deadline(stage.seconds, workers, train.device)

    def step(*batch: Tensor) -> Tensor:
        return train_step(stage, network, train.take(*batch), optimiser, workers)

    with one_thread(), own_stream(train.device):
        score = partial(validation_score, stage.score, network, validation)
        best = BestWeights(network, score, stage.patience, latest=not stage.keep_best)
        snapshot = stage.pit and partial(take_snapshot, stage.pit, stage.crps, network, validation)
        history = HistoryRecorder(stage, best, progress, snapshot)
        run_step = fast_step(step, stage, network, train, generators)
        run_score = fast_score(best.update, stage, train.device)
        parts: dict[str, Stateful] = {
            "network": network,
            "optimiser": optimiser,
            "best": best,
            "history": history,
            "orders": Generators(generators),
        }
        if average:
            parts["average"] = average
        done = checkpoints.load(parts) if checkpoints else 0

        for epoch in range(done + 1, stage.epochs + 1):
            optimiser.set_rate(stage.rate(epoch))
            if workers:
                workers.seed(generators[0].initial_seed(), epoch)
            batches = train.batches(stage.batch_size, orders)
            advance = partial(progress.within, stage, epoch, train.n_rows)
            loss = run_epoch(run_step, network, batches, average, advance)
            if workers:
                loss = workers.mean(loss)
            with average_in_place():
                history.add(loss, run_score())
                if epoch % ahead == 0 or epoch == stage.epochs:
                    history.flush()
                    if deadline.has_passed() or not best.has_patience():
                        break
            if checkpoints and epoch % checkpoints.every == 0 and epoch < stage.epochs:
                checkpoints.save(parts)

        progress.finish(stage)
        best.restore()
    return history.records(models)


def run_epoch(
    step: Callable[..., Tensor],
    network: MemberNetworks,
    batches: Iterable[tuple[Tensor, ...]],
    average: WeightAverage | None,
    advance: Callable[[int], None],
) -> Tensor:
    """Pass once over the training rows, report how many are done, return the mean losses."""
    network.train()
    # Not a list: small tensors that stay fragment the heap, which grew by 12 kB in every step.
    total = torch.zeros(1, dtype=torch.float64, device=next(network.parameters()).device)
    steps = rows = 0
    for batch in batches:
        total = total + step(*batch)
        steps += 1
        if average:
            average.update()
        rows += batch[0].shape[1]
        advance(rows)
    return total / steps


def train_step(
    stage: Stage,
    network: MemberNetworks,
    batch: Rows,
    optimiser: Adam,
    workers: Workers | None = None,
) -> Tensor:
    """Train on one batch per member and return the losses."""
    weights = optimiser.weights
    for weight in weights:  # also of those that are not trained
        weight.grad = None
    with network.in_precision(stage.precision):
        losses = stage.loss(network, batch)
    losses.backward(torch.ones_like(losses))
    if workers:
        workers.average_gradients(weights)
    clip_gradients(weights, network.size)
    optimiser.step()
    return losses.detach()


def clip_gradients(weights: Sequence[Tensor], members: int) -> None:
    """Limit the norm of the gradient of every member separately."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    if not gradients:
        return
    if members == 1:
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        clip_grads_with_norm_(weights, _CLIP, norm)
        return
    rows = [gradient.flatten(1) for gradient in gradients]
    if rows[0].is_cuda:  # one sum over a copy is faster than one for every weight
        norms = torch.linalg.vector_norm(torch.cat(rows, dim=1), dim=1)
    else:
        norms = torch.stack([torch.linalg.vector_norm(row, dim=1) for row in rows]).norm(dim=0)
    factor = (_CLIP / (norms + 1e-6)).clamp(max=1.0)  # (M,)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.ndim - 1)))


@torch.no_grad()
def validation_score(score: Objective, network: MemberNetworks, rows: Rows | MemberRows) -> Tensor:
    """Scores of the current predictions of the validation rows, per member."""
    network.eval()
    parts = rows.parts(network.size * network.submodels)
    scores = [score(network, part).double() * (part.n_rows / rows.n_rows) for part in parts]
    return torch.stack(scores).sum(dim=0)


@torch.no_grad()
def take_snapshot(
    pit: Objective, crps: Objective | None, network: MemberNetworks, rows: Rows | MemberRows
) -> Snapshot:
    """Current predictions of the validation rows, for the progress bar."""
    network.eval()
    parts = rows.parts(network.size * network.submodels)
    return Snapshot(
        torch.cat([pit(network, part).double().cpu() for part in parts], dim=-1),
        float(validation_score(crps, network, rows).mean()) if crps else None,
    )
