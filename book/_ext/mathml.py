"""Formulas become MathML when the book is built, so that no page waits for a formula script.

Temml (one vendored JavaScript file) runs inside Python. A formula that it can't read is a build warning.
"""

import html
import json
from functools import cache
from pathlib import Path

import quickjs
from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

TEMML = Path(__file__).parents[1] / "assets/offline/temml.min.js"
logger = logging.getLogger(__name__)


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
    tex = node.astext()
    try:
        return json.loads(converter()(tex, display))
    except quickjs.JSException as problem:
        logger.warning("formula %r: %s", tex, str(problem).split("\n")[0], location=node)
        return f"<code>{html.escape(tex)}</code>"


def visit_inline(self, node):
    self.body.append(mathml(node, display=False))
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math", tabindex="0"))  # wide formulas scroll by keyboard
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(mathml(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": False}
