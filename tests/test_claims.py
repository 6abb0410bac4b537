"""The table of claims names every chapter, and each link of the book leads to a page and a heading that exist."""

import re
from functools import cache

import pytest
import yaml
from chapters import BOOK, NOTEBOOKS, markdown
from markdown_it.renderer import RendererHTML
from markdown_it.tree import SyntaxTreeNode
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import compute_unique_slug
from myst_parser.parsers.mdit import create_md_parser

PAGES = [*NOTEBOOKS, *sorted(BOOK.glob("*.md"))]
CONFIG = yaml.safe_load((BOOK.parent / "_config.yml").read_text(encoding="utf-8"))
DEEPEST = CONFIG["sphinx"]["config"]["myst_heading_anchors"]
LINK = re.compile(r"\]\(([\w-]+\.(?:ipynb|md))?(?:#([^)\s]*))?\)")
CLAIMS = BOOK / "claims.md"


@cache
def anchors(path):
    """What a link to a page may name: its headings as MyST writes them, and its numbered equations."""
    text, found = markdown(path), []
    tree = SyntaxTreeNode(create_md_parser(MdParserConfig(enable_extensions={"dollarmath"}), RendererHTML).parse(text))
    for node in tree.walk():
        if node.type == "heading" and int(node.tag[1]) <= DEEPEST:
            found.append(compute_unique_slug(node, found))
    return {*found, *(f"eq-{tag.replace('.', '-')}" for tag in re.findall(r"\\tag\{([\d.]+)\}", text))}


def broken(path, text):
    """The links of a page that lead nowhere."""
    for name, place in LINK.findall(text):
        target = BOOK / name if name else path
        if not target.exists():
            yield f"{name}: no such page"
        elif place and place not in anchors(target):
            yield f"{name}#{place}: there is {', '.join(sorted(anchors(target)))}"


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_links_lead_to_a_page_and_a_heading(path):
    assert not list(broken(path, markdown(path)))


@pytest.mark.parametrize(
    "text",
    [
        "[a](15_none.ipynb)",
        "[a](06_cost.ipynb#what-does-not-grow)",
        "[a](#claims-of-others)",
        "[a](06_cost.ipynb#eq-9-9)",
    ],
)
def test_a_broken_link_is_seen(text):
    assert len(list(broken(CLAIMS, text))) == 1


def rows():
    """[(claim, links, how)] of the claims' tables."""
    cells = [line.strip("|").split("|") for line in markdown(CLAIMS).splitlines() if line.startswith("| ")]
    return [(claim.strip(), LINK.findall(where), where.rpartition("): ")[2]) for claim, where in cells[1:]]


def test_each_claim_names_the_place_that_settles_it():
    settled = [(claim, links, how) for claim, links, how in rows() if claim != "claim"]
    assert len(settled) > 30
    for claim, links, how in settled:
        assert claim.endswith(".") and how.strip() and links and all(name and place for name, place in links), claim


def test_every_chapter_settles_a_claim():
    settled = {name for _, links, _ in rows() for name, _ in links}
    chapters = {path.name for path in NOTEBOOKS if re.match(r"\d\d_", path.name)}
    assert chapters <= settled, f"{CLAIMS.name} says nothing of {chapters - settled}"
