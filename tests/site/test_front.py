"""What a visitor sees first, what a link to the site shows, where the buttons lead, and what a dead end says."""

import functools
import re
import struct
import sys
import threading
from html import unescape
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
import yaml
from conftest import PAGES, SITE

ROOT = SITE.parents[1]
sys.path[:0] = [str(ROOT / "book/_ext"), str(ROOT / "tools")]
import publish
import serve

THEMES = ("light", "dark")
SIZES = ((1280, 800), (390, 844))
FIRST = "book/index.html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
THEME_OPTIONS = {"repository_url": CONFIG["repository"]["url"], "repository_branch": CONFIG["repository"]["branch"]}
ADDRESS, REPOSITORY, _ = publish.settings(
    {"html_baseurl": CONFIG["html"]["baseurl"], "html_theme_options": THEME_OPTIONS}
)
SHIFT = """() => new Promise((answer) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => answer(sum), 500);
})"""


def html(path):
    return (SITE / path).read_text(encoding="utf-8")


def tag(path, name):
    """The content of the one meta tag of a page with that name or property."""
    found = re.findall(rf'<meta (?:name|property)="{re.escape(name)}" content="([^"]*)"', html(path))
    assert len(found) <= 1, f"{path} says {name} more than once"
    return unescape(found[0]) if found else None


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=["laptop", "phone"])
def test_first_screen_says_what_it_is_and_where_to_begin_and_is_alive(open_page, size, theme):
    width, height = size
    small = {"is_mobile": True, "has_touch": True} if width < 500 else {}
    page = open_page(FIRST, viewport={"width": width, "height": height}, color_scheme=theme, **small)
    page.locator(".mha-e-heads canvas").nth(3).wait_for()
    wanted = {
        "title": page.locator("article h1"),
        "what it is": page.locator("article h1 + p"),
        "begin": page.locator("article").get_by_role("link", name="Begin with chapter 1"),
        "d_model": page.get_by_role("slider", name="d_model"),
        "h": page.get_by_role("slider", name="h", exact=True),
        "heads": page.locator(".mha-e-heads"),
    }
    for name, element in wanted.items():
        assert element.is_visible(), name
        box = element.bounding_box()
        assert box["width"] > 20 and box["height"] > 8, name
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, name
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, (name, box)
    assert page.locator(".mha-e-heads canvas").count() == 4
    assert page.evaluate(SHIFT) < 0.05
    wanted["h"].press("Home")
    assert page.locator(".mha-e-heads canvas").count() == 1, "it is alive"
    with page.expect_navigation():
        wanted["begin"].click()
    assert page.url.endswith("/book/01_single_head.html")


@pytest.mark.parametrize("path", PAGES)
def test_page_has_a_title_and_a_description_of_its_own(path):
    title = unescape(re.search(r"<title>(.*?)</title>", html(path), re.S)[1]).strip()
    book = CONFIG["title"]
    about = tag(path, "description")
    assert about and 50 <= len(about) <= 160, about
    assert book in title and title.count(book) == 1
    assert path == FIRST or len(title) > len(book) + 3
    if path != "404.html":
        assert tag(path, "og:description") == about and tag(path, "og:title") in title
        assert tag(path, "og:type") == ("website" if path == FIRST else "article")
        assert tag(path, "twitter:card")
    for other in PAGES:
        if other != path:
            assert tag(other, "description") != about
            assert unescape(re.search(r"<title>(.*?)</title>", html(other), re.S)[1]).strip() != title


def test_front_address_says_what_the_first_page_says():
    for name in ("description", "og:title", "og:image", "og:type"):
        assert tag("index.html", name) == tag(FIRST, name)
    assert "<title>" in html("index.html") and 'lang="en"' in html("index.html")


def png_size(path):
    """(width, height) of a PNG file."""
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_icons_and_preview_have_the_sizes_that_are_said(open_page):
    page = open_page(FIRST)
    for size in (32, 180):
        link = page.locator(f"link[rel*=icon][sizes='{size}x{size}']")
        assert png_size(SITE / "book" / link.get_attribute("href")) == (size, size)
    assert page.locator("link[rel=icon][href$='favicon.svg']").count() == 1
    name, *size = publish.PREVIEW
    assert png_size(SITE / name) == tuple(size)
    assert (SITE / name).stat().st_size < 300_000


@pytest.mark.parametrize("path", [path for path in PAGES if path.startswith("book/")])
def test_no_button_is_dead(path):
    """Without a repository there is none; with one, each leads to this page's own source."""
    buttons = re.findall(r'<a href="([^"]*)"[^>]*class="btn btn-sm[^"]*dropdown-item"', html(path))
    outside = [unescape(b) for b in buttons if urlsplit(b).netloc]
    if not REPOSITORY:
        assert outside == [] and "elsewhere-buttons" not in html(path)
        return
    name = path.removesuffix(".html").removeprefix("book/")
    notebook = (ROOT / f"book/{name}.ipynb").is_file()
    source = f"book/{name}.{'ipynb' if notebook else 'md'}"
    hosts = [urlsplit(b).netloc for b in outside]
    assert ("mybinder.org" in hosts) == notebook
    assert any(b.endswith(source) and "/edit/" in b for b in outside) and REPOSITORY.removesuffix("/") in outside
    assert all(b.startswith("https://") and " " not in b for b in outside)


def test_files_that_need_the_site_address():
    assert (SITE / "sitemap.xml").exists() == (SITE / "robots.txt").exists() == bool(ADDRESS)
    for path in PAGES:
        image, canonical = tag(path, "og:image"), re.search(r'rel="canonical" href="([^"]*)"', html(path))
        if path != "404.html":
            assert bool(image) == bool(canonical) == bool(ADDRESS)
            assert not ADDRESS or (image.startswith(ADDRESS) and canonical[1] == ADDRESS + path)
    if ADDRESS:
        listed = re.findall(r"<loc>([^<]*)</loc>", html("sitemap.xml"))
        assert {ADDRESS + path for path in PAGES if path.startswith("book/")} <= set(listed)
    assert (SITE / ".nojekyll").exists()


class Host(serve.Handler):
    """A host of static sites that has this one under a path, and its 404.html for what isn't there."""

    def translate_path(self, path):
        if not path.startswith("/some/path/"):
            return str(SITE / "nothing-is-here")
        return super().translate_path(path.removeprefix("/some/path"))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", ["nothing", "book/nothing.html", "a/b/c/d/e.html?x=1#y"])
def test_dead_end_leads_back_from_any_depth_under_any_path(chromium, path, theme):
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/some/path/"
    page = chromium.new_context(color_scheme=theme, viewport={"width": 390, "height": 844}).new_page()
    try:
        assert page.goto(base + path).status == 404
        assert page.locator("h1").inner_text() == "There is no page here"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        home = page.get_by_role("link", name="To the first page")
        root = ADDRESS or base
        page.wait_for_function(
            "a => a.href.startsWith('http') && !a.getAttribute('href').startsWith('book')", arg=home.element_handle()
        )
        hrefs = page.locator("#ways a").evaluate_all("all => all.map((a) => a.href)")
        assert hrefs == [f"{root}book/index.html", f"{root}search.html"]
        if not ADDRESS:
            home.click()
            page.wait_for_url("**/some/path/book/index.html")
            assert CONFIG["title"] in page.title()
    finally:
        page.context.close()
        server.shutdown()
