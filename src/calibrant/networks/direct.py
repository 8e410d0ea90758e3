"""Network for all steps of a horizon at once, shared by all series of a panel."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

_PER_STEP = 8  # features that the decoder hands to every step
_STEP_HIDDEN = 32
_PROJECTED = 4  # numbers per step that remain of known inputs in the encoder
_SERIES = 8  # length of the embedding of a series
_LARGEST_LOG_FACTOR = 3.0  # by which the network may widen or narrow the seasonal spread


@dataclass(frozen=True)
class DirectShape:
    """Sizes of a `DirectNetwork`.

    Parameters
    ----------
    window, horizon : int
        Rows that are seen, and steps ahead.
    n_levels : int
        Quantiles per step.
    n_series : int
        Series with an embedding; code 0 stands for all others.
    n_known, n_past, n_static : int
        Inputs known ahead, known up to the origin, and constant.
    hidden : int
    dropout : float
    """

    window: int
    horizon: int
    n_levels: int
    n_series: int
    n_known: int
    n_past: int
    n_static: int
    hidden: int
    dropout: float

    def as_dict(self) -> dict[str, Any]:
        """Fields by name, for saving."""
        return asdict(self)


class WindowBatch(NamedTuple):
    """Inputs of n windows, in units of each window's own level and scale.

    Attributes
    ----------
    past : tensor of shape (n, window)
        Target; gaps are filled.
    past_inputs : tensor of shape (n, window, n_past)
    known : tensor of shape (n, horizon, n_known)
        Inputs of the steps to forecast.
    static : tensor of shape (n, n_static)
    series : tensor of shape (n,)
        Code of the series, from 1; 0 for a series without an embedding.
    seasonal : tensor of shape (n, horizon, n_levels)
        Quantiles of the window's values in the same phase of the season.
    """

    past: Tensor
    past_inputs: Tensor
    known: Tensor
    static: Tensor
    series: Tensor
    seasonal: Tensor


class DirectNetwork(nn.Module):
    """Corrects seasonal quantiles: a linear map of the window, plus a small MLP per step.

    With m and s the median and the spread of the seasonal quantiles, quantile j of step h is

        m_h + exp(g_h) s_hj + (W x)_h + o_hj,

    where the linear map W reads the window x and an encoder-decoder reads everything: the encoder
    is one hidden layer over the window, its covariates and the embedding of the series; the decoder
    hands a few features to every step, where an MLP combines them with that step's known inputs
    into g and o. Initially the forecast is close to the seasonal quantiles.

    Parameters
    ----------
    shape : DirectShape
    """

    def __init__(self, shape: DirectShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.n_series + 1, _SERIES)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.linear = nn.Linear(shape.window, shape.horizon)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.known = nn.Linear(shape.n_known, _PROJECTED) if shape.n_known else None
        self.past = nn.Linear(shape.n_past, _PROJECTED) if shape.n_past else None
        width = shape.window + _SERIES + shape.n_static
        width += _PROJECTED * shape.horizon if shape.n_known else 0
        width += _PROJECTED * shape.window if shape.n_past else 0
        self.encoder = nn.Sequential(
            nn.Linear(width, shape.hidden), nn.GELU(), nn.Dropout(shape.dropout)
        )
        self.decoder = nn.Linear(shape.hidden, shape.horizon * _PER_STEP)
        last = nn.Linear(_STEP_HIDDEN, shape.n_levels + 1)
        with torch.no_grad():
            last.weight.mul_(0.1)
            last.bias.zero_()
        per_step = _PER_STEP + shape.n_known + _SERIES + 3
        self.step = nn.Sequential(nn.Linear(per_step, _STEP_HIDDEN), nn.GELU(), last)

    def forward(self, batch: WindowBatch) -> Tensor:
        """Quantiles (n, horizon, n_levels); sort them, since nothing keeps them from crossing."""
        n, horizon, levels = batch.seasonal.shape
        series = self.embedding(batch.series)
        inputs = [batch.past, series, batch.static]
        if self.known is not None:
            inputs.append(self.known(batch.known).flatten(1))
        if self.past is not None:
            inputs.append(self.past(batch.past_inputs).flatten(1))
        features = self.decoder(self.encoder(torch.cat(inputs, dim=1))).view(n, horizon, _PER_STEP)
        low, middle, high = levels // 4, levels // 2, levels - 1 - levels // 4
        beside = [
            features,
            batch.known,
            series[:, None].expand(-1, horizon, -1),
            batch.seasonal[..., [low, middle, high]],
        ]
        out = self.step(torch.cat(beside, dim=2))
        median = batch.seasonal[..., middle, None]
        factor = out[..., -1:].clamp(-_LARGEST_LOG_FACTOR, _LARGEST_LOG_FACTOR).exp()
        quantiles = median + (batch.seasonal - median) * factor + out[..., :-1]
        result: Tensor = quantiles + self.linear(batch.past)[..., None]
        return result
