"""Networks of different seeds whose quantiles are averaged."""

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
from calibrant.forecasting._window_source import WindowSource
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.networks import DirectNetwork, DirectShape
from calibrant.training import resolve_device

LEVELS: Array = np.array(
    [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99]
)
_FINISH = 0.25  # share of the budget for further training
_PROBE_STEPS = 5  # that are timed for an estimate
_FINISH_RATE = 0.3  # its learning rate, as a share


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
        shape = DirectShape(
            window=source.window,
            horizon=source.horizon,
            n_levels=len(LEVELS),
            n_series=n_series,
            n_known=known,
            n_past=past,
            n_static=static,
            hidden=self.settings.hidden,
            dropout=self.settings.dropout,
        )
        self.networks = []
        for seed in self._seeds():
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                self.networks.append(DirectNetwork(shape).to(self.device))

    def progress(self, first: int, finish: int) -> AbstractContextManager[Callable[[], None]]:
        """Bar over training on `first` windows and finishing on others; 0 for none."""
        steps = n_steps(self.settings, first) if first else 0
        steps += n_steps(self.settings, finish, _FINISH)
        total = steps * self.settings.members
        return training_bar("Training", total, show=bool(self.settings.verbose))

    def training_seconds(self, source: WindowSource, origins: Index) -> float:
        """Time that all training of the networks takes, from that of a few steps."""
        steps = n_steps(self.settings, len(origins))
        network, levels = self.networks[0], self._levels()
        start = time.perf_counter()
        share = _PROBE_STEPS / steps
        train_network(network, source, origins, levels, self.settings, seed=0, share=share)
        step = (time.perf_counter() - start) / _PROBE_STEPS
        return step * steps * (1.0 + _FINISH) * self.settings.members

    def train(self, source: WindowSource, origins: Index, advance: Callable[[], None]) -> None:
        """Train on windows that end at `origins`."""
        self._train(source, origins, 1.0, 1.0, advance)

    def finish(self, source: WindowSource, origins: Index, advance: Callable[[], None]) -> None:
        """Train further, shorter and at a lower rate."""
        self._train(source, origins, _FINISH, _FINISH_RATE, advance)

    @torch.no_grad()
    def quantiles(self, source: WindowSource, origins: Index) -> Array:
        """Averaged quantiles in units of the target, (n, horizon, Q)."""
        batch, level, scale, *_ = source.gather(origins)
        stacked: Tensor = torch.stack([network(batch) for network in self.networks])
        mean = stacked.sort(dim=-1).values.double().mean(dim=0)
        return np.asarray((level[..., None] + scale[..., None] * mean).cpu().numpy())

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
