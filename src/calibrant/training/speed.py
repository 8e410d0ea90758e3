"""Steps and scores as fast as the device allows: graphs on a GPU, threads on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from calibrant.networks import MemberNetworks
from calibrant.threads import Threads, available_threads
from calibrant.training.batches import BatchSource
from calibrant.training.replay import Replay
from calibrant.training.stage import Stage

_PRODUCTS = 4e6  # multiplications of a step that make one more thread worthwhile
_KEPT = (1 << 25) - (1 << 16)  # bytes: just below the largest block that glibc may learn to keep


def fast_step(
    step: Callable[..., Tensor],
    stage: Stage,
    network: MemberNetworks,
    train: BatchSource,
    generators: Sequence[torch.Generator],
) -> Callable[..., Tensor]:
    """Return the training step as a CUDA graph where it can be captured, or on threads."""
    if train.device.type != "cuda":
        _keep_freed_memory()
        return on_threads(step, stage, network, train)
    return Replay(step, generators[:1]) if "loss" in stage.recordable else step


def fast_score(
    score: Callable[[], Tensor], stage: Stage, device: torch.device
) -> Callable[[], Tensor]:
    """Return the scoring of validation rows as a CUDA graph where it can be captured."""
    return Replay(score) if device.type == "cuda" and "score" in stage.recordable else score


def on_threads(
    step: Callable[..., Tensor], stage: Stage, network: MemberNetworks, train: BatchSource
) -> Callable[..., Tensor]:
    """Return the step, run on as many threads as its products are worth.

    The loss does not count, and where several threads are slower, the step runs on one.
    """
    products = network.products(min(stage.batch_size, train.n_rows), train.steps)
    most = min(available_threads(), int(products / _PRODUCTS))
    if most <= 1:
        return step
    threads = Threads(most)
    return lambda *batch: threads.run(partial(step, *batch))


def _keep_freed_memory() -> None:
    """Let the next step use the memory that a step frees, instead of the system taking it back.

    The C library of Linux keeps freed blocks that are smaller than the largest mapped one that was
    ever freed. Without this one, each step asks for its memory again and waits until the system has
    cleared it, which takes a sixth of a step.
    """
    torch.empty(_KEPT, dtype=torch.uint8)
