"""Diagrams: what they show is what they were given, and their text alternative says it."""

import xml.etree.ElementTree as ET

import pytest

from mha import diagrams

SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture):
    """The picture's elements, its texts and its text alternative."""
    root = ET.fromstring(picture)
    return root, [t.text for t in root.iter(f"{SVG}text")], root.find(f"{SVG}title").text


def boxes(root):
    return [[float(r.get(name)) for name in ("x", "y", "width", "height")] for r in root.iter(f"{SVG}rect")]


STACKS = [("source", [("a", "1", "#0072b2"), ("b", "2", None)]), ("answer", [("c", "3", None)] * 3)]


def test_blocks_stand_on_each_other_and_the_first_is_lowest():
    root, texts, alt = drawn(diagrams.blocks(STACKS, title="two"))
    a, b, *answer = boxes(root)
    assert a[0] == b[0] < answer[0][0] and a[1] > b[1] + b[3]
    assert {"source", "answer", "a", "1", "b", "2", "c", "3"} <= set(texts)
    assert "source: a (1), then b (2)" in alt


def test_an_arrow_across_leads_from_a_stacks_top_to_a_block():
    root, _, alt = drawn(diagrams.blocks(STACKS, title="two", across=[(0, 1, 1)]))
    line = [p for p in root.iter(f"{SVG}polyline") if len(p.get("points").split()) == 4]
    assert len(line) == 1
    start, *_, end = ([float(n) for n in point.split(",")] for point in line[0].get("points").split())
    _, top, _, target, _ = boxes(root)
    assert start == pytest.approx([top[0] + top[2], top[1] + top[3] / 2], abs=0.6)
    assert end == pytest.approx([target[0], target[1] + target[3] / 2], abs=0.6)
    assert "from the top of source an arrow leads to c" in alt


@pytest.mark.parametrize(("h", "kv"), [(8, 8), (8, 2), (6, 3), (12, 1)])
def test_shared_heads_take_the_colour_of_the_head_that_serves_them(h, kv):
    root, _, alt = drawn(diagrams.shared_heads(h, kv, title="t"))
    fills = {}
    for square in root.iter(f"{SVG}rect"):
        fills.setdefault(square.get("y"), []).append(square.get("fill"))
    queries, keys = fills.values()
    assert len(queries) == h and len(keys) == kv
    assert queries == [keys[i * kv // h] for i in range(h)]
    assert f"1 serves query heads 1 to {h // kv}" in alt or (h == kv and "1 serves query head 1;" in alt)


@pytest.mark.parametrize("cached", [True, False])
def test_a_step_shows_what_is_kept_and_what_is_new(cached):
    tokens, weights = ["the", "cat", "sat", "down"], [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    root, texts, alt = drawn(diagrams.decoding_step(tokens, 3, weights, cached=cached, title="t"))
    assert texts.count("kept") == (2 if cached else 0) and texts.count("new") == (2 if cached else 6)
    assert [t for t in texts if "." in t] == ["0.20", "0.10", "0.30", "0.10", "0.50", "0.80"]
    assert "down" not in texts and "sat" in texts
    assert sum(r.get("stroke-dasharray") is not None for r in root.iter(f"{SVG}rect")) == (6 if cached else 4)
    assert "weights of head 2: 0.10 0.10 0.80" in alt and ("kept" in alt) == cached
