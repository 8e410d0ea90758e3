"""The page of `calibrate` shows the figures that its benchmark stores."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_calibrate_is_what_its_results_say(tmp_path) -> None:
    page = ROOT / "docs" / "tutorials" / "calibrate.md"
    copy = shutil.copy(page, tmp_path)
    command = [sys.executable, "benchmarks/calibrate.py", "--docs", copy]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    again = "Run python benchmarks/calibrate.py --docs docs/tutorials/calibrate.md"
    assert Path(copy).read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), again
