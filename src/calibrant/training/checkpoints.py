"""Checkpoints: the state between two epochs, from which training can continue."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from calibrant.training.history import Record


class Stateful(Protocol):
    """A part of a training that a checkpoint holds."""

    def by_name(self) -> dict[str, Tensor]:
        """State by name."""

    def load_by_name(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that `by_name` returned."""


class Checkpoint(NamedTuple):
    """A training between two epochs.

    Attributes
    ----------
    kind, stage : int
        Kind of networks and stage that are trained.
    history : list of lists of Record
        Records of the finished stages of every kind.
    tensors : dict of str to tensor
        State of the parts of the training by their names.
    """

    kind: int
    stage: int
    history: list[list[Record]]
    tensors: dict[str, Tensor]

    def part(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of one part."""
        start = f"{name}/"
        own = self.tensors.items()
        return {key[len(start) :]: value for key, value in own if key.startswith(start)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file."""
        from safetensors.torch import save_file

        facts = {"kind": self.kind, "stage": self.stage, "history": self.history}
        tensors = {name: value.contiguous() for name, value in self.tensors.items()}
        save_file(tensors, path, {"checkpoint": json.dumps(facts)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read what `save` has written."""
        from safetensors import safe_open

        with safe_open(path, "pt") as file:
            facts, names = json.loads(file.metadata()["checkpoint"]), file.keys()
            return cls(**facts, tensors={name: file.get_tensor(name) for name in names})


@dataclass
class Checkpoints:
    """Writes checkpoints at intervals, and holds the one to continue from.

    Parameters
    ----------
    write : callable
        Called with every checkpoint.
    every : int
        Number of epochs between checkpoints.
    saved : Checkpoint or None
        The checkpoint to continue from.
    """

    write: Callable[[Checkpoint], None]
    every: int = 1
    saved: Checkpoint | None = None
    _reached: tuple[int, int] = field(default=(0, 0), init=False)
    _kinds: list[tuple[Stateful, list[Record]]] = field(default_factory=list, init=False)

    def reach(self, kind: int, stage: int, network: Stateful, history: list[Record]) -> bool:
        """Note that training has come to this stage; return whether it is still to be trained.

        Parameters
        ----------
        kind, stage : int
        network : Stateful
            The networks of the kind, which get the saved weights if the kind was finished.
        history : list of Record
            Records of the finished stages of the kind, filled from the saved checkpoint.
        """
        self._reached = kind, stage
        self._kinds[kind:] = [(network, history)]
        saved = self.saved
        if saved is None or self._reached > (saved.kind, saved.stage):
            return True
        if stage == 0:
            history[:] = saved.history[kind]
            if kind < saved.kind:
                network.load_by_name(saved.part(f"kind{kind}"))
        return self._reached == (saved.kind, saved.stage)

    def finish(self) -> None:
        """Write the weights of all kinds of networks: there is nothing left to train."""
        self._reached = len(self._kinds), 0
        self.save({})

    def load(self, parts: Mapping[str, Stateful]) -> int:
        """Load the state of the stage if it was saved in it; return the number of its epochs."""
        saved = self.saved
        if saved is None or self._reached != (saved.kind, saved.stage):
            return 0
        for name, part in parts.items():
            part.load_by_name(saved.part(name))
        return len(saved.part("history")["scores"]) - 1

    def save(self, parts: Mapping[str, Stateful]) -> None:
        """Write the state of the stage and of the kinds of networks that are finished."""
        kind, stage = self._reached
        finished = {f"kind{i}": network for i, (network, _) in enumerate(self._kinds[:kind])}
        tensors = {
            f"{name}/{key}": value.detach().cpu().clone()
            for name, part in [*finished.items(), *parts.items()]
            for key, value in part.by_name().items()
        }
        history = [list(records) for _, records in self._kinds]
        self.write(Checkpoint(kind, stage, history, tensors))


@dataclass(frozen=True)
class Generators:
    """Random number generators as a part of a checkpoint."""

    generators: Sequence[torch.Generator]

    def by_name(self) -> dict[str, Tensor]:
        """State of every generator by its number."""
        return {str(i): each.get_state() for i, each in enumerate(self.generators)}

    def load_by_name(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that `by_name` returned."""
        for i, each in enumerate(self.generators):
            each.set_state(state[str(i)])
