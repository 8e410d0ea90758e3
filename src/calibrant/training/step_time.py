"""How long a training step takes."""

from __future__ import annotations

import statistics
import time
from itertools import chain, count

import torch
from torch import Tensor

from calibrant.networks import MemberNetworks
from calibrant.threads import one_thread
from calibrant.training.adam import Adam
from calibrant.training.batches import BatchSource
from calibrant.training.loop import train_step
from calibrant.training.speed import on_threads
from calibrant.training.stage import Stage

_LEAST_STEPS = 5


def step_seconds(
    stage: Stage, network: MemberNetworks, train: BatchSource, seconds: float
) -> float:
    """Median duration of a training step, from as many steps as these seconds allow."""
    device = train.device
    optimiser = Adam(list(network.parameters()), stage.lr, stage.weight_decay, stage.beta2)
    n_orders = 1 if stage.shared_loss else network.size
    orders = [torch.Generator(device).manual_seed(i) for i in range(n_orders)]

    def step(*batch: Tensor) -> Tensor:
        return train_step(stage, network, train.take(*batch), optimiser)

    durations: list[float] = []
    end = time.perf_counter() + seconds
    with one_thread():
        run_step = on_threads(step, stage, network, train)
        batches = chain.from_iterable(train.batches(stage.batch_size, orders) for _ in count())
        while (start := time.perf_counter()) < end or len(durations) < _LEAST_STEPS:
            run_step(*next(batches))
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            durations.append(time.perf_counter() - start)
    return statistics.median(durations[2:])  # the first ones allocate memory
