"""Equations, terms, heads' colours and the way on, as the site shows them."""

import re

import pytest
from conftest import PAGES, SITE
from test_pages import contrast

import mha.pictures

CHAPTERS = [path for path in PAGES if re.match(r"book/\d\d_", path)]


@pytest.mark.parametrize("path", CHAPTERS)
def test_a_page_shows_its_equations_numbers_and_reaches_those_it_names(open_page, path):
    page = open_page(path)
    for place in page.locator("div.math[id^='eq-']").all():
        number = place.get_attribute("id").removeprefix("eq-").replace("-", ".")
        assert place.locator(".eqno").text_content().startswith(f"({number})")
    for link in page.locator("article a[href*='#eq-']:not(.headerlink)").all():
        file, _, place = link.get_attribute("href").partition("#")
        html = (SITE / "book" / file if file else SITE / path).read_text(encoding="utf-8")
        assert f'id="{place}"' in html
        assert re.search(r"[\d.]+$", link.text_content())[0] == place.removeprefix("eq-").replace("-", ".")


def test_a_wide_equation_begins_at_its_beginning_on_a_phone(open_page):
    page = open_page("book/05_concat_and_output.html", viewport={"width": 390, "height": 844})
    frame, formula = (page.locator(at).bounding_box() for at in ("#eq-5-1", "#eq-5-1 > math"))
    assert formula["width"] > frame["width"] and formula["x"] >= frame["x"]


@pytest.mark.parametrize("path", CHAPTERS)
def test_terms_link_once_to_the_glossary(open_page, path):
    page = open_page(path)
    links = page.locator("article a.term")
    hrefs = [link.get_attribute("href") for link in links.all()]
    assert len(hrefs) == len(set(hrefs)) and (len(hrefs) > 5 or "14_" in path)
    glossary = (SITE / "book/glossary.html").read_text(encoding="utf-8")
    for link, href in zip(links.all(), hrefs):
        assert f'id="{href.removeprefix("glossary.html#")}"' in glossary
        assert len(link.get_attribute("title")) > 15
    assert page.locator("h1 a.term, h2 a.term, h3 a.term, pre a.term, a a.term, aside a.term").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_heads_have_one_colour_in_text_formulas_and_pictures(open_page, theme):
    page = open_page("book/05_concat_and_output.html", color_scheme=theme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for i in (1, 2):
        swatch = page.evaluate(f"getComputedStyle(document.querySelector('span.head-{i}'), '::before').backgroundColor")
        assert swatch == "rgb({}, {}, {})".format(*bytes.fromhex(mha.pictures.HEAD_COLOURS[i - 1][1:]))
        ink = page.evaluate(f"getComputedStyle(document.querySelector('math [style*=\"--head-{i}-ink\"]')).color")
        assert contrast(ink, ground) >= 4.5 and ink != page.evaluate("getComputedStyle(document.body).color")


def test_previous_and_next_say_what_comes(open_page):
    page = open_page("book/04_heads.html")
    assert page.locator(".left-prev .prev-next-says").text_content().endswith("why must h divide d_model?")
    assert "without W_O" in page.locator(".right-next .prev-next-says").text_content()
    for path in CHAPTERS:
        assert (SITE / path).read_text(encoding="utf-8").count('class="prev-next-says"') >= 1
