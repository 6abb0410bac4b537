"""Pictures as inline SVG: what the widgets show, readable in dark and light, text selectable.

Each function returns a string of HTML. Ink is `currentColor`, so it follows the page; colours
have a contrast of at least 3:1 on both themes' backgrounds and are never the only sign.
Every picture has a text alternative that says what a sighted reader would take from it.
"""

from html import escape
from math import isclose, isnan

from .printing import fixed

# Told apart by colour-blind readers (the smallest difference in CIELAB, simulated, is tested).
HEAD_COLOURS = ("#0072b2", "#d55e00", "#0ea694", "#6d48ff", "#899966", "#da1c35", "#7c5981", "#9b565e")
ACCENT = HEAD_COLOURS[0]
CELL_OPACITY = 0.7  # of a full cell, so that numbers on it keep a contrast of 4.5:1


def head_colour(i):
    """The colour of head i (from 0) all through the book; a ninth head takes the first one's again."""
    return HEAD_COLOURS[i % len(HEAD_COLOURS)]


def svg(width, height, alt, *parts):
    """One picture of parts, `width` units wide at most, with its text alternative."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {round(width)} {round(height)}" '
        f'width="{round(width)}" style="max-width:100%;height:auto" fill="currentColor" '
        f'font-family="sans-serif" font-size="13"><title>{escape(alt)}</title>{"".join(parts)}</svg>'
    )


def element(name, content="", **attributes):
    """One SVG element; a trailing or inner _ in a name stands for -, numbers lose needless digits."""
    given = "".join(f' {k.replace("_", "-")}="{_attribute(v)}"' for k, v in attributes.items() if v is not None)
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def text(x, y, words, **attributes):
    """Selectable text, escaped."""
    return element("text", escape(str(words)), x=x, y=y, **attributes)


def rect(x, y, width, height, **attributes):
    """A rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def _attribute(value):
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))


def side_by_side(*pictures):
    """Pictures in a row that wraps on a narrow screen."""
    return f'<div style="display:flex;flex-wrap:wrap;gap:12px 20px;align-items:flex-start">{"".join(pictures)}</div>'


def caption(words):
    """A line of text over or under a picture."""
    return f'<p style="margin:4px 0">{escape(words)}</p>'


def error(message):
    """The package's own error, in the place of a picture."""
    style = f"border-left:4px solid {HEAD_COLOURS[1]};padding:6px 12px;margin:6px 0"
    return f'<div class="mha-error" style="{style}"><strong>ValueError</strong>: {escape(str(message))}</div>'


