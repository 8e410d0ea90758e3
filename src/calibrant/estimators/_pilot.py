"""A short training that decides what the networks see."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibrant.estimators._together import Lot, train_networks

if TYPE_CHECKING:
    from calibrant.estimators._pooled import PooledRegressor

_EPOCHS = 40  # of stage 2, as long as it takes to see what is better


def choose_embeddings(models: Sequence[PooledRegressor], lots: Sequence[Lot]) -> None:
    """Decide for every model by the CRPS of held-out rows whether embeddings help.

    A network (of every kind) with them and one without are trained on the first part of the rows.
    """
    pilots = [_pilot(model, sees) for model in models for sees in (False, True)]
    few = pilots[0]._n_members()
    train_networks(pilots, [lot.of_first(few) for lot in lots for _ in (False, True)])
    best = [
        min(r["validation_score"] for r in pilot.history_ if r["stage"] == 2) for pilot in pilots
    ]
    for model, without, through in zip(models, best[::2], best[1::2], strict=True):
        model._sees_waves = through < without


def _pilot(model: PooledRegressor, sees_waves: bool) -> PooledRegressor:
    """One network of a model, or one of every kind."""
    pilot = copy.copy(model)
    pilot.members, pilot.folds_, pilot.verbose = 1, 0.0, False
    pilot.matching_epochs = min(_EPOCHS, model._setting("matching_epochs"))
    pilot.decay, pilot.recalibrate, pilot._sees_waves = 0.0, False, sees_waves
    return pilot
