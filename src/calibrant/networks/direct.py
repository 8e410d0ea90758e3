"""Network for all steps of a horizon at once, shared by all series of a panel."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from calibrant.networks.direct_features import PER_STEP, SERIES, SeasonMixer, WindowMLP
from calibrant.networks.direct_shape import DirectShape, WindowBatch

_STEP_HIDDEN = 32
_LARGEST_LOG_FACTOR = 3.0  # by which the network may widen or narrow the seasonal spread


class DirectNetwork(nn.Module):
    """Corrects seasonal quantiles: a linear map of the window, plus a small MLP per step.

    With m and s the median and the spread of the seasonal quantiles, quantile j of step h is

        m_h + exp(g_h) s_hj + (W x)_h + o_hj,

    where the linear map W reads the window x and a `WindowMLP` or `SeasonMixer` reads everything.
    It hands a few features to every step, where an MLP combines them with that step's known inputs
    into g and o. Initially the forecast is close to the seasonal quantiles.

    Parameters
    ----------
    shape : DirectShape
    """

    def __init__(self, shape: DirectShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.n_series + 1, SERIES)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.linear = nn.Linear(shape.window, shape.horizon)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.features = SeasonMixer(shape) if shape.mixed_season else WindowMLP(shape)
        last = nn.Linear(_STEP_HIDDEN, shape.n_levels + 1)
        with torch.no_grad():
            last.weight.mul_(0.1)
            last.bias.zero_()
        per_step = PER_STEP + shape.n_known + SERIES + 3
        self.step = nn.Sequential(nn.Linear(per_step, _STEP_HIDDEN), nn.GELU(), last)

    def forward(self, batch: WindowBatch) -> Tensor:
        """Quantiles (n, horizon, n_levels); sort them, since nothing keeps them from crossing."""
        _, horizon, levels = batch.seasonal.shape
        series = self.embedding(batch.series)
        low, middle, high = levels // 4, levels // 2, levels - 1 - levels // 4
        beside = [
            self.features(batch, series),
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
