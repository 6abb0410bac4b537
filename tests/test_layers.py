"""The package's arrows: who may import whom, read from the source without running it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mha

PACKAGE = Path(mha.__file__).parent
CORE = {"__init__", "checks", "attention", "multihead", "cost"}
EVERYTHING = {"*"}  # outside of mha
NEVER = {"book", "tests", "tools"}

# module or folder of mha -> (what it may import of mha, what it may import besides the standard library)
ARROWS = {
    "__init__": (CORE, set()),
    "checks": (set(), {"numpy"}),
    "attention": ({"checks"}, {"numpy"}),
    "multihead": ({"checks", "attention"}, {"numpy"}),
    "cost": ({"checks"}, set()),
    # the core ends here
    "printing": (set(), {"numpy"}),
    "pictures": ({"printing"}, {"numpy"}),
    "diagrams": ({"printing", "pictures"}, set()),
    "plots": ({"printing", "pictures"}, {"numpy", "matplotlib"}),
    "examples": (CORE, {"numpy"}),
    "interop": (CORE, {"numpy"}),
    "conformance": (CORE | {"stored"}, {"numpy"}),
    "stored": (set(), {"numpy"}),
    "training": (CORE | {"stored"}, {"numpy"}),
    "pretrained": (CORE | {"interop", "stored"}, {"numpy", "safetensors", "tokenizers"}),  # these two to read a model
    "traps": (CORE | {"printing"}, {"numpy"}),
    "questions": (CORE | {"printing", "examples", "training", "pretrained"}, {"numpy"}),
}
ARROWS["widgets"] = (set(ARROWS) - {"traps"}, EVERYTHING)

FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [file.relative_to(PACKAGE).as_posix() for file in FILES]


def unit(file):
    """The module or top folder of mha that a file belongs to: widgets/frames.py is widgets."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules(package=PACKAGE):
    """The names of modules and folders in mha."""
    return {p.name.removesuffix(".py") for p in package.iterdir() if p.suffix == ".py" or any(p.glob("*.py"))}


def imports(source, package):
    """Full dotted names that source imports; package is the dotted name of the package it stands in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            base += node.module.split(".") if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)


def forbidden(source, package, name, known):
    """Imports of mha's unit `name` that its arrows don't allow; known: the units there are."""
    inside, outside = ARROWS[name]
    for found in imports(source, package):
        top, _, rest = found.partition(".")
        if top == "mha":
            target = rest.split(".")[0]
            target = target if target in known else "__init__"
            if target not in inside | {name}:
                yield found
        elif top in NEVER or (outside is not EVERYTHING and top not in sys.stdlib_module_names | outside):
            yield found


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_module_imports_only_what_its_arrows_allow(file):
    name = unit(file)
    assert name in ARROWS, f"mha/{name} is new: add it to ARROWS in tests/test_layers.py and to the map in README.md"
    package = ".".join(["mha", *file.relative_to(PACKAGE).parts[:-1]])
    wrong = list(forbidden(file.read_text(encoding="utf-8"), package, name, modules()))
    assert not wrong, f"mha/{name} may not import {', '.join(wrong)}"


@pytest.mark.parametrize(
    "name, package, line",
    [
        ("attention", "mha", "from .multihead import split_heads"),
        ("attention", "mha", "from . import checks, cost"),
        ("attention", "mha", "import mha.cost"),
        ("multihead", "mha", "import matplotlib.pyplot as plt"),
        ("cost", "mha", "import numpy as np"),
        ("checks", "mha", "def f():\n    from mha import softmax"),
        ("pictures", "mha", "from .attention import softmax"),
        ("pictures", "mha", "from mha import softmax"),
        ("examples", "mha", "from .widgets import frames"),
        ("widgets", "mha.widgets", "from ..traps.engine import check"),
        ("widgets", "mha.widgets", "import tools.refresh_book"),
        ("traps", "mha.traps", "from .. import plots"),
    ],
)
def test_a_forbidden_import_is_seen(name, package, line):
    assert len(list(forbidden(line, package, name, set(ARROWS)))) == 1


@pytest.mark.parametrize(
    "name, package, line",
    [
        ("attention", "mha", "import math, numpy as np\nfrom . import checks"),
        ("plots", "mha", "from matplotlib import pyplot\nfrom .pictures import ACCENT"),
        ("widgets", "mha.widgets", "import anywidget\nfrom .frames import frames\nfrom .. import pictures, softmax"),
        ("examples", "mha", "from mha import MultiHeadAttention"),
    ],
)
def test_an_allowed_import_is_let_through(name, package, line):
    assert not list(forbidden(line, package, name, set(ARROWS)))


def test_importing_mha_loads_no_drawing_library():
    heavy = ("matplotlib", "ipywidgets", "anywidget", "IPython", "torch")
    code = f"import sys, mha; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_importing_mha_loads_the_core_alone():
    code = "import sys, mha; print(sorted(m[4:] for m in sys.modules if m.startswith('mha.')))"
    found = subprocess.check_output([sys.executable, "-c", code], text=True).strip()
    assert found == str(sorted(CORE - {"__init__"}))


def test_the_core_is_read_in_one_sitting():
    def lines(name):
        return sum(bool(line.strip()) for line in (PACKAGE / f"{name}.py").read_text(encoding="utf-8").splitlines())

    assert sum(lines(name) for name in CORE - {"checks"}) <= 400
    assert lines("checks") <= 100
