"""Several models on the same rows: their scores side by side, and which differences are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

from calibrant.cli._text_table import Row, markdown_table, text_table
from calibrant.metrics import Evaluation, ScoreDifference
from calibrant.metrics.formatting import format_number, p_value_text

_WIDTH = 80
_LEFT = ("model",)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Evaluations of the same rows by model name, and tests of their CRPS."""

    results: Mapping[str, Evaluation]
    pairs: Sequence[ScoreDifference]

    def __str__(self) -> str:
        n_rows = next(iter(self.results.values())).n
        return "\n".join(
            [
                f"Evaluation of {len(self.results)} models on {n_rows:,} rows",
                "",
                text_table(self._rows(), left=_LEFT),
                "",
                *(fill(f"{name}: {each.verdict}", _WIDTH) for name, each in self.results.items()),
                "",
                "Difference in CRPS row by row, with 95% confidence (paired t-test):",
                *(fill(_in_words(pair), _WIDTH) for pair in self.pairs),
            ]
        )

    def to_markdown(self) -> str:
        """Return a table and lists of verdicts and tests."""
        return "\n".join(
            [
                markdown_table(self._rows(), left=_LEFT),
                "",
                *(f"- {name}: {each.verdict}" for name, each in self.results.items()),
                *(f"- CRPS: {_in_words(pair)}" for pair in self.pairs),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "models": {name: each.to_dict() for name, each in self.results.items()},
            "crps_differences": [asdict(pair) for pair in self.pairs],
        }

    def _rows(self) -> list[Row]:
        first = next(iter(self.results.values()))
        rows = [
            {
                "model": name,
                "ECPE": format_number(each.ecpe),
                f"{100 * first.level:.4g}% cover": f"{each.coverage:.1%}",
                "CRPS": format_number(each.crps),
                "NLL": format_number(each.nll),
                "RMSE": format_number(each.rmse),
                "EPIW": format_number(each.epiw),
            }
            for name, each in self.results.items()
        ]
        floor = {"model": "noise floor", "ECPE": format_number(first.floor.ecpe)}
        return [*rows, dict.fromkeys(rows[0], "") | floor]


def _in_words(pair: ScoreDifference) -> str:
    # The lower score first, as the sentence names the better model first.
    sign = -1.0 if pair.difference > 0 else 1.0
    low, high = sorted([sign * pair.low, sign * pair.high])
    return (
        f"{pair.sentence}: {sign * pair.difference:.3g} ({low:.3g} to {high:.3g}), "
        f"{p_value_text(pair.p_value)}"
    )
