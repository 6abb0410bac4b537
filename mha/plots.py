"""Plots on the Axes they are given, in the book's one style; nothing is returned.

Arrays come in computed: no plot computes attention.
"""

import matplotlib.pyplot as plt

from .pictures import ACCENT, HEAD_COLOURS, head_colour
from .printing import fixed

STYLE = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=HEAD_COLOURS),
}


def axes(width=5.6, height=3.4, *, columns=1):
    """One Axes, or an array of `columns` side by side, in the book's style (inches)."""
    plt.rcParams.update(STYLE)
    return plt.subplots(1, columns, figsize=(width, height))[1]


def draw_weights(ax, weights, tokens, *, keys=None, colour=ACCENT):
    """Draw one head's weights (q_len, kv_len): a row a query, a column a key, numbers in the cells."""
    keys = tokens if keys is None else keys
    shades = plt.matplotlib.colors.LinearSegmentedColormap.from_list("weights", ["white", colour])
    ax.imshow(weights, vmin=0, vmax=1 / 0.7, cmap=shades)  # full weight stays pale enough to read a number on
    ax.set(xlabel="key", ylabel="query")
    ax.set_xticks(range(len(keys)), keys, rotation=50, ha="right")
    ax.set_yticks(range(len(tokens)), tokens)
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            ax.text(j, i, fixed(weight), ha="center", va="center", fontsize=9)


def draw_lines(ax, x, lines, *, xlabel, ylabel, log=""):
    """Draw {label: y} over x with each label at its line's end; log is "", "x", "y" or "xy"."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_xscale("log" if "x" in log else "linear")
    ax.set_yscale("log" if "y" in log else "linear")
    for i, (label, y) in enumerate(lines.items()):
        ax.plot(x, y, marker="osD^vP*X"[i % 8], color=head_colour(i))
        ax.annotate(label, (x[-1], y[-1]), xytext=(8, 0), textcoords="offset points", va="center", color=head_colour(i))
    ax.margins(x=0.04)
