"""Formulas become MathML when the book is built, so that no page waits for a formula script.

Temml (one vendored JavaScript file) runs inside Python. A formula that it can't read is a build warning.

A key formula says its own number, `\\tag{1.1}`: JupyterLab shows that as it stands. Here the formula also
becomes a place, so that `[equation 1.1](01_single_head.ipynb#eq-1-1)` leads to it. What is written in a
head's colour, `\\textcolor{#0072b2}{...}`, gets that colour's ink: book.css has one for each theme.
"""

import html
import json
import re
from functools import cache
from pathlib import Path

import quickjs
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from mha.pictures import HEAD_COLOURS

TEMML = Path(__file__).parents[1] / "assets/offline/temml.min.js"
TAG = re.compile(r"\s*\\tag\{([^}]*)\}")
logger = logging.getLogger(__name__)


def anchor(number):
    """The place of an equation: "1.1" is at #eq-1-1."""
    return "eq-" + number.replace(".", "-")


class Numbers(SphinxTransform):
    """A formula with a \\tag has its number outside of the TeX, and a link can name its place."""

    default_priority = 870  # before MyST looks for the places of the page's links

    def apply(self):
        slugs = self.env.metadata[self.env.docname].setdefault("myst_slugs", {})
        for node in self.document.findall(nodes.math_block):
            found = TAG.search(node.astext())
            if found:
                tex = TAG.sub("", node.astext())
                node.clear()
                node += nodes.Text(tex)
                node["tag"], place = found[1], anchor(found[1])
                node["ids"].append(place)
                slugs[place] = (node.line, place, f"equation {found[1]}")


@cache
def converter():
    """The function (tex, display) -> MathML."""
    context = quickjs.Context()
    context.eval(TEMML.read_text(encoding="utf-8"))
    return context.eval(
        "(tex, display) => JSON.stringify(  // a flat string: quickjs can't hand over a concatenated one\n"
        "temml.renderToString(tex, {displayMode: display, throwOnError: true, annotate: true}))"
    )


def mathml(node, *, display):
    """The MathML of a formula's node; its TeX as code, with a warning, where it can't be read."""
    tex = node.astext().replace(r"\!\left", r"\left")  # that space is MathJax's, not MathML's
    try:
        return in_ink(json.loads(converter()(tex, display)))
    except quickjs.JSException as problem:
        logger.warning("formula %r: %s", tex, str(problem).split("\n")[0], location=node)
        return f"<code>{html.escape(tex)}</code>"


def in_ink(markup):
    """Heads' colours as book.css has their ink in each theme."""
    for i, colour in enumerate(HEAD_COLOURS, start=1):
        markup = re.sub(rf"color: ?{colour}\b", f"color:var(--head-{i}-ink)", markup)
    return markup


def visit_inline(self, node):
    self.body.append(mathml(node, display=False))
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math", tabindex="0"))  # wide formulas scroll by keyboard
    if "tag" in node:
        link = f'<a class="headerlink" href="#{anchor(node["tag"])}" title="Link to this equation">#</a>'
        self.body.append(f'<span class="eqno">({node["tag"]}){link}</span>')
    self.body.append(mathml(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    app.add_transform(Numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
