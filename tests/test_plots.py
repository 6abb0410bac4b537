"""Each plot: the data that its artists hold."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from mha import pictures, plots


@pytest.fixture
def ax():
    yield plots.axes()
    plt.close("all")


def test_draw_weights_holds_the_weights_by_query_and_key(ax):
    weights = np.arange(6).reshape(2, 3) / 10
    assert plots.draw_weights(ax, weights, ["a", "b"], keys=["c", "d", "e"]) is None
    np.testing.assert_array_equal(ax.images[0].get_array(), weights)
    assert [t.get_text() for t in ax.texts] == ["0.00", "0.10", "0.20", "0.30", "0.40", "0.50"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key", "query")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["c", "d", "e"]


def test_draw_lines_labels_each_line_at_its_end(ax):
    assert (
        plots.draw_lines(ax, [1, 2, 4], {"one": [1, 2, 3], "two": [3, 2, 1]}, xlabel="x", ylabel="y", log="x") is None
    )
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], [[1, 2, 3], [3, 2, 1]])
    assert [(t.get_text(), tuple(t.xy)) for t in ax.texts] == [("one", (4, 3)), ("two", (4, 1))]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert [line.get_color() for line in ax.lines] == list(pictures.HEAD_COLOURS[:2])
    assert ax.lines[0].get_marker() != ax.lines[1].get_marker()


def test_axes_side_by_side():
    assert plots.axes(columns=2).shape == (2,)
    plt.close("all")
