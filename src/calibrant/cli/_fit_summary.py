"""What ``calibrant fit`` tells about the fitted model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli._text_table import text_table

if TYPE_CHECKING:
    from calibrant.estimators import MultiOutput, NetworkRegressor


def fit_summary(model: NetworkRegressor | MultiOutput, *, n_rows: int) -> dict[str, Any]:
    """What was fitted, as JSON values; of several outputs a summary for each."""
    from calibrant.estimators import MultiOutput

    if isinstance(model, MultiOutput):
        outputs = [fit_summary(each, n_rows=n_rows) for each in model.models_.values()]
        return {"method": type(model).__name__, "rows": n_rows, "outputs": outputs}
    assert model.encoder_ is not None  # of a table
    stages = []
    for number in sorted({record["stage"] for record in model.history_}):
        records = [record for record in model.history_ if record["stage"] == number]
        kept = next(record for record in records if record["best"])
        stages.append(
            {
                "stage": number,
                "score": kept["score_name"],
                "epochs": records[-1]["epoch"],
                "best_epoch": kept["epoch"],
                "first_score": _finite(records[0]["validation_score"]),
                "validation_score": _finite(kept["validation_score"]),
            }
        )
    return {
        "method": type(model).__name__,
        "target": model.target_name_,
        "rows": n_rows,
        "held_out_rows": model.n_held_out_,
        "columns": list(model.encoder_.summary),
        "inputs": [row["column"] for row in model.encoder_.summary if row["inputs"]],
        "stages": stages,
    }


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None


def in_words(summary: dict[str, Any], validation: Path | None) -> str:
    """Say in a sentence what was fitted, and which rows were held out."""
    rows, held_out = summary["rows"], summary["held_out_rows"]
    if validation is not None:
        which = f"{held_out:,} of {validation}"
    else:  # all of them where folds are cross-fitted
        which = "all held out in turn" if held_out == rows else f"{held_out:,} of them held out"
    inputs = len(summary["inputs"])
    return (
        f"{summary['method']}: {summary['target']} from {inputs} column{'s' * (inputs != 1)}, "
        f"{rows:,} rows, {which} to stop and calibrate."
    )


def stage_table(summary: dict[str, Any]) -> str:
    """Table of the training stages, with scores of the held-out rows."""
    rows = [
        {
            "stage": f"{stage['stage']}, by {stage['score']}",
            "epochs": str(stage["epochs"]),
            "kept": f"epoch {stage['best_epoch']}" if stage["best_epoch"] else "its start",
            "held-out score": _four_digits(stage["validation_score"]),
            "at its start": _four_digits(stage["first_score"]),
        }
        for stage in summary["stages"]
    ]
    table = text_table(rows, left=("stage",))
    return f"\n{table}\n\nScores are of the scaled target, lower is better."


def _four_digits(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}"
