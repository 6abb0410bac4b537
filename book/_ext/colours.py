"""Code on the site has an element for each change of its colour, not for each token.

Pygments marks names, brackets and operators one by one, most of them in the colour of plain text: they are more than
half of a chapter's elements, and a phone takes longest over the page's layout.
"""

from functools import cache

from pygments.formatters import HtmlFormatter
from pygments.styles import get_style_by_name
from pygments.token import STANDARD_TYPES, Text

STYLES = "pygments_light_style", "pygments_dark_style"  # the theme's settings


def formatter(*styles):
    """Pygments' formatter, for pages that are shown in each of those styles."""

    def look(kind):
        return [style.style_for_token(kind) for style in styles]

    @cache
    def alike(kind):
        """The first kind of token that looks the same; it is plain text if it can be."""
        while kind not in STANDARD_TYPES:
            kind = kind.parent
        return next(first for first in (Text, *STANDARD_TYPES) if look(first) == look(kind))

    class Formatter(HtmlFormatter):
        def format_unencoded(self, tokensource, outfile):
            super().format_unencoded(((alike(kind), text) for kind, text in tokensource), outfile)

    return Formatter


def few_elements(app):
    if app.builder.format == "html":
        options = app.builder.theme.get_options() | app.config.html_theme_options
        app.builder.highlighter.formatter = formatter(*(get_style_by_name(options[name]) for name in STYLES))


def setup(app):
    app.connect("builder-inited", few_elements)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
