"""The exercises to hand out, and what nbgrader makes of them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from chapters import BOOK, NOTEBOOKS, notebook

sys.path.insert(0, str(BOOK.parent / "tools"))
import make_handout

from mha.traps import exercises

WRONG = """def split(x, num_heads):
    B, seq, d = x.shape
    return x.reshape(B, num_heads, seq, d // num_heads)"""
POINTS = 3


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    make_handout.main([str(folder), "--seed", "11", "--points", str(POINTS)])
    return folder


def cells(folder):
    """{(chapter, cell id): cell} of all notebooks in a folder."""
    found = {path.stem: nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))}
    return {(stem, cell.id): cell for stem, nb in found.items() for cell in nb.cells}


def test_every_exercise_is_handed_out_once(course):
    for kind in ("source", "release"):
        names = [
            cell_id for _, cell_id in cells(course / kind / "attention") if not cell_id.startswith(("say-", "check-"))
        ]
        assert sorted(n for n in names if n not in ("how", "imports")) == sorted(exercises())


def test_students_get_stubs_and_no_outputs(course):
    given = cells(course / "release/attention")
    for (stem, name), cell in given.items():
        assert not cell.get("outputs") and cell.get("execution_count") is None
        assert "SOLUTION" not in cell.source and "](" not in cell.source.replace("](http", ""), (stem, name)
    solved = cells(course / "source/attention")
    assert given.keys() == solved.keys()
    differs = {key for key in given if given[key].source != solved[key].source}
    assert {name for _, name in differs} == set(exercises())


def test_cells_are_in_nbgraders_format(course):
    for (_, name), cell in cells(course / "source/attention").items():
        if cell.cell_type == "markdown" or name == "imports":
            assert "nbgrader" not in cell.metadata
            continue
        data, checks = cell.metadata["nbgrader"], name.startswith("check-")
        assert data["grade_id"] == name and data["schema_version"] == 3
        assert data["grade"] == data["locked"] == checks and data["solution"] != checks
        assert data.get("points") == (POINTS if checks else None)
        assert ("seed=11" in cell.source) if checks else ("### BEGIN SOLUTION" in cell.source)


def test_marked_solutions_still_run_and_pass(course):
    for kind, passes in (("source", True), ("release", False)):
        for path in sorted((course / kind / "attention").glob("*.ipynb")):
            space = {}
            for cell in nbformat.read(path, as_version=4).cells:
                if cell.cell_type != "code":
                    continue
                if not cell.id.startswith("check-") or passes:
                    exec(cell.source, space)
                else:
                    with pytest.raises(AssertionError, match="not answered yet"):
                        exec(cell.source, space)


def test_a_solution_of_another_form_is_refused():
    with pytest.raises(ValueError, match="holds functions and the call of check"):
        make_handout.marked("x = 1")


def test_points_must_be_positive(tmp_path):
    with pytest.raises(SystemExit):
        make_handout.main([str(tmp_path), "--points", "0"])


def test_chapters_solutions_are_the_source():
    assert sum(len(make_handout.exercises(notebook(path))) for path in NOTEBOOKS) == len(exercises())


# With nbgrader itself


@pytest.fixture(scope="module")
def marks(course):
    """{student: {exercise: points}}, and the feedback pages of the third, whose split is mistake 1."""
    pytest.importorskip("nbgrader", reason="nbgrader is not installed")
    from nbgrader.api import Gradebook

    # It calls alembic by name.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONWARNINGS": "ignore"}

    def nbgrader(*arguments):
        command = [sys.executable, "-m", "nbgrader", *arguments]
        done = subprocess.run(command, cwd=course, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    for student, kind in (("blank", "release"), ("solved", "source"), ("mistaken", "source")):
        shutil.copytree(course / kind / "attention", course / "submitted" / student / "attention")
    for path in (course / "submitted/mistaken/attention").glob("*.ipynb"):
        nb = nbformat.read(path, as_version=4)
        for cell in nb.cells:
            cell.source = WRONG if cell.id == "split" else cell.source
        nbformat.write(nb, path)
    nbgrader("generate_assignment", "attention", "--force")
    shutil.copytree(course / "release/attention", course / "submitted/cleared/attention")  # nbgrader's own release
    nbgrader("autograde", "attention")
    nbgrader("generate_feedback", "attention", "--student", "mistaken")
    found = {}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        for submission in book.assignment_submissions("attention"):
            grades = [grade for nb in submission.notebooks for grade in nb.grades]
            found[submission.student.id] = {grade.cell.name.removeprefix("check-"): grade.score for grade in grades}
    return found, "".join(p.read_text(encoding="utf-8") for p in sorted((course / "feedback/mistaken").rglob("*.html")))


@pytest.mark.slow  # nbgrader grades four students
def test_nbgrader_gives_nothing_for_blank_and_all_for_solutions(marks):
    scores, _ = marks
    assert scores["blank"] == scores["cleared"] == dict.fromkeys(exercises(), 0)
    assert scores["solved"] == dict.fromkeys(exercises(), POINTS)


@pytest.mark.slow  # nbgrader grades four students
def test_one_mistake_loses_its_exercise_alone_and_is_named(marks):
    scores, feedback = marks
    assert scores["mistaken"] == scores["solved"] | {"split": 0}
    assert "Heads split by reshape alone (mistake 1)" in re.sub(r"<[^>]+>", "", feedback)
