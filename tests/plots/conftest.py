from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def no_display() -> Iterator[None]:
    """Draw into memory, and leave no figure open."""
    backend = mpl.get_backend()
    mpl.use("Agg")
    yield
    plt.close("all")
    mpl.use(backend)
