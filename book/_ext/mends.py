"""Faults of the libraries that build the site, each mended with what it says and why."""

import re
from pathlib import Path

from myst_nb.core import render
from sphinx.util import logging

logger = logging.getLogger(__name__)


def whole_streams(outputs):
    """A cell's printed text in one piece for each stream.

    myst-nb's own function ends each message of the kernel with a line break, so a line that
    arrives in two messages is shown as two.
    """
    streams, kept = {}, []
    for output in outputs or []:
        name = output.get("name")
        if output["output_type"] == "stream" and name in streams:
            streams[name]["text"] += output["text"]
            continue
        if output["output_type"] == "stream":
            streams[name] = output
        kept.append(output)
    return kept


def mark_no_pictures(app, exception):
    """Words that were searched for are marked in text, not in pictures and formulas.

    Sphinx's script stops with an error where one stands in the title of an SVG picture, and marks no more.
    """
    script = Path(app.outdir) / "_static/sphinx_highlight.js"
    if exception or not script.exists():
        return
    old, new = '"button, select, textarea"', '"button, select, textarea, svg, math"'
    text = script.read_text(encoding="utf-8")
    if old not in text and new not in text:
        logger.warning("%s has changed: mends.py can't keep it out of pictures", script.name)
    script.write_text(text.replace(old, new), encoding="utf-8")


# The theme lets wide code and tables take the focus, so that they scroll by keyboard: tabindex 0 where they are
# wider than their frame, else -1. It measures all of them when the page is loaded and 300 ms after each change: the
# browser must lay out the whole page for that, and what was folded away then has no width and stays out of reach when
# it is unfolded. A ResizeObserver measures each when it is laid out or unfolded, and asks for no layout.
MEASURE = re.compile(r"\(e=>\{e\.tabIndex=e\.scrollWidth>e\.clientWidth.{0,50}?\?0:-1\}\)")
OBSERVE = "(e=>{scrollers.unobserve(e);scrollers.observe(e)})"
SCROLLERS = """const scrollers = new ResizeObserver((all) => {
  for (const { target } of all) {
    const wide = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    target.tabIndex = wide ? 0 : -1;
  }
});
"""


# It also measures where the page stands in the list of chapters, to scroll the list there. That is a task of its own
# now, so that the script and the layout which this asks for don't hold up a reader together.
LIST = re.compile(r"\be(?=\(function\(\)\{if\(!document\.querySelector\(\"\.bd-docs-nav\"\)\)return;)")


def measure_later(app, exception):
    """The theme's script with an observer in place of its measuring."""
    script = Path(app.outdir) / "_static/scripts/pydata-sphinx-theme.js"
    if exception or not script.exists():
        return
    text = script.read_text(encoding="utf-8")
    if SCROLLERS in text:
        return
    for pattern, mended in ((MEASURE, OBSERVE), (LIST, "setTimeout")):
        text, found = pattern.subn(mended, text)
        if found != 1:
            logger.warning("%s has changed: mends.py can't keep it from measuring the whole page", script.name)
            return
    script.write_text(SCROLLERS + text, encoding="utf-8")


# The theme takes the outline from its buttons and from the buttons that unfold, and shows nothing else where the focus
# is; and it moves things also where a reader asks for less motion.
STYLES = """
.bd-header button:focus-visible, .bd-header-article button:focus-visible, .toggle-button:focus-visible {
  outline: 3px solid var(--pst-color-primary) !important; outline-offset: -1px;
}
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after {
    animation-duration: 0s !important; animation-iteration-count: 1 !important; transition-duration: 0s !important;
    scroll-behavior: auto !important;
  }
}
"""


def add_styles(app, pagename, templatename, context, doctree):
    context["metatags"] = f"{context.get('metatags', '')}<style>{STYLES}</style>\n"


def setup(app):
    app.connect("build-finished", mark_no_pictures)
    app.connect("build-finished", measure_later)
    app.connect("html-page-context", add_styles)
    render.coalesce_streams = whole_streams
    return {"parallel_read_safe": True, "parallel_write_safe": True}
