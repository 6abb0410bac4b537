"""The links of the built site: python tools/links.py [_build/html] lists those that lead out of it, and from where."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

ADDRESSES = {"href", "src", "action", "poster", "data"}


class Page(HTMLParser):
    """What a page links to, and the ids that a link to it may name."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.read, self.ids, self.refresh = [], [], [], None
        self.part = 0  # depth inside of <main>: the page's own text, without the lists of pages around it
        self.feed(re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "main":
            self.part = 1
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.append(value)
            if name in ADDRESSES and value is not None:
                self.links.append(value)
                if self.part and tag == "a":
                    self.read.append(value)
        if tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self.refresh = given["content"].split("url=")[1]
            self.links.append(self.refresh)

    def handle_endtag(self, tag):
        if tag == "main":
            self.part = 0


def external(address):
    """True if an address leads out of the site."""
    return bool(urlsplit(address).scheme or address.startswith("//"))


def pages(site):
    """{path in the site: Page} of all pages."""
    site = Path(site)
    found = sorted(p for p in site.rglob("*.html") if "_static" not in p.relative_to(site).parts)
    return {p.relative_to(site).as_posix(): Page(p.read_text(encoding="utf-8")) for p in found}


def target(path, link):
    """(path in the site, fragment) that a page's link leads to."""
    parts = urlsplit(urljoin(f"http://site/{path}", link))
    place = unquote(parts.path).removeprefix("/")
    return place + "index.html" if not place or place.endswith("/") else place, unquote(parts.fragment)


def outside(found):
    """{external address: pages that name it}."""
    named = {}
    for path, page in found.items():
        for link in page.links:
            if external(link):
                named.setdefault(link, set()).add(path)
    return named


def main(site="_build/html"):
    for address, where in sorted(outside(pages(site)).items()):
        print(address, " ", *sorted(where))


if __name__ == "__main__":
    main(*sys.argv[1:])
