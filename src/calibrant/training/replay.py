"""CUDA graphs: GPU work that is captured once and replayed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

_WARM_UP = 3  # ordinary calls before the first capture


class Replay:
    """A function of tensors as a CUDA graph: one launch instead of a hundred small ones.

    The first calls run normally, so that kernels are loaded and workspaces and optimiser state
    exist. Then the work is captured, once for every shape of the arguments, and replayed from
    there on. The function must not depend on values on the host: no waiting for the device, no
    branch on its results. A function that does keeps running normally, with a warning.

    Parameters
    ----------
    function : callable
        Tensors in, one tensor out.
    generators : sequence of torch.Generator
        Generators that the function uses, besides the default one of torch.
    """

    def __init__(
        self, function: Callable[..., Tensor], generators: Sequence[torch.Generator] = ()
    ) -> None:
        self._function = function
        self._generators = generators
        self._recorded: dict[tuple[torch.Size, ...], _Recording] = {}
        self._calls: dict[tuple[torch.Size, ...], int] = {}
        self._possible = os.environ.get("CALIBRANT_CUDA_GRAPHS", "1") != "0"

    def __call__(self, *inputs: Tensor) -> Tensor:
        """Return the result for these arguments."""
        shapes = tuple(each.shape for each in inputs)
        calls = self._calls[shapes] = self._calls.get(shapes, 0) + 1
        if not self._possible or calls <= _WARM_UP:
            return self._function(*inputs)
        if shapes not in self._recorded:
            try:
                self._recorded[shapes] = _Recording(self._function, inputs, self._generators)
            except RuntimeError as error:
                self._possible = False
                torch.cuda.synchronize()
                warnings.warn(
                    "Training runs without CUDA graphs, slower: a step could not be recorded "
                    f"({error}).",
                    RuntimeWarning,
                    stacklevel=2,
                )
                return self._function(*inputs)
        return self._recorded[shapes].replay(inputs)


class _Recording:
    def __init__(
        self,
        function: Callable[..., Tensor],
        inputs: Sequence[Tensor],
        generators: Sequence[torch.Generator],
    ) -> None:
        self._inputs = [each.clone() for each in inputs]
        self._graph = torch.cuda.CUDAGraph()
        for generator in generators:
            self._graph.register_generator_state(generator)
        stream = torch.cuda.current_stream()
        # Other threads may use the GPU meanwhile.
        with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
            self._output = function(*self._inputs)

    def replay(self, inputs: Sequence[Tensor]) -> Tensor:
        for own, given in zip(self._inputs, inputs, strict=True):
            own.copy_(given)
        self._graph.replay()
        return self._output.clone()  # the next replay overwrites it


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Use a separate stream, because the default one can't be captured; no effect on a CPU."""
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        torch.cuda.current_stream(device).wait_stream(stream)
