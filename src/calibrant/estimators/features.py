"""Features: from validated rows to the inputs of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from calibrant.checks import Array
from calibrant.estimators.fit_data import Sample
from calibrant.estimators.forest import Forest
from calibrant.estimators.neighbours import Neighbours
from calibrant.estimators.scaling import Scaler, scaled_target
from calibrant.estimators.windows import Windows
from calibrant.persistence import savable_part
from calibrant.training import Rows, SeriesWindows


@savable_part
@dataclass(frozen=True, eq=False)
class Features:
    """Scaled inputs and, for models that use them, features from the targets of training rows.

    Parameters
    ----------
    scaler : Scaler
    neighbours : Neighbours or None
    forest : Forest or None
        Both or none.
    """

    scaler: Scaler
    neighbours: Neighbours | None = None
    forest: Forest | None = None

    @property
    def more(self) -> list[Neighbours | Forest]:
        """Makers of further features from the scaled inputs."""
        return [part for part in (self.neighbours, self.forest) if part is not None]

    @property
    def n_inputs(self) -> int:
        """Inputs per row, or per step of a sequence."""
        return len(self.scaler.loc) + sum(part.n_features for part in self.more)

    def transform(self, x: Array) -> Array:
        """Features of new rows: (n, d) to (n, n_inputs), or (n, steps, d) scaled."""
        scaled = self.scaler.transform(x)
        if not self.more:
            return scaled
        return np.column_stack([scaled, *(part.transform(scaled) for part in self.more)])


def scaled_rows(
    samples: Sequence[Sample], inputs: Scaler, target: Scaler, device: torch.device
) -> list[Rows]:
    """Scaled rows of every sample, in float32; a series that several share is scaled once."""
    series: dict[int, Tensor] = {}

    def tensor(values: Array) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=device)

    def scaled(x: Array | Windows) -> Tensor | SeriesWindows:
        if not isinstance(x, Windows):
            return tensor(inputs.transform(x))
        if id(x.series) not in series:
            series[id(x.series)] = tensor(inputs.transform(x.series))
        return SeriesWindows(series[id(x.series)], torch.as_tensor(x.ends, device=device), x.length)

    return [
        Rows(
            scaled(sample.x),
            tensor(scaled_target(target, sample.residual)),
            tensor(sample.weight / sample.weight.mean()),
        )
        for sample in samples
    ]
