"""Networks of several kinds as one module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from calibrant.networks.members import MemberNetworks


class NetworkKinds(nn.Module):
    """Networks of several kinds, whose outputs follow each other like those of one kind.

    Parameters
    ----------
    kinds : sequence of MemberNetworks
        With one head.
    n_inputs : sequence of int
        How many of the first inputs each kind reads.
    """

    def __init__(self, kinds: Sequence[MemberNetworks], n_inputs: Sequence[int]) -> None:
        super().__init__()
        self.kinds = nn.ModuleList(kinds)
        self.n_inputs = tuple(n_inputs)
        self.head = kinds[0].head
        self.size = sum(kind.size for kind in kinds)

    def outputs(self, x: Tensor) -> Tensor:
        """Outputs (M, n, head.n_outputs) of rows (n, d)."""
        read = zip(self._kinds(), self.n_inputs, strict=True)
        return torch.cat([kind.outputs(x[..., :width]) for kind, width in read])

    def part(self, members: slice) -> MemberNetworks:
        """Return some of the members, which must be of one kind."""
        chosen = range(self.size)[members]
        sizes = [kind.size for kind in self._kinds()]
        for kind, start in zip(self._kinds(), accumulate(sizes, initial=0), strict=False):
            if chosen.start in range(start, start + kind.size):
                return kind.part(slice(chosen.start - start, chosen.stop - start))
        raise IndexError(f"There are {self.size} networks, got {members}.")

    def only(self, kept: Sequence[int]) -> Networks:
        """Return the networks of some kinds."""
        kinds = self._kinds()
        return join_kinds([kinds[i] for i in kept], [self.n_inputs[i] for i in kept])

    def by_name(self) -> dict[str, Tensor]:
        """Weights and buffers, as of `MemberNetworks`; names start with the number of the kind."""
        return {
            f"{i}.{name}": value
            for i, kind in enumerate(self._kinds())
            for name, value in kind.by_name().items()
        }

    def load_by_name(self, state: Mapping[str, Tensor]) -> None:
        """Load what `by_name` returned; names and shapes must be the same."""
        for i, kind in enumerate(self._kinds()):
            start = f"{i}."
            own = {name[len(start) :]: v for name, v in state.items() if name.startswith(start)}
            kind.load_by_name(own)

    def _kinds(self) -> list[MemberNetworks]:
        return [kind for kind in self.kinds if isinstance(kind, MemberNetworks)]


def join_kinds(kinds: Sequence[MemberNetworks], n_inputs: Sequence[int]) -> Networks:
    """Return one kind as it is, several as one module."""
    return kinds[0] if len(kinds) == 1 else NetworkKinds(kinds, n_inputs)


def only_kind(networks: Networks) -> MemberNetworks:
    """Return the networks of a method that has one kind of them."""
    assert not isinstance(networks, NetworkKinds)
    return networks


Networks = MemberNetworks | NetworkKinds
