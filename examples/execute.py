"""Run notebooks from top to bottom and store their outputs: python examples/execute.py *.ipynb.

Enough of a kernel for these notebooks: text that is printed, the value of a last expression, and
figures of matplotlib.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

_DPI = 72  # small files


def execute(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the notebook with the outputs of a fresh run."""
    space: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            source = "".join(cell["source"])
            outputs = _run(source, space, f"{name}, cell {number}", number)
            cell = cell | {"execution_count": number, "outputs": outputs}
        cells.append(cell)
    return notebook | {"cells": cells}


def _run(source: str, space: dict[str, Any], where: str, number: int) -> list[dict[str, Any]]:
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        exec(compile(ast.Module(body, []), where, "exec"), space)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), space)
    said = "".join(f"{each.category.__name__}: {each.message}\n" for each in caught)
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "name": stream, "text": text.splitlines(keepends=True)}
        for stream, text in (("stderr", said), ("stdout", printed.getvalue()))
        if text
    ]
    figures = [plt.figure(i) for i in plt.get_fignums()]
    if value is not None and not figures:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        result = {"output_type": "execute_result", "execution_count": number}
        outputs.append(result | {"data": data, "metadata": {}})
    for figure in figures:
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=_DPI, bbox_inches="tight", metadata={})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return outputs


def main(paths: list[str]) -> None:
    """Run the notebooks and write them with their outputs."""
    plt.switch_backend("agg")
    for path in map(Path, paths):
        start = time.perf_counter()
        done = execute(json.loads(path.read_text(encoding="utf-8")), path.name)
        text = json.dumps(done, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {time.perf_counter() - start:.0f} s, {len(text) / 1024:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
