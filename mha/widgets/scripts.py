"""The texts that a widget sends to the page: JavaScript files of this folder, one after the other."""

from pathlib import Path

HERE = Path(__file__).parent


def script(*names):
    return "".join((HERE / name).read_text(encoding="utf-8") for name in names)
