"""Each widget of each page, moved by keyboard: what is seen is what mha computes."""

import html
import itertools
import re

import pytest
from chapters import WIDGET_NAMES, WIDGETS, widgets

from mha import pictures


def words(picture):
    """The visible text of a picture, its titles left out."""
    picture = re.sub(r"<title>.*?</title>", "", picture, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", picture)).split())


def expected(render, values):
    try:
        return words(render(**values))
    except ValueError as error:
        return words(pictures.error(error))


def seen(widget):
    """The visible text of the one picture that a widget shows."""
    picture = widget.evaluate(
        """w => { const c = w.querySelector(".mha-live").cloneNode(true);
                  c.querySelectorAll(".mha-control, title").forEach(e => e.remove()); return c.innerHTML; }"""
    )
    return words(picture)


def label(value):
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def control(widget, name):
    """(its role, the element that takes keys): a slider or a group of radio buttons with that name."""
    slider = widget.get_by_role("slider", name=name, exact=True)
    if slider.count():
        return "slider", slider
    return "radio", widget.get_by_role("group", name=name, exact=True).get_by_role("radio", checked=True)


@pytest.mark.parametrize(("path", "k"), WIDGETS, ids=WIDGET_NAMES)
def test_widget_by_keyboard_shows_what_mha_computes(open_page, path, k):
    controls, render, options = widgets(path)[k]
    start = {name: (options.get("start") or {}).get(name, values[0]) for name, values in controls.items()}
    names = options.get("labels") or {}
    page = open_page(f"book/{path.stem}.html")
    widget = page.locator(".mha-widget:not(.mha-any)").nth(k)
    assert seen(widget) == expected(render, start)
    state = dict(start)
    for name, values in controls.items():
        # To the first value, then through all of them, one key press each.
        steps = [("ArrowLeft", i) for i in reversed(range(values.index(state[name])))]
        steps += [("ArrowRight", i) for i in range(1, len(values))]
        for key, i in steps:
            role, element = control(widget, names.get(name, name))
            element.press(key)
            state[name] = values[i]
            assert seen(widget) == expected(render, state), (name, values[i])
            if role == "slider":
                assert element.get_attribute("aria-valuetext") == label(values[i])
            else:
                now = control(widget, names.get(name, name))[1]
                assert now.locator("xpath=..").inner_text().strip() == label(values[i])
    assert page.faults == []


@pytest.mark.parametrize(("path", "k"), WIDGETS, ids=WIDGET_NAMES)
def test_changes_are_announced(open_page, path, k):
    page = open_page(f"book/{path.stem}.html")
    widget = page.locator(".mha-widget:not(.mha-any)").nth(k)
    element = widget.locator("input").first
    element.press("Home")  # a slider may start at its end
    element.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # the second of several may have been the chosen one
    widget.locator("p[role=status]:not(:empty)").wait_for(state="attached", timeout=5000)


def test_no_two_controls_share_an_id_or_a_group(open_page):
    for path in dict.fromkeys(path for path, _ in WIDGETS):
        page = open_page(f"book/{path.stem}.html")
        ids = page.locator("[id^=mha-control]").evaluate_all("all => all.map(e => e.id)")
        assert len(ids) == len(set(ids))
        groups = page.locator("fieldset:has(input[type=radio])").evaluate_all(
            "all => all.map(f => f.querySelector('input[type=radio]').name)"
        )
        assert len(groups) == len(set(groups))
        assert not set(itertools.chain(ids)) & set(groups)
