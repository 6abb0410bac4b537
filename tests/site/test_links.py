"""Every link of the built site: none is dead, no page is lost, and those that lead out are well formed."""

import re
import sys
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from conftest import SITE

ROOT = SITE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import links

TRACKING = re.compile(r"utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|igshid|ref(_src)?|si")
LOCAL = re.compile(r"localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|\[|.*\.(local|test|internal)$")


@pytest.fixture(scope="module")
def found():
    pages = links.pages(SITE)
    if not pages:
        pytest.fail("the site is not built: run `make book` (or `make test`) first")
    return pages


def dead(pages, path, link):
    """What is wrong with a link inside of the site, or None."""
    place, fragment = links.target(path, link)
    if not (SITE / place).is_file():
        return f"{path}: {link} leads to no file"
    if fragment and place in pages and fragment not in pages[place].ids:
        return f"{path}: {link} names no part of {place}"
    return None


def test_no_link_is_dead(found):
    inside = {(path, link) for path, page in found.items() for link in page.links if not links.external(link)}
    assert len(inside) > 500
    assert [fault for pair in sorted(inside) if (fault := dead(found, *pair))] == []


def test_a_dead_link_is_seen(found):
    assert "no file" in dead(found, "book/index.html", "01_single_heads.html")
    assert "no part" in dead(found, "book/index.html", "01_single_head.html#no-such-part")
    assert "no part" in dead(found, "book/index.html", "#no-such-part")
    assert dead(found, "book/index.html", "../search.html") is None


def reached(pages, start, kind):
    """The pages that links of a kind lead to from a page, over any number of steps."""
    seen, left = {start}, [start]
    while left:
        path = left.pop()
        for link in getattr(pages[path], kind):
            place = "" if links.external(link) else links.target(path, link)[0]
            if place in pages and place not in seen:
                seen.add(place)
                left.append(place)
    return seen


def test_every_page_is_reached_from_the_front(found):
    assert reached(found, "index.html", "links") | {"404.html"} == set(found)


def test_the_front_page_itself_leads_to_every_page_of_the_book(found):
    book = {path for path in found if path.startswith("book/")}
    own = {links.target("book/index.html", link)[0] for link in found["book/index.html"].read}
    assert book - own == set()


def test_every_page_is_in_the_table_of_contents(found):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]
    assert len(listed) == len(set(listed))
    assert {f"{name}.html" for name in listed} == {path for path in found if path.startswith("book/")}


def misshapen(address):
    """What is wrong with the form of an address that leads out, or None."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme == "mailto" and "@" in parts.path:
        return None
    if parts.scheme != "https":
        return "not https"
    if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", host) or parts.username or re.search(r"\s", address):
        return "no host, or not a plain one"
    if LOCAL.match(host) or parts.port:
        return "leads to one machine"
    if tracked := [name for name, _ in parse_qsl(parts.query) if TRACKING.fullmatch(name)]:
        return f"tracks by {tracked}"
    return None


def test_links_that_lead_out_are_well_formed(found):
    """`pytest -rP -k lead_out` lists them, and so does `python tools/links.py`."""
    outside = links.outside(found)
    for address, pages in sorted(outside.items()):
        print(address, " ", *sorted(pages))
    assert len(outside) > 10
    assert {address: fault for address in outside if (fault := misshapen(address))} == {}


@pytest.mark.parametrize(
    "address",
    [
        "http://arxiv.org/abs/1706.03762",
        "//arxiv.org/abs/1706.03762",
        "https://arxiv/abs",
        "https://",
        "https://localhost/a",
        "https://127.0.0.1:8000/",
        "https://me:secret@arxiv.org/",
        "https://arxiv.org/abs/1?utm_source=book",
        "https://arxiv.org/a b",
        "javascript:alert(1)",
    ],
)
def test_a_misshapen_address_is_seen(address):
    assert misshapen(address)
