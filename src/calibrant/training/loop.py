"""The training loop: `run_stage` > `run_epoch` > `train_step`.

M networks are trained as one batched program. Each has its own order of batches, gradient
clipping, early stopping and roll-back, and ends with the weights that it would have alone.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, count

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_

from calibrant.networks import MemberNetworks
from calibrant.threads import Threads, available_threads, one_thread
from calibrant.training.adam import Adam
from calibrant.training.averaging import WeightAverage
from calibrant.training.batches import BatchSource
from calibrant.training.best import BestWeights
from calibrant.training.checkpoints import Generators, Stateful
from calibrant.training.history import HistoryRecorder, Record
from calibrant.training.progress import Progress, Snapshot
from calibrant.training.replay import Replay, own_stream
from calibrant.training.rows import MemberRows, Rows
from calibrant.training.stage import Objective, Stage
from calibrant.training.workers import Workers

_CLIP = 10.0  # largest norm of a member's gradient; only an exploding likelihood exceeds it
_PRODUCTS = 4e6  # multiplications of a step that make one more thread worthwhile
_LEAST_STEPS = 5  # to time
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
        Of a data-parallel training. Each has other training rows and its share of every batch, and
        all score the same validation rows.

    Returns
    -------
    list of lists of Record
        For every model one record per epoch, epoch 0 included.
    """
    device, on_gpu = train.device, train.device.type == "cuda"
    weights = list(network.parameters())
    optimiser = Adam(weights, stage.lr, stage.weight_decay, stage.beta2)
    batch_size = stage.batch_size if workers is None else workers.share(stage.batch_size)
    checkpoints = None if workers is None else workers.checkpoints
    orders = generators[:: network.size // models] if stage.shared_loss else generators
    snapshot = stage.pit and partial(take_snapshot, stage.pit, stage.crps, network, validation)
    steps = math.ceil(train.n_rows / batch_size)
    average = WeightAverage(network, stage.average * steps) if stage.average else None
    progress.start(stage)
    threads = _worthwhile_threads(network, min(batch_size, train.n_rows), train.steps)
    deadline = time.monotonic() + (math.inf if stage.seconds is None else stage.seconds)
    with one_thread(), own_stream(device):
        first = validation_score(stage.score, network, validation)
        best = BestWeights(network, first, stage.patience, latest=not stage.keep_best)

        def step(*batch: Tensor) -> Tensor:
            return train_step(stage, network, weights, train.take(*batch), optimiser, workers)

        def evaluate() -> Tensor:
            score = validation_score(stage.score, network, validation)
            best.update(score)
            return score

        run_step: Callable[..., Tensor] = step
        run_evaluate: Callable[[], Tensor] = evaluate
        if not on_gpu:
            run_step = _on_threads(step, threads)
        elif "loss" in stage.recordable:
            run_step = Replay(step, generators[:1])
        if on_gpu and "score" in stage.recordable:
            run_evaluate = Replay(evaluate)
        ahead = _EPOCHS_AHEAD if on_gpu and not checkpoints else 1
        recorder = HistoryRecorder(stage, first, progress, best, snapshot)
        parts: dict[str, Stateful] = {
            "network": network,
            "optimiser": optimiser,
            "best": best,
            "history": recorder,
            "orders": Generators(generators),
        }
        if average:
            parts["average"] = average
        done = checkpoints.load(parts) if checkpoints else 0
        for epoch in range(done + 1, stage.epochs + 1):
            optimiser.set_rate(stage.rate(epoch))
            if workers:
                workers.seed(generators[0].initial_seed(), epoch)
            advance = partial(progress.within, stage, epoch, train.n_rows)
            loss = run_epoch(run_step, network, train.batches(batch_size, orders), average, advance)
            if workers:
                loss = workers.mean(loss)
            with average.in_place() if average else nullcontext():
                recorder.add(loss, run_evaluate())
                if epoch % ahead == 0 or epoch == stage.epochs:
                    recorder.flush()
            if epoch % ahead == 0 and (
                _is_late(deadline, workers, device) or not best.has_patience()
            ):
                break
            if checkpoints and epoch % checkpoints.every == 0 and epoch < stage.epochs:
                checkpoints.save(parts)
        progress.finish(stage)
        best.restore()
    return recorder.records(models)


def _is_late(deadline: float, workers: Workers | None, device: torch.device) -> bool:
    """Whether the time is over, for any worker: clocks differ, and none may train alone."""
    late = time.monotonic() > deadline
    return late if workers is None else workers.any(late, device)


def step_seconds(
    stage: Stage, network: MemberNetworks, train: BatchSource, seconds: float
) -> float:
    """Median duration of training steps, of which as many are taken as these seconds allow."""
    weights, device = list(network.parameters()), train.device
    optimiser = Adam(weights, stage.lr, stage.weight_decay, stage.beta2)
    n_orders = 1 if stage.shared_loss else network.size
    orders = [torch.Generator(device).manual_seed(i) for i in range(n_orders)]
    threads = _worthwhile_threads(network, min(stage.batch_size, train.n_rows), train.steps)
    durations: list[float] = []
    end = time.perf_counter() + seconds
    with one_thread():

        def step(*batch: Tensor) -> Tensor:
            return train_step(stage, network, weights, train.take(*batch), optimiser)

        run_step = _on_threads(step, threads)
        epochs = (train.batches(stage.batch_size, orders) for _ in count())
        stream = chain.from_iterable(epochs)
        while (start := time.perf_counter()) < end or len(durations) < _LEAST_STEPS:
            run_step(*next(stream))
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            durations.append(time.perf_counter() - start)
    return statistics.median(durations[2:])  # the first ones allocate memory


def _worthwhile_threads(network: MemberNetworks, rows: int, steps: int) -> int:
    """Number of threads that the products of one step are worth, without those of the loss."""
    return max(1, min(available_threads(), int(network.products(rows, steps) / _PRODUCTS)))


def _on_threads(step: Callable[..., Tensor], most: int) -> Callable[..., Tensor]:
    """Return the step, run on at most this many threads and on one where several are slower."""
    if most == 1:
        return step
    threads = Threads(most)
    return lambda *batch: threads.run(partial(step, *batch))


def run_epoch(
    step: Callable[..., Tensor],
    network: MemberNetworks,
    batches: Iterable[tuple[Tensor, ...]],
    average: WeightAverage | None = None,
    advance: Callable[[int], None] = lambda rows: None,
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
    weights: Sequence[Tensor],
    batch: Rows,
    optimiser: Adam,
    workers: Workers | None = None,
) -> Tensor:
    """Train on one batch per member and return the losses; `weights` are all of the network."""
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
    scores = [score(network, part).double() * (part.n_rows / rows.n_rows) for part in rows.parts()]
    return torch.stack(scores).sum(dim=0)


@torch.no_grad()
def take_snapshot(
    pit: Objective, crps: Objective | None, network: MemberNetworks, rows: Rows | MemberRows
) -> Snapshot:
    """Current predictions of the validation rows, for the progress bar."""
    network.eval()
    return Snapshot(
        torch.cat([pit(network, part).double().cpu() for part in rows.parts()], dim=-1),
        float(validation_score(crps, network, rows).mean()) if crps else None,
    )
