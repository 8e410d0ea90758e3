"""Networks of different seeds, kinds and windows whose quantiles are averaged."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from calibrant.checks import Array, Index
from calibrant.forecasting._network_training import n_steps, train_network
from calibrant.forecasting._progress import training_bar
from calibrant.forecasting._window_source import LEAST_SEASONS, Scaled, WindowSource
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.networks import DirectNetwork, DirectShape
from calibrant.training import resolve_device

LEVELS: Array = np.array(
    [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99]
)
_FINISH = 0.25  # share of the budget for further training
_PROBE_STEPS = 5  # that are timed for an estimate
_FINISH_RATE = 0.3  # its learning rate, as a share


def member_kinds(window: int, season: int) -> list[tuple[int, int]]:
    """Window of a network and the season that it mixes (0 for none), in the order of members.

    Networks that read the same differently, and others that see less of the past, err less alike
    than networks of other seeds only.
    """
    least = LEAST_SEASONS * season
    if season < 2 or window < least:
        return [(window, 0)]
    shorter = [rows for rows in (window // 2, least) if least <= rows < window]
    return [(window, 0), (window, season), *((rows, 0) for rows in dict.fromkeys(shorter))]


@dataclass
class NetworkEnsemble:
    """The networks of a forecaster.

    Parameters
    ----------
    settings : GlobalNetwork
    networks : list of DirectNetwork
        Empty before `create`.
    """

    settings: GlobalNetwork
    networks: list[DirectNetwork] = field(default_factory=list)

    @property
    def device(self) -> torch.device:
        """Where networks and windows live."""
        return resolve_device(self.settings.device)

    def create(self, source: WindowSource, n_series: int) -> None:
        """Make untrained networks for the windows of a source, with embeddings of n series."""
        known, past, static = source.sizes
        kinds = member_kinds(source.window, source.season)
        self.networks = []
        for member, seed in enumerate(self._seeds()):
            window, mixed_season = kinds[member % len(kinds)]
            shape = DirectShape(
                window=window,
                horizon=source.horizon,
                n_levels=len(LEVELS),
                n_series=n_series,
                n_known=known,
                n_past=past,
                n_static=static,
                hidden=self.settings.hidden,
                dropout=self.settings.dropout,
                mixed_season=mixed_season,
            )
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                self.networks.append(DirectNetwork(shape).to(self.device))

    def progress(self, first: int, finish: int) -> AbstractContextManager[Callable[[], None]]:
        """Bar over training on `first` windows and finishing on others; 0 for none."""
        total = 0
        for network in self.networks:
            total += n_steps(self.settings, network, first) if first else 0
            total += n_steps(self.settings, network, finish, _FINISH)
        return training_bar("Training", total, show=bool(self.settings.verbose))

    def training_seconds(self, source: WindowSource, origins: Index) -> float:
        """Time that all training of the networks takes, from that of a few steps."""
        seconds = 0.0
        for network in self.networks:
            start = time.perf_counter()
            share = _PROBE_STEPS / n_steps(self.settings, network, len(origins))
            train_network(
                network, source, origins, self._levels(), self.settings, seed=0, share=share
            )
            seconds += (time.perf_counter() - start) / share
        return seconds * (1.0 + _FINISH)

    def train(self, source: WindowSource, origins: Index, advance: Callable[[], None]) -> None:
        """Train on windows that end at `origins`."""
        self._train(source, origins, 1.0, 1.0, advance)

    def finish(self, source: WindowSource, origins: Index, advance: Callable[[], None]) -> None:
        """Train further, shorter and at a lower rate."""
        self._train(source, origins, _FINISH, _FINISH_RATE, advance)

    @torch.no_grad()
    def quantiles(self, source: WindowSource, origins: Index) -> Array:
        """Averaged quantiles in units of the target, (n, horizon, Q)."""
        by_window: dict[int, Scaled] = {}
        found = []
        for network in self.networks:
            window = network.shape.window
            if window not in by_window:
                by_window[window] = source.gather(origins, window)
            batch, level, scale, *_ = by_window[window]
            quantiles = network(batch).sort(dim=-1).values.double()
            found.append(level[..., None] + scale[..., None] * quantiles)
        # A short window that is all gap gives nan; the networks of the whole window remain.
        return np.asarray(torch.stack(found).nanmean(dim=0).cpu().numpy())

    def _train(
        self,
        source: WindowSource,
        origins: Index,
        share: float,
        rate: float,
        advance: Callable[[], None],
    ) -> None:
        levels = self._levels()
        for network, seed in zip(self.networks, self._seeds(), strict=True):
            train_network(
                network,
                source,
                origins,
                levels,
                self.settings,
                seed,
                share=share,
                rate=rate,
                advance=advance,
            )

    def _levels(self) -> Tensor:
        return torch.as_tensor(LEVELS, dtype=torch.float32, device=self.device)

    def _seeds(self) -> list[int]:
        stream = check_random_state(self.settings.random_state)
        return [int(seed) for seed in stream.randint(2**31 - 1, size=self.settings.members)]
