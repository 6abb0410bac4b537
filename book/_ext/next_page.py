"""Under "previous" and "next" stands what that page settles, or what it is for, as the front page's tables say it."""

import re
from pathlib import Path

import nbformat

BOOK = Path(__file__).parents[1]
ROW = re.compile(r"^\| \[[^]]*\]\((\w+)\.(?:ipynb|md)\) \| ([^|]+) \|", re.M)


def questions():
    """{page: what it settles} from the tables in index.ipynb, formulas as text."""
    cells = nbformat.read(BOOK / "index.ipynb", as_version=4).cells
    rows = ROW.findall("\n".join(cell.source for cell in cells if cell.cell_type == "markdown"))
    return {f"book/{page}": re.sub(r"[${}]", "", question) for page, question in rows}


def say(app, pagename, templatename, context, doctree):
    _, before, after = app.builder.relations.get(pagename, (None, None, None))
    for side, page in (("prev", before), ("next", after)):
        if context.get(side):
            context[side]["says"] = questions().get(page, "")


def setup(app):
    app.config.templates_path.append(str(BOOK / "_ext/templates"))
    app.connect("html-page-context", say)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
