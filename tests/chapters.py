"""The chapters as the tests see them: their files, and the widgets that their cells make."""

import contextlib
import io
import os
from functools import cache
from pathlib import Path

import matplotlib
import nbformat

import mha.widgets

BOOK = Path(__file__).parents[1] / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))


@cache
def notebook(path):
    return nbformat.read(path, as_version=4)


def markdown(path):
    """The text of a page: a file of markdown, or a notebook's markdown cells."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(cell.source for cell in notebook(path).cells if cell.cell_type == "markdown")


def code_cells(path):
    return [cell for cell in notebook(path).cells if cell.cell_type == "code" and cell.source.strip()]


@cache
def widgets(path):
    """[(controls, render, options)] of a notebook's calls of `frames`, in page order, by running its cells."""
    calls, real = [], mha.widgets.frames

    def record(controls, render, **options):
        calls.append(({name: list(values) for name, values in controls.items()}, render, options))
        return real(controls, render, **options)

    matplotlib.use("Agg")
    mha.widgets.frames, here = record, os.getcwd()
    try:
        os.chdir(BOOK)
        with contextlib.redirect_stdout(io.StringIO()):
            namespace = {"__name__": path.stem}
            for cell in code_cells(path):
                exec(compile(cell.source, f"{path.name}", "exec"), namespace)
    finally:
        mha.widgets.frames = real
        os.chdir(here)
    return calls


WIDGETS = [(path, k) for path in NOTEBOOKS for k in range(sum(c.source.count("frames({") for c in code_cells(path)))]
WIDGET_NAMES = [f"{path.stem}-{k + 1}" for path, k in WIDGETS]
