"""Choice of the device."""

from __future__ import annotations

import torch

from calibrant.errors import ParameterError


def resolve_device(device: str | torch.device) -> torch.device:
    """Return the device of a name; "auto" is a CUDA GPU if there is one, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(
            f'device must be "auto" or a device that torch can use here, got {device!r}: {error}'
        ) from error
    return chosen
