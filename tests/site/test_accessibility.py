"""WCAG 2.2 A and AA on every page: axe with all opened and moved, keyboard, focus, zoom, motion."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import PAGES
from playwright.sync_api import expect
from test_quiz_page import answer, cards

from mha.questions import QUESTIONS

THEMES = ("light", "dark")
WIDTHS = (1280, 390)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
CONTRAST = "color-contrast"
MOST_STOPS = 700  # of the Tab key on a page

# All that unfolds is unfolded, each widget moved by one step, each question answered: with its first option.
OPEN_AND_MOVE = """async () => {
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const changed = (field) => ["input", "change"].forEach((e) => field.dispatchEvent(new Event(e, { bubbles: true })));
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  all(".toggle-button-hidden").forEach((button) => button.click());
  for (const field of all(".mha-widget input[type=range]")) {
    field.value = Number(field.value) < Number(field.max) ? Number(field.value) + 1 : Number(field.value) - 1;
    changed(field);
  }
  for (const field of all(".mha-widget select")) {
    field.selectedIndex = (field.selectedIndex + 1) % field.options.length;
    changed(field);
  }
  for (const set of all(".mha-widget fieldset")) all("input:not(:checked)", set)[0]?.click();
  for (const field of all(".mha-q input[type=text]")) field.value = field.inputMode === "decimal" ? "7" : "(7, 7)";
  for (const button of all(".mha-q > .mha-q-row > button:first-child")) button.click();
  all("details").forEach((part) => { part.open = true; });
  for (let n = 0; n < 4; n++) await painted();
}"""

# One of each kind of text, for contrast is the slow rule: kinds differ in what can change it.
ONE_OF_EACH = """() => {
  const kinds = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const look = (e) => {
    const { backgroundColor, backgroundImage, opacity, filter, position } = getComputedStyle(e);
    return [backgroundColor, backgroundImage, opacity, filter, position === "static" ? "" : position].join();
  };
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.checkVisibility()) continue;
    const { color, fill, fontSize, fontWeight } = getComputedStyle(e), parts = [color, fill, fontSize, fontWeight];
    for (let up = e; up; up = up.parentElement) parts.push(look(up));
    kinds.set(parts.filter((part, i) => part !== parts[i - 1]).join("|"), e);
  }
  return [...kinds.values()].map((e, i) => { e.dataset.kind = i; return i; });
}"""

# Where the Tab key has come, and what is wrong there.
FOCUS = """() => {
  const look = (e) => {
    const s = getComputedStyle(e);
    const line = s.outlineStyle === "none" ? "" : s.outline;
    return [line, s.boxShadow, s.border, s.backgroundColor, s.textDecoration].join();
  };
  const parts = (e) => [e, e.parentElement, ...(e.labels ?? [])].filter(Boolean);
  const before = new Map(), seen = new Set();
  for (const e of document.querySelectorAll("a, button, input, select, summary, [tabindex]")) {
    for (const part of parts(e)) before.set(part, look(part));
  }
  let last;
  window.stop = () => {
    const e = document.activeElement, faults = [], what = e.outerHTML.slice(0, 150);
    if (e === document.body || seen.has(e)) return null;
    seen.add(e);
    if (last && !(last.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) faults.push("out of order");
    last = e;
    const changed = (part) => before.has(part) && before.get(part) !== look(part);
    if (!parts(e).some(changed)) faults.push("no sign of the focus");
    const seenAt = (r, x, y) => {
      const top = document.elementFromPoint(r.left + x * r.width, r.top + y * r.height);
      return top && (e.contains(top) || top.contains(e) || [...(e.labels ?? [])].some((label) => label.contains(top)));
    };
    const places = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.8], [0.1, 0.8], [0.9, 0.2]];
    if (![...e.getClientRects()].some((r) => places.some(([x, y]) => seenAt(r, x, y)))) faults.push("covered");
    return faults.map((fault) => `${fault}: ${what}`);
  };
}"""

MOVING = """() => [...document.querySelectorAll("*")].filter((e) => [null, "::before", "::after"].some((part) => {
  const { transitionDuration, animationDuration, scrollBehavior } = getComputedStyle(e, part);
  const times = `${transitionDuration},${animationDuration}`.split(",").map(parseFloat);
  return Math.max(...times) > 0.01 || scrollBehavior === "smooth";
})).map((e) => e.outerHTML.slice(0, 100))"""


def violations(page, *, rules, context=None):
    """What axe finds, as text."""
    options = {"resultTypes": ["violations"], "preload": False} | rules
    found = Axe().run(page, context=context, options=options).response["violations"]
    nodes = [(v["id"], node) for v in found for node in v["nodes"]]
    return [f"{name}: {node['html'][:160]}\n{node['failureSummary']}" for name, node in nodes]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_with_all_opened_and_moved(open_page, path, theme):
    page = open_page(path, color_scheme=theme, viewport={"width": WIDTHS[0], "height": 844}, reduced_motion="reduce")
    page.evaluate(OPEN_AND_MOVE)
    kinds = page.evaluate(ONE_OF_EACH)
    # What is not colour is the same in the dark.
    for width in WIDTHS if theme == "light" else WIDTHS[:1]:
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(400)  # the theme looks again at what scrolls
        others = {CONTRAST: {"enabled": False}, "target-size": {"enabled": True}}
        found = []
        if theme == "light":
            found = violations(page, rules={"runOnly": {"type": "tag", "values": TAGS}, "rules": others})
        each = {"include": [f"[data-kind='{i}']" for i in kinds]}
        found += violations(page, rules={"runOnly": {"type": "rule", "values": [CONTRAST]}}, context=each)
        assert found == [], width
    assert page.faults == []


def test_axe_finds_nothing_where_questions_are_answered_rightly(open_page):
    for theme in THEMES:
        page = open_page("book/06_cost.html", color_scheme=theme)
        asked = [q for q in QUESTIONS if q.chapter == "06_cost"]
        for card, question in zip(cards(page), asked, strict=True):
            answer(card, question.variants[0])
            card.get_by_role("button", name="Check").click()
        expect(page.locator(".mha-q-right")).to_have_count(len(asked))
        assert violations(page, rules={"runOnly": {"type": "tag", "values": TAGS}}, context=".mha-quiz") == []


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_on_another_exam_and_its_score(open_page, theme):
    page = open_page("book/14_mock_exam.html", color_scheme=theme)
    page.get_by_label("seed").fill("7")
    page.get_by_role("button", name="Draw").click()
    page.get_by_role("button", name="Finish").click()
    expect(page.locator(".mha-q-result")).to_contain_text("0 of 20 right.")
    assert violations(page, rules={"runOnly": {"type": "tag", "values": TAGS}}, context=".mha-quiz") == []


@pytest.mark.parametrize(("path", "width"), [(path, WIDTHS[i % 2]) for i, path in enumerate(PAGES)])
def test_tab_reaches_all_in_order_and_the_focus_is_seen(open_page, path, width):
    page = open_page(path, viewport={"width": width, "height": 844}, reduced_motion="reduce")
    page.evaluate(FOCUS)
    stops, faults = 0, []
    while stops < MOST_STOPS:
        page.keyboard.press("Tab")
        found = page.evaluate("stop()")
        if found is None:
            break
        stops += 1
        faults += found
    assert faults == []
    assert 1 < stops < MOST_STOPS
    assert page.faults == []


def test_what_was_folded_away_scrolls_by_keyboard_when_it_is_unfolded(open_page):
    page = open_page("book/13_coding_traps.html", viewport={"width": 390, "height": 844})
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.wait_for_timeout(500)
    wide = "all => all.filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth).map(e => e.tabIndex)"
    found = page.locator("details pre").evaluate_all(wide)
    assert found and set(found) == {0}


def test_changes_are_announced(open_page):
    """Those of the widgets with sliders: test_widgets.py."""
    page = open_page("book/07_explorer.html")
    explorer = page.locator(".mha-explorer").first
    said = explorer.locator(".mha-e-status").inner_text()
    assert explorer.locator(".mha-e-status").get_attribute("role") == "status"
    explorer.locator(".mha-e-tokens input:not(:checked)").first.press("Space")
    expect(explorer.locator(".mha-e-status")).not_to_have_text(said)
    explorer.get_by_role("slider", name="h", exact=True).press("Home")
    for _ in range(2):
        explorer.get_by_role("slider", name="h", exact=True).press("ArrowRight")
    expect(explorer.get_by_role("alert")).to_contain_text("ValueError")
    card = page.locator(".mha-q").first
    card.get_by_role("button", name="Check").click()
    expect(card.get_by_role("status")).not_to_be_empty()


@pytest.mark.parametrize("path", PAGES)
def test_zoom_loses_nothing(open_page, path):
    """200 %, 400 % and text of double size: all in one column, nothing to the right of the page."""
    page = open_page(path, viewport={"width": 1280, "height": 800})
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.evaluate("document.documentElement.style.fontSize = ''")
    for width, height in ((640, 400), (320, 256)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("h1:visible").count() >= 1


@pytest.mark.parametrize("path", PAGES)
def test_nothing_moves_where_less_motion_is_asked_for(open_page, path):
    page = open_page(path, reduced_motion="reduce")
    assert page.evaluate(MOVING) == []
