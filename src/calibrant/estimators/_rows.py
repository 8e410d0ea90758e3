"""From validated samples to scaled tensors for training."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from calibrant.estimators._scaling import Scaler
from calibrant.estimators._validation import Array, Sample
from calibrant.estimators._windows import Windows
from calibrant.training import Rows, SeriesWindows


def scaled_rows(
    samples: Sequence[Sample], inputs: Scaler, target: Scaler, device: torch.device
) -> list[Rows]:
    """Rows of every sample in float32; a series that several of them share is scaled once."""
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
            tensor(target.transform(sample.y)),
            tensor(sample.weight / sample.weight.mean()),
        )
        for sample in samples
    ]
