"""Execute the chapters and store clean outputs, so that a second run changes no byte.

python tools/refresh_book.py [notebook ...]     (all of book/ without arguments)
"""

import sys
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient

BOOK = Path(__file__).parents[1] / "book"
sys.path.insert(0, str(BOOK / "_ext"))
from publish import colab_cell

WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def normalise(notebook):
    """Drop what differs from run to run or machine to machine, and nothing that a reader sees."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            cell.outputs = []  # times, progress bars: the site's build makes its own
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)  # random ids; likewise
    return notebook


def for_colab():
    """The code that _config.yml's repository asks for, so that the notebooks run on Colab; "" if it names none."""
    repository = yaml.safe_load((BOOK.parent / "_config.yml").read_text(encoding="utf-8"))["repository"]
    return colab_cell(repository["url"], repository["branch"])


def with_colab(notebook, code):
    """That code as the first code cell, not shown on the site; no such cell where there is no such code."""
    cells = [cell for cell in notebook.cells if cell.get("id") != "colab"]
    if code:
        first = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
        metadata = {"tags": ["remove-cell"], "jupyter": {"source_hidden": True}}
        cells.insert(first, nbformat.v4.new_code_cell(code, id="colab", metadata=metadata))
    notebook.cells = cells
    return notebook


def text_of(notebook):
    """The notebook as it stands on disk."""
    return nbformat.writes(notebook, version=4) + "\n"


def refresh(path):
    """Execute one notebook and write it back; True if its bytes changed."""
    before = path.read_text(encoding="utf-8")
    notebook = with_colab(nbformat.reads(before, as_version=4), for_colab())
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    after = text_of(normalise(notebook))
    path.write_text(after, encoding="utf-8")
    return after != before


def main(arguments):
    for path in [Path(a) for a in arguments] or sorted(BOOK.glob("*.ipynb")):
        print(f"{'changed  ' if refresh(path) else 'unchanged'} {path.name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
