"""Code blocks of Markdown files."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(
    r"(?:^<!-- needs: (?P<needs>\S+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.M | re.S,
)


class Block(NamedTuple):
    """A fenced block, the package it needs and the line it starts on."""

    code: str
    needs: str | None
    line: int


def blocks(document: Path, language: str) -> list[Block]:
    """Blocks of a language; `<!-- needs: package -->` above one names what it imports."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            textwrap.dedent(match["code"]), match["needs"], text.count("\n", 0, match.start()) + 2
        )
        for match in _BLOCK.finditer(text)
        if match["language"] == language
    ]
