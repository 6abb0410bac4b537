"""Every page of the built site: local, whole, readable."""

import re

import pytest
from conftest import PAGES, SITE

THEMES = ("light", "dark")
CHAPTERS = [path for path in PAGES if path.startswith("book/")]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", PAGES)
def test_page_is_local_and_clean_on_a_laptop_and_a_phone(open_page, path, theme):
    for width in (1280, 390):
        page = open_page(path, color_scheme=theme, viewport={"width": width, "height": 844})
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(150)
        assert page.faults == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("path", CHAPTERS)
def test_page_is_whole_without_scripts(open_page, path):
    page = open_page(path, java_script_enabled=False)
    html = (SITE / path).read_text(encoding="utf-8")
    assert page.locator(".mha-still:has(svg, ol)").count() >= html.count('class="mha-still"')
    assert "application/vnd.jupyter.widget" not in html
    assert not re.search(
        r"\\\(|\\\[|\\frac", re.sub(r"<annotation.*?</annotation>|<script.*?</script>", "", html, flags=re.S)
    )
    for image in page.locator("main img, main svg[role=img]").all():
        text = image.get_attribute("alt") or image.locator("title").first.text_content()
        assert len(text) > 10 and "png" not in text


@pytest.mark.parametrize("path", CHAPTERS)
def test_every_widget_is_drawn(open_page, path):
    page = open_page(path)
    widgets = page.locator(".mha-widget")
    assert page.locator(".mha-live:has(svg, canvas, fieldset)").count() == widgets.count()
    assert page.locator(".mha-still").count() == 0


def test_front_page_leads_to_the_book(open_page):
    page = open_page("index.html")
    page.wait_for_url("**/some/path/book/*.html")
    assert "Multi-Head Attention, Built and Measured" in page.title()


def test_formulas_are_drawn_by_the_browser_itself(open_page):
    page = open_page("book/01_single_head.html")
    box = page.locator("math").first.bounding_box()
    assert box["width"] > 10 and box["height"] > 10


@pytest.mark.parametrize("theme", THEMES)
def test_ink_of_pictures_contrasts_with_the_page(open_page, theme):
    page = open_page("book/01_single_head.html", color_scheme=theme)
    ink, ground = page.evaluate(
        """() => {
          let e = document.querySelector(".mha-live svg"); const ink = getComputedStyle(e).color;
          while (e && /rgba\\(0, 0, 0, 0\\)|transparent/.test(getComputedStyle(e).backgroundColor)) e = e.parentElement;
          return [ink, getComputedStyle(e).backgroundColor];
        }"""
    )
    assert contrast(ink, ground) >= 7


def contrast(a, b):
    """WCAG 2.2 contrast of two CSS rgb() colours."""

    def luminance(colour):
        channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_search_finds_a_chapter(open_page):
    page = open_page("search.html?q=softmax")
    page.locator("#search-results a[href*='01_single_head']").first.wait_for(timeout=10_000)
    assert page.faults == []


def test_site_works_from_a_folder(open_page):
    page = open_page("book/01_single_head.html", base=SITE.as_uri() + "/")
    slider = page.get_by_role("slider").first
    before = page.locator(".mha-live").first.inner_text()
    slider.press("ArrowRight")
    assert page.locator(".mha-live").first.inner_text() != before
    assert [f for f in page.faults if "asks another" in f or "script error" in f] == []
