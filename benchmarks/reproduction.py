"""What of the paper reproduces, from stored results.

    python benchmarks/reproduction.py                        # print the page of the stored results
    python benchmarks/reproduction.py benchmarks/results/paper.parquet \\
        --out docs/reproduction.md --images docs/images      # write it, with its pictures

The results are a folder that `calibrant bench paper` wrote, or a file of `calibrant bench pack`.
"""

from __future__ import annotations

import argparse
import io
import os
from pathlib import Path

import matplotlib as mpl
from PIL import Image
from reproduction_page import page_figures, reproduction_page

from calibrant.experiments import read_results

RESULTS = Path(__file__).parent / "results" / "paper.parquet"


def draw(records: list[dict[str, object]], folder: Path) -> None:
    """Draw the pictures with 128 colours: a quarter of the bytes, and no visible loss."""
    mpl.use("Agg")
    folder.mkdir(exist_ok=True)
    for name, figure in page_figures(records):
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=80)
        picture = Image.open(drawn).convert("RGB").quantize(128)
        picture.save(folder / f"{name}.png", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS)
    parser.add_argument("--out", type=Path, help="Markdown file to write; default: print it")
    parser.add_argument("--images", type=Path, help="folder to draw the pictures into")
    options = parser.parse_args()
    records = read_results(options.results)
    images = None
    if options.images is not None:
        draw(records, options.images)
        folder = "." if options.out is None else options.out.parent
        images = Path(os.path.relpath(options.images, folder)).as_posix()
    page = reproduction_page(records, options.results.as_posix(), images)
    if options.out is None:
        print(page, end="")
    else:
        options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
