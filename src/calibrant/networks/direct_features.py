"""Two ways from a window to features of every step: a hidden layer, and a mixer of seasons."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from calibrant.networks.direct_shape import DirectShape, WindowBatch

PER_STEP = 8  # features of every step
SERIES = 8  # length of the embedding of a series
_PROJECTED = 4  # numbers per step that remain of known inputs in the hidden layer
_LAYERS = 4  # of a mixer
_SEASON_FEATURES = 64  # of a mixer, per season
_WIDER = 2  # hidden units of a mixing MLP, per input


class WindowMLP(nn.Module):
    """One hidden layer over the whole window, its covariates and the embedding of the series.

    Parameters
    ----------
    shape : DirectShape
    """

    def __init__(self, shape: DirectShape) -> None:
        super().__init__()
        self.horizon = shape.horizon
        self.known = nn.Linear(shape.n_known, _PROJECTED) if shape.n_known else None
        self.past = nn.Linear(shape.n_past, _PROJECTED) if shape.n_past else None
        width = shape.window + SERIES + shape.n_static
        width += _PROJECTED * shape.horizon if shape.n_known else 0
        width += _PROJECTED * shape.window if shape.n_past else 0
        self.encoder = nn.Sequential(
            nn.Linear(width, shape.hidden), nn.GELU(), nn.Dropout(shape.dropout)
        )
        self.decoder = nn.Linear(shape.hidden, shape.horizon * PER_STEP)

    def forward(self, batch: WindowBatch, series: Tensor) -> Tensor:
        """Features (n, horizon, PER_STEP); `series` (n, SERIES) is embedded."""
        inputs = [batch.past, series, batch.static]
        if self.known is not None:
            inputs.append(self.known(batch.known).flatten(1))
        if self.past is not None:
            inputs.append(self.past(batch.past_inputs).flatten(1))
        features: Tensor = self.decoder(self.encoder(torch.cat(inputs, dim=1)))
        return features.view(len(features), self.horizon, PER_STEP)


class SeasonMixer(nn.Module):
    """Seasons as tokens: layers mix all seasons, feature by feature, then the features of each.

    The seasons of the window and those of the horizon, which hold the known inputs, are mixed
    together. A token is a whole season (a day of hours), so there are few weights, and they find
    other patterns than a hidden layer over all rows does: averages of both are more accurate.
    After TSMixer (Chen et al. 2023), with whole seasons as tokens.

    Parameters
    ----------
    shape : DirectShape
        The window has at least one season.
    """

    def __init__(self, shape: DirectShape) -> None:
        super().__init__()
        season, size = shape.mixed_season, _SEASON_FEATURES
        self.season, self.horizon = season, shape.horizon
        self.seen, self.ahead = shape.window // season, -(-shape.horizon // season)
        self.past = nn.Linear(season * (1 + shape.n_past), size)
        self.known = nn.Linear(season * shape.n_known, size) if shape.n_known else None
        self.coming = nn.Parameter(torch.zeros(self.ahead, size))
        self.context = nn.Linear(SERIES + shape.n_static, size)
        tokens = self.seen + self.ahead
        self.layers = nn.ModuleList(
            _MixerLayer(tokens, size, shape.dropout) for _ in range(_LAYERS)
        )
        self.decoder = nn.Linear(size, season * PER_STEP)

    def forward(self, batch: WindowBatch, series: Tensor) -> Tensor:
        """Features (n, horizon, PER_STEP); `series` (n, SERIES) is embedded."""
        n, rows = len(series), self.seen * self.season
        past = torch.cat([batch.past[..., None], batch.past_inputs], dim=2)[:, -rows:]
        coming = self.coming.expand(n, -1, -1)
        if self.known is not None:
            missing = self.ahead * self.season - self.horizon  # of the last season
            known = functional.pad(batch.known, (0, 0, 0, missing))
            coming = coming + self.known(known.reshape(n, self.ahead, -1))
        tokens = torch.cat([self.past(past.reshape(n, self.seen, -1)), coming], dim=1)
        tokens = tokens + self.context(torch.cat([series, batch.static], dim=1))[:, None]
        for layer in self.layers:
            tokens = layer(tokens)
        features: Tensor = self.decoder(tokens[:, self.seen :])
        return features.reshape(n, -1, PER_STEP)[:, : self.horizon]


class _MixerLayer(nn.Module):
    """Mix tokens, then the features of each, on top of what came in, (n, tokens, size)."""

    def __init__(self, tokens: int, size: int, dropout: float) -> None:
        super().__init__()
        self.before_tokens, self.before_features = nn.LayerNorm(size), nn.LayerNorm(size)
        self.tokens, self.features = _mlp(tokens, dropout), _mlp(size, dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.before_tokens(x).transpose(1, 2)).transpose(1, 2)
        mixed: Tensor = x + self.features(self.before_features(x))
        return mixed


def _mlp(width: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, _WIDER * width),
        nn.GELU(),
        nn.Dropout(dropout),
        nn.Linear(_WIDER * width, width),
    )
