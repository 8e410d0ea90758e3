"""The loss that the network for all steps is trained by."""

from __future__ import annotations

import pytest
import torch

from calibrant.forecasting._network_training import pinball


def test_windows_count_by_their_scale_and_missing_targets_not() -> None:
    target = torch.tensor([[1.0, 3.0], [2.0, torch.nan]])
    quantiles = torch.zeros(2, 2, 1)
    weight = torch.tensor([[1.0], [4.0]])
    loss = pinball(quantiles, target, torch.tensor([0.5]), weight)
    assert loss.item() == pytest.approx(0.5 * (1.0 + 3.0 + 4.0 * 2.0) / (1.0 + 1.0 + 4.0))
    nothing = torch.full((2, 2), torch.nan)
    assert pinball(quantiles, nothing, torch.tensor([0.5]), weight).item() == 0.0