def heat_map(
    weights, queries, keys=None, *, title="weights", colour=ACCENT, cell=None, digits=2, axes=("query ↓", "key →")
):
    """Weights (q_len, kv_len) as cells with their numbers: a row a query, a column a key, or what `axes` says."""
    keys = queries if keys is None else keys
    cell = cell or (34 if len(keys) <= 7 else 28)
    left = 12 + 7.4 * max((len(q) for q in queries), default=0)
    top = 44 + 5.4 * max((len(k) for k in keys), default=0)
    size = 11 if cell >= 30 else 10
    parts = [
        text(0, 14, title, font_weight="bold"),
        text(left + cell * len(keys) / 2, 32, axes[1], font_size=11, text_anchor="middle", opacity=0.8),
        text(0, top - 4, axes[0], font_size=11, opacity=0.8),
    ]
    for j, key in enumerate(keys):
        x = left + cell * (j + 0.6)
        parts.append(text(0, 0, key, transform=f"translate({x:.0f} {top - 5:.0f}) rotate(-50)"))
    cells, written = [], []
    for i, query in enumerate(queries):
        y = round(top + cell * i)
        parts.append(text(left - 6, y + round(cell * 0.64), query, text_anchor="end"))
        for j in range(len(keys)):
            w, x = float(weights[i][j]), round(left + cell * j)
            cells.append(rect(x, y, cell - 1, cell - 1, fill_opacity=f"{CELL_OPACITY * w:.2f}"))
            number = fixed(w, digits)
            number = number[1:] if number.startswith("0.") else number
            written.append(text(x + cell // 2, y + round(cell * 0.62), number))
    parts.append(element("g", "".join(cells), fill=colour, stroke="currentColor", stroke_opacity=".3"))
    parts.append(element("g", "".join(written), text_anchor="middle", font_size=size))
    right = left + cell * len(keys) + 5.0 * max((len(k) for k in keys), default=0)
    return svg(right, top + cell * len(queries) + 2, f"{title}. {spoken(weights, queries, keys)}", *parts)


def spoken(weights, queries, keys):
    """What a map of weights shows, in words: where each query looks most."""
    rows = [[float(w) for w in row] for row in weights]
    said = []
    for query, row in zip(queries, rows):
        most = max(row, default=0)
        found = [key for key, w in zip(keys, row) if isclose(w, most, rel_tol=1e-6)]
        if any(isnan(w) for w in row):
            said.append(f"{query} has weights that are no numbers")
        elif most == 0:
            said.append(f"{query} looks at nothing")
        elif len(found) == 1:
            said.append(f"{query} looks most at {found[0]}, {fixed(most)}")
        else:
            alike = f"all {len(row)} keys alike" if len(found) == len(row) else f"{', '.join(found)} alike"
            said.append(f"{query} looks at {alike}, {fixed(most)} each")
    return "; ".join(said) + "."


def bars(values, labels, *, title, alt=None, colours=None, digits=2, unit="", largest=None, width=340):
    """Horizontal bars from zero, each labelled with its name and number."""
    values = [float(v) for v in values]
    colours = colours or [ACCENT] * len(values)
    left = 10 + 7.4 * max(len(label) for label in labels)
    span = width - left - 62
    bound = largest or max((abs(v) for v in values), default=1) or 1
    negative = any(v < 0 for v in values)
    zero = left + (span / 2 if negative else 0)
    scale = (span / 2 if negative else span) / bound
    parts = [text(0, 14, title, font_weight="bold")]
    for i, (value, label, colour) in enumerate(zip(values, labels, colours)):
        y = 26 + 22 * i
        length = min(abs(value), bound) * scale
        parts += [
            text(left - 6, y + 13, label, text_anchor="end"),
            rect(zero - length if value < 0 else zero, y, length, 17, fill=colour),
            text((zero if value < 0 else zero + length) + 5, y + 13, fixed(value, digits) + unit, font_size=12),
        ]
    parts.append(element("line", x1=zero, x2=zero, y1=22, y2=26 + 22 * len(values), stroke="currentColor"))
    numbers = "; ".join(f"{label} {fixed(value, digits)}{unit}" for value, label in zip(values, labels))
    return svg(width, 30 + 22 * len(values), f"{alt or title}: {numbers}.", *parts)


def matrix(name, rows, columns, *, bands=None, across=True, scale=4.0, leftover=0):
    """One matrix to scale, its shape written below; bands = widths cut in the heads' colours.

    across=True cuts columns, False cuts rows; `leftover` columns or rows belong to no head.
    """
    w, h = columns * scale, rows * scale
    x0, y0 = 6, 22
    width = max(w + 12, 7.6 * max(len(name), len(f"{rows} × {columns}")) + 8)
    parts = [text(x0, 14, name, font_weight="bold", font_size=12)]
    start = 0
    for i, band in enumerate(bands or [columns if across else rows]):
        at, long = start * scale, band * scale
        box = (x0 + at, y0, long, h) if across else (x0, y0 + at, w, long)
        parts.append(
            rect(
                *box,
                fill=head_colour(i) if bands else "currentColor",
                fill_opacity=".55" if bands else ".18",
                stroke="currentColor",
            )
        )
        if bands and long >= 11 and (h if across else w) >= 13:
            parts.append(text(box[0] + box[2] / 2, box[1] + box[3] / 2 + 4, i + 1, text_anchor="middle", font_size=11))
        start += band
    if leftover:
        at, long = start * scale, leftover * scale
        box = (x0 + at, y0, long, h) if across else (x0, y0 + at, w, long)
        parts.append(rect(*box, fill="none", stroke="currentColor", stroke_dasharray="3 2"))
    parts.append(text(x0, y0 + h + 15, f"{rows} × {columns}", font_size=12))
    if not bands:
        said = "one piece"
    else:
        way = "column" if across else "row"
        said = f"one {way} band of width {bands[0]}, the head's"
        if len(bands) > 1:
            said = f"cut into {len(bands)} {way} bands of width {bands[0]}, one a head"
    if leftover:
        said += f", {leftover} left over"
    return svg(width, y0 + h + 20, f"{name}: {rows} by {columns}, {said}.", *parts)


def numbers(array, *, title, colours=None, row_labels=None, digits=0, cell=40):
    """A matrix of numbers in cells; colours = one colour a cell (rows of colours) or None."""
    rows = [[float(x) for x in row] for row in array]
    left = 6 + 7.4 * max((len(r) for r in row_labels or [""]), default=0)
    parts = [text(0, 14, title, font_weight="bold")]
    for i, row in enumerate(rows):
        y = 24 + 26 * i
        if row_labels:
            parts.append(text(left - 6, y + 17, row_labels[i], text_anchor="end"))
        for j, value in enumerate(row):
            fill = colours[i][j] if colours else "none"
            parts += [
                rect(
                    left + cell * j,
                    y,
                    cell - 1,
                    25,
                    fill=fill,
                    fill_opacity=".4",
                    stroke="currentColor",
                    stroke_opacity=".4",
                ),
                text(left + cell * (j + 0.5) - 0.5, y + 17, fixed(value, digits), text_anchor="middle", font_size=12),
            ]
    said = "; ".join(" ".join(fixed(x, digits) for x in row) for row in rows)
    widest = max((len(row) for row in rows), default=0)
    return svg(max(left + cell * widest + 2, 7.6 * len(title)), 26 + 26 * len(rows), f"{title}: rows {said}.", *parts)
