"""The exercises as notebooks to hand out, and their solutions, in nbgrader's cell format.

python tools/make_handout.py FOLDER [--seed SEED] [--points POINTS] makes, for each chapter with exercises,

    FOLDER/source/attention/CHAPTER.ipynb     with solutions between BEGIN SOLUTION and END SOLUTION
    FOLDER/release/attention/CHAPTER.ipynb    for students: stubs, no solutions, no outputs

and FOLDER/nbgrader_config.py, so that FOLDER is an nbgrader course. Each exercise is a cell to fill in and a
locked cell that checks it, for POINTS points; SEED draws the checker's probes for this class.
"""

import argparse
import ast
import re
import textwrap
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).parents[1]
ASSIGNMENT = "attention"
CONFIG = '''"""An nbgrader course: https://nbgrader.readthedocs.io"""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "multi-head-attention"
'''
HOW = """Write your code in place of the `...`, run the cell, then run the one below it. It says whether your
values are right, and if not, which mistake they show. Leave the names of the functions and the checks as they are.
What a statement calls *above* stands in this chapter of the book.
"""
LINK = re.compile(r"\[([^\]]+)\]\(\w+\.(?:ipynb|md)[^)]*\)")  # to another page of the book, which is not handed out


def exercises(notebook):
    """[(name, statement, stub, solution)] of a chapter's notebook, in its order."""
    cells = {cell.id: cell.source for cell in notebook.cells}
    names = [cell.id[3:-9] for cell in notebook.cells if re.fullmatch(r"ex-\w+-solution", cell.id)]
    return [(name, *(cells[f"ex-{name}{part}"] for part in ("", "-stub", "-solution"))) for name in names]


def marked(solution):
    """A solution without its call of check, the bodies of its functions between nbgrader's marks."""
    lines = solution.splitlines()
    for node in reversed(ast.parse(solution).body):
        if not isinstance(node, ast.FunctionDef):
            if not isinstance(node, ast.Expr):
                raise ValueError(f"a solution holds functions and the call of check, not {ast.unparse(node)!r}")
            del lines[node.lineno - 1 : node.end_lineno]
            continue
        first, indent = node.body[0].lineno - 1, " " * node.body[0].col_offset
        lines[node.end_lineno : node.end_lineno] = [f"{indent}### END SOLUTION"]
        lines[first:first] = [f"{indent}### BEGIN SOLUTION"]
    return "\n".join(lines).rstrip()


def graded(source, name, *, points=None):
    """A code cell for nbgrader: to fill in, or with points to check."""
    cell = new_code_cell(source, id=name)
    cell.metadata["nbgrader"] = {
        "schema_version": 3, "grade_id": name, "task": False,
        "grade": points is not None, "solution": points is None, "locked": points is not None,
    } | ({} if points is None else {"points": points})  # fmt: skip
    return cell


def handout(chapter, notebook, *, seed, points, solved):
    """One chapter's exercises as a notebook."""
    title = re.match(r"# (.*)", notebook.cells[0].source)[1]
    cells = [
        new_markdown_cell(f"# Exercises: {title}\n\n{HOW}", id="how"),
        new_code_cell("import numpy as np\n\nfrom mha.traps import check", id="imports"),
    ]
    for name, statement, stub, solution in exercises(notebook):
        call = next(n for n in ast.parse(solution).body if isinstance(n, ast.Expr)).value
        called, seeded = ast.unparse(call.args[1]), "" if seed is None else f", seed={seed}"
        check = f"""\
            verdict = check("{name}", {called}{seeded})
            print(verdict)
            assert verdict.ok, verdict"""
        cells += [
            new_markdown_cell(LINK.sub(r"\1", statement).replace("### Exercise: ", "## "), id=f"say-{name}"),
            graded(marked(solution) if solved else stub, name),
            graded(textwrap.dedent(check), f"check-{name}", points=points),
        ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return new_notebook(cells=cells, metadata=kernel)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, help="of the checker's probes, the same for all students")
    parser.add_argument("--points", type=int, default=2, help="for each exercise")
    options = parser.parse_args(arguments)
    if options.points < 1:
        parser.error(f"--points {options.points} must be at least 1")
    made = 0
    for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")):
        chapter = nbformat.read(path, as_version=4)
        found = exercises(chapter)
        made += len(found)
        for kind in ("source", "release") if found else ():
            folder = options.folder / kind / ASSIGNMENT
            folder.mkdir(parents=True, exist_ok=True)
            one = handout(path.stem, chapter, seed=options.seed, points=options.points, solved=kind == "source")
            nbformat.write(one, folder / path.name)
    (options.folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    print(f"{made} exercises: for students in {options.folder}/release, with solutions in {options.folder}/source")


if __name__ == "__main__":
    main()
