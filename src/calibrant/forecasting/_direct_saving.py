"""The network for all steps as plain values and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from calibrant.forecasting._direct import DirectStep, DirectSteps, origin_stride
from calibrant.forecasting._ensemble import NetworkEnsemble
from calibrant.forecasting._window_source import InputScaling
from calibrant.forecasting._windows import WindowDesign
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.networks import DirectNetwork, DirectShape
from calibrant.persistence import pack, unpack
from calibrant.recalibration import AdaptiveRecalibrator
from calibrant.training import resolve_device


def direct_state(model: DirectSteps, tensors: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Describe a trained model as JSON; its arrays go to `tensors`."""
    tensors |= {"direct.knots": model.knots, "direct.shares": model.shares}
    for member, network in enumerate(model.ensemble.networks):
        for name, weight in network.state_dict().items():
            tensors[f"direct.network.{member}.{name}"] = weight.cpu().numpy()
    return {
        "settings": model.ensemble.settings.get_params(),
        "n_trained": model.n_trained,
        "shapes": [network.shape.as_dict() for network in model.ensemble.networks],
        "scaling": pack(model.scaling, tensors, "direct.scaling"),
    }


def restore_direct(
    state: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    design: WindowDesign,
    horizon: int,
    recalibrators: list[AdaptiveRecalibrator | None],
) -> DirectSteps:
    """Rebuild what `direct_state` described."""
    settings = GlobalNetwork(**state["settings"])
    device = resolve_device(settings.device)
    networks = []
    for member, shape in enumerate(state["shapes"]):
        network = DirectNetwork(DirectShape(**shape))
        prefix = f"direct.network.{member}."
        weights = {
            name.removeprefix(prefix): torch.as_tensor(np.array(array))
            for name, array in tensors.items()
            if name.startswith(prefix)
        }
        network.load_state_dict(weights)
        networks.append(network.to(device).eval())
    scaling = unpack(state["scaling"], tensors)
    if not isinstance(scaling, InputScaling):
        raise ValueError("the scaling of the inputs is missing")
    stride = origin_stride(horizon)
    return DirectSteps(
        design,
        horizon,
        NetworkEnsemble(settings, networks),
        [DirectStep(step, each, stride) for step, each in enumerate(recalibrators, start=1)],
        scaling,
        tensors["direct.knots"],
        tensors["direct.shares"],
        int(state["n_trained"]),
    )
