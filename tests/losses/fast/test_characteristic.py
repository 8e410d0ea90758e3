"""Marginal matching through characteristic functions."""

from __future__ import annotations

import torch
from tests.losses.twins import value_and_gradients

from calibrant.kernels import PUBLISHED_BANDWIDTHS
from calibrant.losses import DistributionMatchingLoss
from calibrant.losses.fast import characteristic, linear


def test_waves_are_kept_or_computed_again(monkeypatch) -> None:
    monkeypatch.setattr(linear, "_MANY", 1 << 30)  # no power series
    loss = DistributionMatchingLoss(bandwidths=PUBLISHED_BANDWIDTHS, method="linear")
    made = []
    plain = characteristic.waves
    monkeypatch.setattr(characteristic, "waves", lambda *rows: made.append(rows) or plain(*rows))
    value, gradients = value_and_gradients(loss, 5_000)
    kept, _ = len(made), made.clear()
    monkeypatch.setattr(characteristic, "_KEPT", 0)
    again = value_and_gradients(loss, 5_000)
    assert len(made) > kept
    assert value == again[0]
    for ours, theirs in zip(gradients, again[1], strict=True):
        assert torch.equal(ours, theirs)
