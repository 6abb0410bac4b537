"""Search leads to the section that answers, also where a question is asked in a reader's words."""

import pytest

ASKED = {
    "why divide by square root": ("book/01_single_head.html#why-divide-by-d-k", 1),
    "why do we divide by the square root of d_k?": ("book/01_single_head.html#why-divide-by-d-k", 1),
    "do I need W_O": ("book/12_exam_traps.html#trap-3-w-o-is-not-optional", 3),
    "what does W_O do": ("book/05_concat_and_output.html#what-w-o-does-measured", 5),
    "mask polarity": ("book/10_masks.html#one-mask-five-libraries", 3),
    "kv cache": ("book/glossary.html#kv-cache", 1),
    "does h have to divide d_model": ("book/12_exam_traps.html#trap-4-h-must-divide-d-model", 1),
    "what is softmax": ("book/glossary.html#softmax", 1),
    "fully masked row of NaN": ("book/10_masks.html#a-row-that-may-see-nothing", 4),
    "variances": ("book/glossary.html#variance", 1),
}


@pytest.mark.parametrize("question", ASKED)
def test_search_leads_to_the_section(open_page, question):
    goal, among = ASKED[question]
    page = open_page("search.html?q=" + question.replace(" ", "+"))
    page.locator("#search-results li a").first.wait_for(timeout=10_000)
    page.wait_for_function("document.querySelector('.search-summary').textContent")
    found = [a.get_attribute("href") for a in page.locator("#search-results li a").all()]
    assert goal in found[:among], found[:6]
    page.goto(page.url.replace("search.html", "x").split("x?")[0] + goal)
    assert page.locator(":target").count() == 1
    assert page.faults == []


def test_search_for_nothing_in_the_book_says_so(open_page):
    page = open_page("search.html?q=xyzzy")
    page.get_by_text("did not match any").wait_for(timeout=10_000)
    assert page.locator("#search-results li").count() == 0


def test_a_summary_says_a_formula_once(open_page):
    page = open_page("search.html?q=why+divide+by+square+root")
    summary = page.locator("#search-results p.context").first
    assert "square root of dk, and not by dk" in summary.text_content(timeout=10_000)
