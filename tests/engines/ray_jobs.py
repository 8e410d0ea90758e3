"""Work for Ray that dies on the way, at the top level of a module so that workers find it."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from calibrant.engines import ray_fit, train_loop_per_worker


def dying_loop(config: dict[str, Any]) -> None:
    """The training loop, whose second worker is killed once, after its third checkpoint."""
    import ray.train

    died = Path(config["died"])
    report, reports = ray_fit._report, []

    def dying_report(checkpoint) -> None:
        report(checkpoint)
        reports.append(checkpoint)
        second = ray.train.get_context().get_world_rank() == 1
        if second and len(reports) == 3 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    ray_fit._report = dying_report
    train_loop_per_worker(config)


@dataclass(frozen=True)
class DyingFunction:
    """A function of frames whose process is killed once, in the middle of the rows."""

    function: Any
    died: str

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        if frame["row"].max() > 500 and not Path(self.died).exists():
            Path(self.died).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.function(frame)
