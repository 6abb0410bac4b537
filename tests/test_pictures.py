"""Pictures: the numbers that they show, their text alternatives, colours that all can tell apart."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from mha import pictures

SVG = "{http://www.w3.org/2000/svg}"
# Machado, Oliveira and Fernandes (2009), table 1, severity 1.0, on linear RGB.
VISION = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(colour):
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB (D65) of linear RGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = (np.array(to_xyz) @ np.clip(rgb, 0, 1)) / [0.9505, 1, 1.089]
    f = [np.cbrt(t) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_head_colours_can_be_told_apart(vision):
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in pictures.HEAD_COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 18


@pytest.mark.parametrize("ground", ["#ffffff", "#121212"])
def test_head_colours_contrast_with_both_themes(ground):
    for colour in pictures.HEAD_COLOURS:
        low, high = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (colour, ground))
        assert (high + 0.05) / (low + 0.05) >= 3


@pytest.mark.parametrize(("ground", "ink"), [(1.0, 0.0), (0.00605, 1.0)])
def test_numbers_can_be_read_on_a_full_cell(ground, ink):
    for colour in pictures.HEAD_COLOURS:
        srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        under = 255 * (ground > 0.5) + 18 * (ground <= 0.5)
        mixed = "#" + "".join(f"{round(0.7 * c + 0.3 * under):02x}" for c in srgb)
        low, high = sorted([linear(mixed) @ [0.2126, 0.7152, 0.0722], ink])
        assert (high + 0.05) / (low + 0.05) >= 4.5


def texts(picture):
    return [e.text for e in ET.fromstring(picture).iter(f"{SVG}text")]


def test_heat_map_shows_each_weight_by_row():
    weights = np.arange(6).reshape(2, 3) / 10
    shown = texts(pictures.heat_map(weights, ["a", "b"], ["c", "d", "e"]))
    assert [t for t in shown if re.fullmatch(r"\.\d\d", t)] == [".00", ".10", ".20", ".30", ".40", ".50"]
    assert {"query ↓", "key →", "a", "b", "c", "d", "e"} <= set(shown)


def test_heat_map_says_in_words_where_each_query_looks():
    title = (
        ET.fromstring(pictures.heat_map([[0.1, 0.9], [0, 0]], ["it", "x"], ["cat", "ball"])).find(f"{SVG}title").text
    )
    assert "it looks most at ball, 0.90; x looks at nothing" in title


def test_heat_map_names_all_keys_that_share_the_first_place():
    weights = [[0.4, 0.2, 0.4], [1 / 3, 1 / 3, 1 / 3], [0.5, np.nan, 0]]
    title = ET.fromstring(pictures.heat_map(weights, ["a", "b", "c"], ["d", "e", "f"])).find(f"{SVG}title").text
    assert (
        "a looks at d, f alike, 0.40 each; b looks at all 3 keys alike, 0.33 each; c has weights that are no numbers."
        in title
    )


def test_a_matrix_of_one_head_has_one_band():
    one, two = (
        ET.fromstring(pictures.matrix("W_Q", 8, 8, bands=bands)).find(f"{SVG}title").text for bands in ([8], [4, 4])
    )
    assert one == "W_Q: 8 by 8, one column band of width 8, the head's."
    assert two == "W_Q: 8 by 8, cut into 2 column bands of width 4, one a head."


def test_bars_have_the_lengths_of_their_values():
    root = ET.fromstring(pictures.bars([1, 2, 4], ["a", "b", "c"], title="t"))
    widths = [float(r.get("width")) for r in root.iter(f"{SVG}rect")]
    np.testing.assert_allclose(np.array(widths) / widths[0], [1, 2, 4], rtol=0.01)


def test_negative_bars_end_where_positive_ones_begin():
    left, right = ET.fromstring(pictures.bars([-1, 2], ["a", "b"], title="t")).iter(f"{SVG}rect")
    assert float(left.get("x")) + float(left.get("width")) == pytest.approx(float(right.get("x")), abs=0.11)


def test_matrix_is_drawn_to_scale_and_keeps_its_width_when_it_is_cut():
    for bands, leftover in ([12, 12], 0), ([8, 8, 8], 0), ([5, 5, 5, 5], 4):
        root = ET.fromstring(pictures.matrix("W", 7, 24, bands=bands, leftover=leftover, scale=3.0))
        assert sum(float(r.get("width")) for r in root.iter(f"{SVG}rect")) == pytest.approx(72)
        assert {float(r.get("height")) for r in root.iter(f"{SVG}rect")} == {21}
        assert "7 × 24" in texts(ET.tostring(root, encoding="unicode"))


def test_what_a_reader_typed_is_escaped():
    hostile = "<script>alert(1)</script>"
    for picture in (
        pictures.heat_map([[1.0]], [hostile], title=hostile),
        pictures.bars([1], [hostile], title=hostile),
        pictures.error(hostile),
        pictures.caption(hostile),
    ):
        assert "<script" not in picture
        assert "&lt;script&gt;" in picture


def test_ninth_head_takes_the_first_colour_again():
    assert pictures.head_colour(8) == pictures.head_colour(0)
