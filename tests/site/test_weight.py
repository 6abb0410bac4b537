"""What a page weighs, what it waits for, and that nothing on it jumps. benchmarks/lighthouse.py measures the rest."""

import gzip
import re
from functools import cache

import pytest
from conftest import PAGES, SITE

TEXT_BYTES = 45_000  # of a page's HTML, gzipped
SHARED_BYTES = 190_000  # what every page loads besides: styles, scripts, fonts; the browser keeps it
WIDGET_BYTES = 150_000  # of a page's widget states
SHIFT = 0.05
WATCH = """window.shifts = []; new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifts.push(value);
}).observe({ type: "layout-shift", buffered: true });"""


@cache
def packed(path):
    data = path.read_bytes()
    return len(data) if path.suffix in (".woff2", ".png") else len(gzip.compress(data))


def text(path):
    return (SITE / path).read_text(encoding="utf-8")


def states(path):
    return (SITE / path).with_suffix(".widgets.js")


@pytest.mark.parametrize("path", PAGES)
def test_bytes_of_a_page(path):
    assert packed(SITE / path) <= TEXT_BYTES
    assert not states(path).exists() or packed(states(path)) <= WIDGET_BYTES


@pytest.mark.parametrize("path", PAGES)
def test_no_script_keeps_the_text_waiting(path):
    for attributes, body in re.findall(r"<script([^>]*)>(.*?)</script>", text(path), re.S):
        assert len(body) < 2000
        if "src=" in attributes:
            assert re.search(r"\b(defer|async)\b", attributes), attributes


@pytest.mark.parametrize("path", PAGES)
def test_code_of_widgets_is_only_where_widgets_are(path):
    page = text(path)
    widgets = page.count('class="mha-widget')
    assert bool(widgets) == ("widgets.js" in page) == states(path).exists()
    assert ("searchindex.js" in page) == (path == "search.html")
    assert "render({ model" not in page


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", PAGES)
def test_nothing_jumps_while_a_page_loads(chromium, address, path, width):
    """Nor where the widgets' states come late."""
    context = chromium.new_context(viewport={"width": width, "height": 844})
    try:
        context.add_init_script(WATCH)
        loaded = set()
        context.on("response", lambda response: loaded.add(response.url.partition("?")[0]))

        def late(route):
            page.wait_for_timeout(400)
            route.continue_()

        page = context.new_page()
        page.route("**/*.widgets.js", late)
        page.goto(address + path)
        page.wait_for_timeout(1200)
        assert sum(page.evaluate("window.shifts")) < SHIFT
        own = {address + path, address + path.replace(".html", ".widgets.js")}
        shared = sum(packed(SITE / url.removeprefix(address)) for url in loaded - own if "/_images/" not in url)
        assert shared <= SHARED_BYTES
    finally:
        context.close()


def test_widgets_wait_until_they_come_near(open_page):
    page = open_page("book/06_cost.html", draw=False)
    asked = []
    page.on("request", lambda request: request.url.endswith(".js") and asked.append(request.url))
    page.wait_for_timeout(300)
    assert page.locator(".mha-live").count() == 0 and not asked
    page.locator(".mha-widget").first.scroll_into_view_if_needed()
    page.locator(".mha-live").first.wait_for()
    assert [url.rpartition("/")[2] for url in asked] == ["06_cost.widgets.js"]
    assert page.locator(".mha-still").count() > 0
    assert page.faults == []


def test_the_tab_key_finds_a_widget_that_waits(open_page):
    page = open_page("book/06_cost.html", draw=False)
    page.locator(".mha-wake").last.focus()
    page.wait_for_function("document.activeElement.closest('.mha-live')")
    assert page.locator(".mha-widget").last.locator(".mha-live").count() == 1


def test_menus_work_at_the_first_touch(open_page):
    page = open_page("book/04_heads.html", has_touch=True)
    assert page.evaluate("typeof bootstrap") == "undefined"
    menu = page.locator('[data-bs-toggle="dropdown"]').first
    menu.tap()
    page.locator(".dropdown-menu.show").wait_for()
    assert page.faults == []


def test_light_or_dark_is_known_before_the_text(open_page):
    for mode, system, theme in (
        (None, "dark", "dark"),
        (None, "light", "light"),
        ("dark", "light", "dark"),
        ("toString", "light", "light"),
    ):
        page = open_page("book/claims.html", color_scheme=system)
        if mode:
            page.evaluate(f"localStorage.setItem('mode', '{mode}')")
        page.route("**/pydata-sphinx-theme.js*", lambda route: route.fulfill(body=""))
        page.reload()
        assert page.evaluate("document.documentElement.dataset.theme") == theme, (mode, system)


def test_code_has_an_element_for_each_change_of_colour(open_page):
    """No element that looks like plain text in both themes, and no two neighbours of the same class."""
    colours = """() => [...document.querySelectorAll("div.highlight pre")].map((pre) => {
      const ink = getComputedStyle(pre).color;
      const spans = [...pre.querySelectorAll("span[class]")];
      return spans.map((span) => getComputedStyle(span).color === ink);
    })"""
    page = open_page("book/10_masks.html", color_scheme="light")
    light = page.evaluate(colours)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    dark = page.evaluate(colours)
    assert sum(map(len, light)) > 500
    assert not any(plain and also for one, other in zip(light, dark) for plain, also in zip(one, other))
    assert (
        page.evaluate(
            """() => [...document.querySelectorAll("div.highlight pre")].some((pre) => [...pre.children].some(
          (span) => span.nextSibling?.className && span.nextSibling.className === span.className))"""
        )
        is False
    )


PIECES = """() => [...document.querySelectorAll("*")].filter((e) => {
  const { contentVisibility } = getComputedStyle(e);
  return contentVisibility !== "visible";
}).length"""


def test_a_long_page_is_laid_out_in_pieces_and_nothing_of_that_is_left(open_page):
    page = open_page("book/11_in_transformers.html", draw=False)
    page.wait_for_function("'laidOut' in document.documentElement.dataset")
    assert page.evaluate(PIECES) == 0
    height = page.evaluate("document.documentElement.scrollHeight")
    page.evaluate("document.documentElement.classList.remove('mha-pieces')")
    assert page.evaluate("document.documentElement.scrollHeight") == height
    assert page.faults == []


@pytest.mark.parametrize("way", ["click", "print", "address", "back"])
def test_a_place_further_down_is_found_at_once(chromium, address, way):
    """Where a reader goes to a heading, or prints, before all is laid out."""
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    try:
        page = context.new_page()
        # Frames come late, so that the pieces still wait.
        page.add_init_script("globalThis.requestAnimationFrame = () => 0")
        url = address + "book/11_in_transformers.html"
        page.goto(url)
        assert page.evaluate(PIECES) > 50
        last = page.evaluate("[...document.querySelectorAll('article section[id]')].at(-1).id")
        if way == "click":
            page.evaluate(f"""document.body.append(Object.assign(document.createElement("a"), {{ href: "#{last}" }}));
              document.body.lastChild.click()""")
        elif way == "print":
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
        elif way == "address":
            page.goto("about:blank")
            page.goto(f"{url}#{last}")
        else:
            page.reload()
        assert page.evaluate(PIECES) == 0
        if way in ("click", "address"):
            page.wait_for_timeout(300)
            top = page.evaluate(f"document.getElementById({last!r}).getBoundingClientRect().top")
            bottom = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
            assert -5 < top < 120 or (bottom and top > 0)
    finally:
        context.close()
