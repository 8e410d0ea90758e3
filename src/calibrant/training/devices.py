"""Where tensors live."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from calibrant.errors import ParameterError


def resolve_device(device: str | torch.device) -> torch.device:
    """Turn a user's wish into a device; "auto" is a CUDA GPU where there is one, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(
            f'device must be "auto" or a device that torch can use here, got {device!r}: {error}'
        ) from error
    return chosen


_SMALL_BATCH = 256


@contextmanager
def threads_for(batch_size: int) -> Iterator[None]:
    """Train small batches on one thread of the CPU.

    Threads that wait for each other after every layer cost more than they bring below some
    hundred rows, and on a busy machine up to eighty times more. Every step of a window counts
    as a row, and so do the rows of every member.
    """
    before = torch.get_num_threads()
    if batch_size <= _SMALL_BATCH:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
