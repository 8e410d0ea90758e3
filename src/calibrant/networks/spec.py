"""Descriptions of networks, from which they are built before training and after loading."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self, cast

import torch
from torch import Tensor, nn

from calibrant.errors import ParameterError
from calibrant.networks.batch_ensemble import ACTIVATIONS, BatchEnsembleMLP
from calibrant.networks.distribution_network import DistributionNetwork
from calibrant.networks.embeddings import PeriodicEmbedding
from calibrant.networks.heads import GaussianHead, Head
from calibrant.networks.mlp import MLP
from calibrant.networks.named_inputs import InputShapes, NamedInputs
from calibrant.networks.recurrent import Cell, Recurrent
from calibrant.persistence import savable_part

_HIDDEN = {"mlp": (256, 256), "lstm": (128, 64), "gru": (128, 64)}  # as in the paper
# Recurrent networks overfit series earlier than the MLP (benchmarks/README.md, "Forecasting").
_DROPOUT = {"lstm": 0.1, "gru": 0.1}


class InitialRows(Protocol):
    """What a network needs from the training rows to be initialised."""

    @property
    def x(self) -> Tensor:
        """Scaled inputs."""
        ...

    @property
    def weight(self) -> Tensor:
        """Weights of the rows, (n,)."""
        ...

    def target_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the scaled target."""
        ...


@savable_part
@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """Description of a network: its body, its head and its inputs.

    Parameters
    ----------
    body : "mlp", "lstm", "gru" or nn.Module
        A module of the user is copied, not changed; it maps (n, n_inputs), or sequences
        (n, steps, n_inputs), to features (n, k).
    head : Head
    n_inputs : int
        Inputs per row, or per step of a sequence.
    inputs : tuple of (name, shape of one row)
        A module of the user takes these inputs by name; empty if it takes one tensor.
    steps : int or None
        Length of the sequences; None if a row is a vector. The "mlp" reads all steps of a sequence
        at once.
    hidden : tuple of int or None
        Widths of the layers; None is (256, 256) for the "mlp" and (128, 64) for the others.
    dropout : float or None
        Share of the hidden units dropped in a training step; None is 0 for the "mlp" and 0.1 for
        "lstm" and "gru". Ignored by a module of the user.
    periodic : float
        If above 0, the "mlp" has a `PeriodicEmbedding` of this scale.
    embedded : tuple of int or None
        Inputs to embed; None embeds all.
    submodels : int
        If above 1, the "mlp" is a `BatchEnsembleMLP` of this many submodels; the head needs
        the same number.
    activation : {"relu", "silu"}
        Activation of the submodels.
    fixed : tuple of float
        The last outputs, which are not learned; see `DistributionNetwork`.
    """

    body: str | nn.Module = "mlp"
    head: Head = GaussianHead()  # noqa: RUF009 (frozen)
    n_inputs: int = 0
    inputs: InputShapes = ()
    steps: int | None = None
    hidden: tuple[int, ...] | None = None
    dropout: float | None = None
    periodic: float = 0.0
    embedded: tuple[int, ...] | None = None
    submodels: int = 1
    activation: str = "relu"
    fixed: tuple[float, ...] = ()

    batchable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.body, nn.Module):
            return
        if self.body not in _HIDDEN:
            raise ParameterError(
                f'network must be "mlp", "lstm", "gru" or a torch.nn.Module, got {self.body!r}.'
            )
        if self.hidden is not None and (not self.hidden or min(self.hidden) < 1):
            raise ParameterError(
                f"hidden must list the widths of at least one layer, got {self.hidden!r}."
            )
        if self.activation not in ACTIVATIONS:
            raise ParameterError(
                f"activation must be one of {sorted(ACTIVATIONS)}, got {self.activation!r}."
            )

    @property
    def is_custom(self) -> bool:
        """Whether the body is a module of the user."""
        return isinstance(self.body, nn.Module)

    @property
    def dropped(self) -> float:
        """Share of the hidden units that a built-in network drops."""
        if self.dropout is not None:
            return self.dropout
        return _DROPOUT.get(self.body, 0.0) if isinstance(self.body, str) else 0.0

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of the layers of a built-in network."""
        return self.hidden or _HIDDEN[str(self.body)]

    def sized(self, n_inputs: int, steps: int | None, rows: InitialRows) -> Self:
        """Return the spec with the shape of these inputs."""
        return replace(self, n_inputs=n_inputs, steps=steps)

    def build(self) -> DistributionNetwork:
        """Return a network with random weights."""
        if isinstance(self.body, nn.Module):
            body = copy.deepcopy(self.body).float()
            if self.inputs:
                body = NamedInputs(body, self.inputs)
            shape = (self.n_inputs,) if self.steps is None else (self.steps, self.n_inputs)
            width = _output_width(body, shape, self._inputs_in_words(shape))
            return DistributionNetwork(body, width, self.head, self.fixed)
        widths = self.widths
        if self.body == "mlp":
            return DistributionNetwork(self._mlp(widths), widths[-1], self.head, self.fixed)
        if self.steps is None:
            raise ParameterError(
                f'network="{self.body}" reads sequences, but X is a table of {self.n_inputs} '
                "columns: pass X of shape (n, steps, d) or calibrant.estimators.Windows."
            )
        recurrent = Recurrent(cast(Cell, self.body), self.n_inputs, widths, self.dropped)
        return DistributionNetwork(recurrent, widths[-1], self.head, self.fixed)

    def initialise(self, network: DistributionNetwork, rows: InitialRows) -> None:
        """Initialise the outputs to the distribution of the target."""
        network.output.bias.detach()[:] = self.head.initial_bias(*rows.target_moments())

    def _mlp(self, widths: Sequence[int]) -> nn.Module:
        n_inputs = self.n_inputs * (self.steps or 1)
        embedding = None
        if self.periodic > 0 and self.embedded != ():
            embedding = PeriodicEmbedding(n_inputs, self.periodic, self.embedded)
        if self.submodels > 1:
            return BatchEnsembleMLP(
                n_inputs,
                widths,
                self.submodels,
                activation=self.activation,
                dropout=self.dropped,
                embedding=embedding,
            )
        if embedding is None:
            return MLP(n_inputs, widths, self.dropped)
        return nn.Sequential(
            nn.Flatten(), embedding, MLP(embedding.n_outputs, widths, self.dropped)
        )

    def _inputs_in_words(self, row_shape: tuple[int, ...]) -> str:
        named = [(f"{name} ", shape) for name, shape in self.inputs] or [("", row_shape)]
        return " and ".join(
            f"{name}({', '.join(map(str, ('n', *shape)))})" for name, shape in named
        )

    def __str__(self) -> str:
        if isinstance(self.body, nn.Module):
            return type(self.body).__name__
        words = [f"{self.body.upper()} {'-'.join(map(str, self.widths))}"]
        if self.submodels > 1:
            words.append(f"{self.submodels} {self.activation} submodels")
        if self.periodic and self.body == "mlp":
            words.append("embedding")
        return ", ".join(words)


def _output_width(body: nn.Module, row_shape: tuple[int, ...], inputs: str) -> int:
    """Width of the features, found by passing two rows of zeros."""
    was_training = body.training
    body.eval()
    with torch.no_grad():
        try:
            features = body(torch.zeros(2, *row_shape))
        except (RuntimeError, TypeError) as error:
            raise ParameterError(
                f"The network does not accept inputs of shape {inputs}: {error}"
            ) from error
    body.train(was_training)
    if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != 2:
        got = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ParameterError(
            f"The network must map {inputs} inputs to (n, k) features; for 2 rows it "
            f"returned {got}."
        )
    return features.shape[1]
