"""Search finds sections, not only pages, and takes a question as it is asked.

Sphinx's own index is kept, with a section in the place of a page. assets/search.js ranks what it finds.
"""

import html
from pathlib import Path

from docutils import nodes
from sphinx import search
from sphinx.search.en import SearchEnglish

PAGES = search.IndexBuilder


# Words that a question has and its answer need not have, beside Sphinx's own.
ASKING = """
about all am any been can could did do does don from had has have how i its just many me much must my need our
should so than them too us we were what when where which while who whose why would you your
"""


class English(SearchEnglish):
    """English without the words that only ask, in the index and in the question."""

    stopwords = SearchEnglish.stopwords | set(ASKING.split())


class Sections(PAGES):
    """An index whose documents are sections: "page#place"."""

    def feed(self, docname, filename, title, doctree):
        for place, heading, part in parts(doctree):
            name = f"{docname}#{place}" if heading else docname
            super().feed(name, filename, f"{title} › {heading}" if heading else title, part)

    def prune(self, docnames):
        super().prune({name for name in self._titles if name.partition("#")[0] in docnames})


def parts(doctree):
    """[(place, heading, text)] of a page: the page's own first, headings of level 2 and 3 after it."""
    page = doctree.deepcopy()
    found = []
    for section in reversed(list(page.findall(nodes.section))):
        above = section.parent
        if isinstance(above, nodes.section):  # a part of its own, no longer in what it stood in
            above.remove(section)
            part = nodes.document(page.settings, page.reporter)
            part += section
            found.append((section["ids"][0], html.escape(section[0].astext()), part))
    return [("", "", page), *reversed(found)]


def setup(app):
    search.IndexBuilder = Sections
    app.config.html_search_scorer = str(Path(__file__).parents[1] / "assets/search.js")
    app.add_search_language(English)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
