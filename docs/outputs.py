"""Run the code of pages, write what it prints below it and keep what it draws.

    python docs/outputs.py README.md docs/index.md docs/tutorials/*.md

A block ```python``` whose output belongs on the page is followed by a block
```text```, which may be empty at first. A picture that the page saves by the
name of one in docs/images, and shows, replaces it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl

_IMAGES = Path(__file__).parent / "images"
_PAIR = re.compile(
    r"^```python(?P<title>[^\n]*)\n(?P<code>.*?)^```\n(?P<text>\n```text\n.*?^```\n)?",
    re.M | re.S,
)


def with_outputs(page: Path) -> str:
    """Return the page with the outputs of a fresh run."""
    space: dict[str, Any] = {"__name__": "__main__"}

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], str(page), "exec"), space)
        if block["text"] is None:
            return block[0]
        lines = [wrapped(line) for line in printed.getvalue().splitlines()]
        text = "\n".join(lines).strip("\n")
        before = f"```python{block['title']}\n{block['code']}```\n\n"
        return f"{before}```text\n{text}\n```\n"

    return _PAIR.sub(run, page.read_text(encoding="utf-8"))


def wrapped(line: str) -> str:
    """Return a line as a terminal of 80 columns shows it, but whole words."""
    return textwrap.fill(line, 80) if len(line) > 80 else line.rstrip()


if __name__ == "__main__":
    mpl.use("agg")
    mpl.rcParams["savefig.dpi"] = 90  # small files
    for page in [Path(name).absolute() for name in sys.argv[1:]]:
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = with_outputs(page)
            for name in re.findall(r"images/([\w-]+\.png)\)", text):
                if Path(name).exists():
                    shutil.copyfile(name, _IMAGES / name)
        page.write_text(text, encoding="utf-8")
        print(os.path.relpath(page))
