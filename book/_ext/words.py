"""Words of the text that the site marks: terms of the glossary, and heads in their colours.

Sources stay free of both. The first time that a page uses a term, the term links to the glossary: a term is
a heading of glossary.md with a plural s, and FORMS where that finds too much or too little. "head 2"
carries a swatch of head 2's colour, the one that formulas and figures have.
"""

import re
from functools import cache

from docutils import nodes
from sphinx import addnodes

PAGE = "book/glossary"
# Regular expressions without groups. An empty one: the term stands in formulas and code only.
FORMS = {
    "block": "block",
    "d_model": "",
    "grouped heads": "grouped heads|grouped-query attention|grouped-query",
    "head width": "head width|heads?[’'] width|width of (?:a|one) head",
    "KV cache": "KV caches?",
    "loss": "(?<!for a )loss",
    "merge": "merge",
    "NaN": "(?-i:NaNs?)",
    "one-hot": "one-hot",
    "packed matrix": "packed (?:matrix|matrices|projections?)",
    "rank": "rank",
    "scale": "(?<!to )(?<!one )scale",
    "score": "scores?(?! by )",
    "split": "(?<=a )split|(?<=the )split",
    "trace": "",
    "Transformer": "(?-i:Transformers?)",
    "value": "(?<!your )(?<!their )(?<!in its )values?",
    "weights": "(?<!own )weights",
}
NOT_ON = {PAGE, "book/references", "book/teaching", "book/kill_matrix", "book/14_mock_exam"}
HEAD = re.compile(r"\bhead ([1-8])\b(?! of layer)")
UNTOUCHED = (
    nodes.title, nodes.literal, nodes.literal_block, nodes.reference, addnodes.pending_xref, nodes.math,
    nodes.math_block, nodes.raw, nodes.caption, nodes.thead, nodes.citation,
)  # fmt: skip
NO_LINKS = (nodes.sidebar, nodes.footnote)  # a margin note is one thought


@cache
def pattern(terms):
    """One expression for all terms, longest first; the group's number tells the term."""
    ordered = sorted(terms, key=len, reverse=True)
    forms = [FORMS.get(term, re.escape(term) + "s?") for term in ordered]
    return ordered, re.compile("|".join(rf"\b({form})(?![\w-])" if form else "(?!)()" for form in forms), re.I)


def first_uses(text, terms, seen):
    """[(start, end, term)] of the terms that are not in `seen`, which grows."""
    ordered, found = pattern(terms)
    uses = []
    for match in found.finditer(text):
        term = ordered[match.lastindex - 1]
        if term not in seen:
            seen.add(term)
            uses.append((*match.span(), term))
    return uses


def glossary(app):
    """{term: (its place, its first sentence)}."""
    if not hasattr(app, "mha_glossary"):
        sections = list(app.env.get_doctree(PAGE).findall(nodes.section))[1:]
        app.mha_glossary = {s[0].astext(): (s["ids"][0], plain(s[1])) for s in sections}
    return app.mha_glossary


def plain(paragraph):
    """A paragraph's first sentence, formulas as text."""
    words = re.sub(r"\\cdot", "·", paragraph.astext())
    return re.split(r"(?<=\w[.)]) (?=[A-Z])", re.sub(r"[\\{}]", "", words))[0]


def linked(text, entries, seen, address):
    """The nodes of a text, its first uses of terms as links."""
    made, end = [], 0
    for start, stop, term in first_uses(text, tuple(entries), seen):
        place, says = entries[term]
        words = nodes.inline("", text[start:stop])
        made += [*coloured(text[end:start]), nodes.reference("", "", words, refuri=f"{address}#{place}", reftitle=says,
                                                             internal=True, classes=["term"])]  # fmt: skip
        end = stop
    return made + coloured(text[end:])


def coloured(text):
    """The nodes of a text, "head 2" marked with its colour."""
    made, end = [], 0
    for match in HEAD.finditer(text):
        made += [nodes.Text(text[end : match.start()])] * (match.start() > end)
        made.append(nodes.inline("", match[0], classes=["head", f"head-{match[1]}"]))
        end = match.end()
    return made + [nodes.Text(text[end:])] * (end < len(text))


def mark(app, doctree, docname):
    if not docname.startswith("book/") or docname in NOT_ON or PAGE not in app.env.found_docs:
        return
    entries, seen = glossary(app), set()
    address = app.builder.get_relative_uri(docname, PAGE)
    for node in list(doctree.findall(nodes.Text)):
        above = list(ancestors(node))
        if any(isinstance(a, UNTOUCHED) for a in above):
            continue
        no_links = any(isinstance(a, NO_LINKS) or "dropdown" in a.get("classes", []) for a in above)
        new = coloured(str(node)) if no_links else linked(str(node), entries, seen, address)
        if any(not isinstance(n, nodes.Text) for n in new):
            node.parent.replace(node, new)


def ancestors(node):
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app):
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
