"""The chapters keep their template, and their stored outputs are whole."""

import ast
import re
import sys

import nbformat
import pytest
from chapters import BOOK, NOTEBOOKS, code_cells, notebook

from mha.traps import exercise

sys.path.insert(0, str(BOOK.parent / "tools"))
from refresh_book import normalise, text_of

NUMBERED = [path for path in NOTEBOOKS if re.match(r"\d\d_", path.name)]
CHAPTERS = [path for path in NUMBERED if path.stem != "14_mock_exam"]  # which is all questions
BUILDING = [path for path in CHAPTERS if path.name < "08"]
MORE_EXERCISES = ("12_exam_traps",)  # it is made of them
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
by_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
STALE = "run `make refresh` and commit what it changes"


def text(path):
    return "\n\n".join(cell.source for cell in notebook(path).cells if cell.cell_type == "markdown")


def has_exercises(path):
    return path in BUILDING or re.search(r"^## Exercises$", text(path), re.M)


def exercises_of(path):
    """[(name, [statement, stub, verdict, solution])] of a chapter's exercises, in page order."""
    cells = notebook(path).cells
    starts = [i for i, cell in enumerate(cells) if cell.source.startswith("### Exercise: ")]
    return [(cells[i].id.removeprefix("ex-"), cells[i : i + 4]) for i in starts]


WITH_EXERCISES = [path for path in CHAPTERS if has_exercises(path)]
EXERCISES = [(path, name, cells) for path in WITH_EXERCISES for name, cells in exercises_of(path)]
by_exercise = pytest.mark.parametrize(
    "path, name, cells", EXERCISES, ids=[f"{path.stem}-{name}" for path, name, _ in EXERCISES]
)


def shown(cell):
    """What a cell's stored outputs say, as plain text."""
    return "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)


@by_name
def test_counts_run_from_1_and_outputs_are_stored(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), STALE
    shows = [cell for cell in cells if re.search(r"^(print|show|frames|HTML|plt\.show)\(", cell.source, re.M)]
    assert shows, "a chapter shows something"
    for cell in shows:
        assert cell.outputs or "nbval-ignore-output" in cell.metadata.get("tags", []), f"{STALE}: {cell.source}"


@by_name
def test_no_cell_ends_in_an_error(path):
    assert not [o for cell in code_cells(path) for o in cell.outputs if o.output_type == "error"]


@by_name
def test_notebook_is_normalised(path):
    stored = path.read_text(encoding="utf-8")
    assert text_of(normalise(nbformat.reads(stored, as_version=4))) == stored, STALE


@by_name
def test_output_is_ignored_only_where_it_must_differ(path):
    for cell in code_cells(path):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            assert re.search(r"seconds|tqdm|Quiz", cell.source), cell.source
        assert not re.search(r"nbval-(skip|lax)|raises-exception", str(cell.metadata))


@by_name
def test_progress_bars_stay_off_the_site(path):
    """They are for who runs the notebook; the page's script doesn't draw them."""
    for cell in code_cells(path):
        assert "tqdm(" not in cell.source or "remove-output" in cell.metadata.get("tags", [])


@by_name
def test_cells_are_short(path):
    for cell in code_cells(path):
        assert sum(bool(line.strip()) for line in cell.source.splitlines()) <= 17, (
            f"{path.name}: cut this cell\n{cell.source}"
        )


@by_name
def test_every_plot_has_a_text_alternative(path):
    for cell in code_cells(path):
        if any("image/png" in o.get("data", {}) for o in cell.outputs):
            assert len(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")) > 20, (
                f'put {{"mystnb": {{"image": {{"alt": "what it shows"}}}}}} into the metadata of\n{cell.source}'
            )


