"""The libraries themselves, which `make peers` installs; `make test` does not collect this folder."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

LARGEST = {}  # (case, dtype) -> largest difference of output and weights, over all seeds


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("largest difference from the library")
    for (name, dtype), difference in LARGEST.items():
        terminalreporter.write_line(f"{name:34} {dtype:8} {difference:.1e}")
