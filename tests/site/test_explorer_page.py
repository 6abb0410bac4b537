"""The Explorer on the built site, by mouse, keyboard, touch and address: its numbers are mha's."""

import re

import pytest
from playwright.sync_api import expect

import mha
from mha import cost, examples
from mha.printing import fixed

PAGE = "book/07_explorer.html"
START = "#h=4"  # the chapter's first Explorer starts with one head
DOG = examples.SENTENCES[0]


def trace(sentence=DOG, d_model=32, h=4, causal=False):
    words = examples.tokens(sentence)
    mask = mha.causal_mask(len(words)) if causal else None
    return words, examples.layer(d_model, h).trace(examples.embed(words, d_model), mask=mask)


def table(root, panel=0):
    """The numbers of a head's table, as text."""
    if not root.locator("details").nth(panel).evaluate("e => e.open"):
        root.locator("summary").nth(panel).click()
    cells = root.locator(".mha-e-panel table").nth(panel)
    expect(cells.locator("td").last).not_to_be_empty()
    rows = cells.locator("tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


def texts(weights):
    return [[fixed(w) for w in row] for row in weights]


def slider(root, name):
    return root.get_by_role("slider", name=name, exact=True)


def move(root, name, label):
    """A slider to the value with that label, by keyboard."""
    element = slider(root, name)
    element.press("Home")
    for _ in range(20):
        if element.get_attribute("aria-valuetext") == label:
            return
        element.press("ArrowRight")
    raise AssertionError(f"{name} has no value {label}")


@pytest.fixture
def open_explorer(open_page):
    def open_(path=PAGE + START, **options):
        page = open_page(path, **options)
        root = page.locator(".mha-explorer").first
        root.wait_for()
        return page, root

    return open_


def test_every_d_model_and_h_by_keyboard(open_explorer):
    page, root = open_explorer()
    for d_model in (16, 32, 48):
        move(root, "d_model", str(d_model))
        for h in (1, 2, 3, 4, 6, 8):
            move(root, "h", str(h))
            if d_model % h:
                with pytest.raises(ValueError) as error:
                    trace(d_model=d_model, h=h)
                assert str(error.value) in root.get_by_role("alert").inner_text()
                continue
            assert root.locator(".mha-e-error").inner_text() == ""
            assert table(root) == texts(trace(d_model=d_model, h=h)[1].weights[0])
            assert root.locator(".mha-e-heads canvas").count() == h
            counts = root.locator(".mha-e-counts dd").all_inner_texts()
            assert counts[0].startswith(f"{cost.parameters(d_model, h):,}")
            assert counts[1].startswith(f"{cost.multiply_adds(10, 10, d_model, h):,}")
    assert page.faults == []


def test_nearest_h_are_offered_and_work(open_explorer):
    _page, root = open_explorer()
    move(root, "h", "3")
    assert root.locator(".mha-e-error button").all_inner_texts() == ["h = 2", "h = 4"]
    assert "2 left over" in root.locator(".mha-e-blocks").inner_text()
    root.get_by_role("button", name="h = 2").click()
    assert slider(root, "h").get_attribute("aria-valuetext") == "2"
    assert slider(root, "h").evaluate("e => e === document.activeElement")
    assert table(root) == texts(trace(h=2)[1].weights[0])


def test_sentence_causal_and_head(open_explorer):
    _page, root = open_explorer()
    root.get_by_label("sentence").select_option(examples.SENTENCES[3])
    root.get_by_label("causal").check()
    root.locator(".mha-e-heads label").nth(2).click()
    words, t = trace(examples.SENTENCES[3], causal=True)
    assert table(root) == texts(t.weights[2])
    assert root.locator(".mha-e-panel tbody th").all_inner_texts() == words
    assert "Head 3 of 4" in root.locator("caption").inner_text()


def test_token_by_mouse_keyboard_and_escape(open_explorer):
    page, root = open_explorer()
    words, t = trace()
    root.locator(".mha-e-tokens label", has_text="ball").click()
    weights = t.weights[0][words.index("ball")]
    said = root.locator(".mha-e-status").inner_text()
    assert said == f"Head 1 of 4, d_k = 8: “ball” looks most at “{words[weights.argmax()]}”, {fixed(weights.max())}."
    ends = [f"{word} {fixed(w)}" for word, w in zip(words, weights)]
    expect(root.locator(".mha-e-lines div").last.locator("span")).to_have_text(["key ↓", *ends])
    root.locator(".mha-e-tokens input").nth(4).press("ArrowRight")
    assert "“because” looks most at" in root.locator(".mha-e-status").inner_text()
    table(root)
    assert root.locator("td.mha-e-faded").count() == 90
    page.mouse.move(0, 0)
    root.locator(".mha-e-tokens input").nth(5).press("Escape")
    assert root.locator("td.mha-e-faded").count() == 0
    assert root.locator(".mha-e-tokens input:checked").count() == 0


def test_hover_shows_a_row_and_leaves_no_trace(open_explorer):
    page, root = open_explorer()
    table(root)
    root.locator(".mha-e-tokens input").first.press("Escape")
    page.mouse.move(0, 0)  # what scrolled under it counts as hovered
    faded = root.locator("td.mha-e-faded")
    expect(faded).to_have_count(0)
    root.locator(".mha-e-large canvas").hover(position={"x": 40, "y": 24 * 3 + 5})
    expect(faded).to_have_count(90)
    expect(root.locator("tr").nth(4).locator("td.mha-e-faded")).to_have_count(0)
    page.mouse.move(0, 0)
    expect(faded).to_have_count(0)


def test_key_to_query(open_explorer):
    _page, root = open_explorer()
    words, t = trace()
    root.get_by_label("key → query").check()
    root.locator(".mha-e-tokens label", has_text="dog").click()
    column = t.weights[0][:, words.index("dog")]
    said = root.locator(".mha-e-status").inner_text()
    assert f"“dog” is looked at most by “{words[column.argmax()]}”, {fixed(column.max())}." in said


def test_two_heads_compared(open_explorer):
    _page, root = open_explorer()
    root.get_by_label("compare with").select_option("Head 4 of 4")
    _, t = trace()
    assert (table(root, 0), table(root, 1)) == (texts(t.weights[0]), texts(t.weights[3]))
    assert root.locator(".mha-e-status").inner_text().count("looks most at") == 2


def test_address_brings_the_state_back(open_explorer):
    page, root = open_explorer()
    move(root, "d_model", "48")
    move(root, "h", "6")
    root.locator(".mha-e-heads label").nth(4).click()
    root.locator(".mha-e-tokens label", has_text="fast").click()
    page.wait_for_function("location.hash.includes('token=9')")
    link = page.url
    assert {"d_model=48", "h=6", "head=5", "token=9"} <= set(re.split("[#&]", link))
    _again, other = open_explorer(PAGE + link[link.index("#") :])
    assert table(other) == table(root) == texts(trace(d_model=48, h=6)[1].weights[4])
    assert other.locator(".mha-e-status").inner_text() == root.locator(".mha-e-status").inner_text()


@pytest.mark.parametrize(
    "hostile",
    [
        "#h=7&d_model=1e9&head=-1&token=999&with=0",
        "#sentence=<img src=x onerror=alert(1)>&h=__proto__&read=%00",
        "#h=1&h=8&head=1e1&token=%3Cscript%3E",
        "#" + "x" * 5000 + "=1&h=3.0",
        "#%E0%A4%A&h",
    ],
)
def test_unknown_and_hostile_addresses_fall_back(open_explorer, hostile):
    page, root = open_explorer(PAGE + hostile)
    assert table(root) == texts(trace(h=1)[1].weights[0])
    assert page.faults == []


def test_explorers_of_a_page_keep_apart(open_explorer):
    page, root = open_explorer()
    both = page.locator(".mha-explorer")
    assert both.count() >= 2
    second = both.nth(1)
    before = second.inner_text()
    move(root, "h", "8")
    page.wait_for_function("location.hash.includes('h=8')")
    assert second.inner_text() == before
    again, _ = open_explorer(PAGE + page.url[page.url.index("#") :])
    assert again.locator(".mha-explorer").nth(1).inner_text() == before
    assert again.locator(".mha-explorer").first.locator(".mha-e-heads canvas").count() == 8


def test_link_is_copied(open_explorer):
    page, root = open_explorer(permissions=["clipboard-read", "clipboard-write"])
    move(root, "h", "2")
    root.get_by_role("button", name="Copy link").click()
    root.locator(".mha-e-status", has_text="copied").wait_for()
    assert "h=2" in page.evaluate("navigator.clipboard.readText()")


def test_phone_by_touch(open_explorer):
    page, root = open_explorer(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    words, t = trace()
    root.locator(".mha-e-heads label").nth(1).tap()
    root.locator(".mha-e-tokens label", has_text="chased").tap()
    weights = t.weights[1][2]
    assert f"“chased” looks most at “{words[weights.argmax()]}”" in root.locator(".mha-e-status").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = root.locator("input, select, button").evaluate_all(
        "all => all.map(e => (e.closest('label') ?? e).getBoundingClientRect()).map(r => Math.min(r.width, r.height))"
    )
    assert min(sizes) >= 18


def test_controls_have_names_and_values(open_explorer):
    _page, root = open_explorer()
    for name in ("d_model", "h"):
        assert slider(root, name).get_attribute("aria-valuetext") in {"16", "32", "48", "4"}
    unnamed = root.locator("input, select, button").evaluate_all(
        "all => all.filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert root.get_by_role("group").count() >= 3
    assert root.locator("th[scope=col]").count() and root.locator("th[scope=row]").count()


def test_no_motion_where_it_is_not_wanted(open_explorer):
    _page, root = open_explorer(reduced_motion="reduce")
    assert set(
        root.locator("td, label").evaluate_all("all => all.map(e => getComputedStyle(e).transitionDuration)")
    ) == {"0s"}


def test_nothing_below_jumps_when_the_state_is_impossible(open_explorer):
    _page, root = open_explorer(viewport={"width": 1280, "height": 900})
    body = root.locator(".mha-e-body")
    before = body.bounding_box()["height"]
    move(root, "h", "3")
    assert body.bounding_box()["height"] >= before - 1


def test_own_sentence_needs_a_kernel_and_is_absent_here(open_explorer):
    _, root = open_explorer()
    assert root.locator("form").count() == 0