@by_chapter
def test_chapter_keeps_the_template(path):
    words = text(path)
    headings = re.findall(r"^#+ .*", words, re.M)
    assert sum(h.startswith("# ") for h in headings) == 1 and words.startswith("# ")
    for part in (
        "**You will be able to**",
        "**Builds on**",
        "**Time**",
        "{margin} Hinglish",
        "**In practice.**",
        "**Sources.**",
    ):
        assert part in words, f"{path.name} lacks {part}"
    for heading in ("## Predict", "## What goes wrong", "## Remember"):
        assert any(h.startswith(heading) for h in headings), f"{path.name} lacks {heading}"
    assert ":class: dropdown" in words, f"{path.name} lacks the answers to its prompts"
    assert any("frames(" in cell.source or "Explorer(" in cell.source for cell in code_cells(path))
    assert any(cell.source == f'Quiz("{path.stem}")' for cell in code_cells(path)), f"{path.name} asks no questions"


@pytest.mark.parametrize("path", WITH_EXERCISES, ids=lambda p: p.stem)
def test_chapter_has_its_exercises(path):
    headings = [h for h in re.findall(r"^## .*", text(path), re.M) if not h.startswith("## Predict")]
    parts = ["## What goes wrong", "## Questions", "## Exercises", "## Remember"]
    assert headings[-4:] == parts or path.stem in MORE_EXERCISES
    names = [name for name, _ in exercises_of(path)]
    assert 2 <= len(names) == len(set(names)), names
    assert len(names) <= 4 or path.stem in MORE_EXERCISES, names
    assert any(re.search(r"^from mha\.traps import .*\bcheck\b", c.source, re.M) for c in code_cells(path))


@by_exercise
def test_exercise_is_statement_stub_verdict_and_folded_solution(path, name, cells):
    statement, stub, verdict, solution = cells
    asked, function = exercise(name), exercise(name).call.split("(")[0]
    assert asked.chapter == path.stem, f"{name} stands in {asked.chapter}: each exercise in one chapter"
    assert statement.source.startswith(f"### Exercise: {asked.title}\n\n")
    assert [c.id for c in cells] == [f"ex-{name}{part}" for part in ("", "-stub", "-check", "-solution")]
    assert [c.metadata.get("tags") for c in cells[1:]] == [["exercise"], ["verdict"], ["solution", "hide-cell"]]
    assert ast.dump(ast.parse(stub.source)) == ast.dump(ast.parse(asked.stub)) and "# your code" in stub.source
    assert verdict.source == solution.source.splitlines()[-1] == f'check("{name}", {function})'
    assert solution.metadata["jupyter"]["source_hidden"]
    assert shown(verdict) == "… not answered yet" and shown(solution).startswith("✓"), STALE
    assert all("mha-verdict" in c.outputs[0].data["text/html"] for c in (verdict, solution)), "the site shows HTML"


@by_name
def test_chapter_imports_the_package_rather_than_write_it_again(path):
    for cell in code_cells(path):
        if cell.id.startswith("ex-"):
            continue  # to write it again is what an exercise asks for
        assert not re.search(r"def (softmax|causal_mask|split_heads|merge_heads)\b", cell.source)


def test_toc_lists_every_chapter():
    toc = (BOOK.parent / "_toc.yml").read_text(encoding="utf-8")
    for path in [*NOTEBOOKS, *BOOK.glob("*.md")]:
        assert f"book/{path.stem}\n" in toc, f"{path.name} is in no part of _toc.yml"


def test_front_page_leads_to_every_page():
    words = text(BOOK / "index.ipynb").split("## The chapters")[1].split("\n## ")[0]
    listed = re.findall(r"^\| \[[^]]+\]\(([^)]+)\) \|", words, re.M)
    assert len(listed) == len(set(listed))
    pages = {path.name for path in [*NOTEBOOKS, *BOOK.glob("*.md")]} - {"index.ipynb"}
    assert set(listed) == pages
    assert [page for page in listed if page in {p.name for p in NUMBERED}] == [p.name for p in NUMBERED]


def test_front_page_says_truly_which_chapters_have_exercises():
    words = text(BOOK / "index.ipynb")
    made_of_them = [p for p in WITH_EXERCISES if p.stem in MORE_EXERCISES]
    assert "Most chapters end in exercises" in words and len(WITH_EXERCISES) > len(NUMBERED) / 2
    assert "each refuted by a measurement, each with an exercise" in words and len(made_of_them) == 1
    for path in made_of_them:
        assert len(exercises_of(path)) > 4
