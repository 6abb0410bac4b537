"""Diagrams as inline SVG: a model's blocks, heads that share keys and values, a step of decoding.

As in `pictures`, each function returns HTML with a text alternative. No diagram computes attention.
"""

from .pictures import ACCENT, CELL_OPACITY, element, head_colour, rect, svg, text
from .printing import fixed

BOX, HIGH, GAP = 176, 42, 18  # width and height of a block, and the arrow between two


def blocks(stacks, *, title, across=()):
    """Stacks of blocks side by side, the first block lowest, with an arrow from each to the next.

    stacks : [(what goes in, [(label, note, colour or None), ...]), ...]
    across : [(stack, other stack, place), ...]: arrows from a stack's top to that block of the other, at its right
    """
    height = 44 + (HIGH + GAP) * max(len(boxes) for _, boxes in stacks)
    parts, said = [text(0, 14, title, font_weight="bold")], []

    def place(stack, i):
        return 2 + stack * (BOX + 44), height - 22 - (i + 1) * (HIGH + GAP)

    for s, (name, boxes) in enumerate(stacks):
        x, _ = place(s, 0)
        parts.append(text(x + BOX / 2, height - 6, name, text_anchor="middle"))
        for i, (label, note, colour) in enumerate(boxes):
            _, y = place(s, i)
            style = {"fill": colour, "fill_opacity": ".4"} if colour else {"fill": "none"}
            parts += [
                rect(x, y, BOX, HIGH, rx=4, stroke="currentColor", stroke_opacity=".6", **style),
                text(x + BOX / 2, y + 18, label, text_anchor="middle", font_weight="bold"),
                text(x + BOX / 2, y + 34, note, text_anchor="middle", font_size=11),
                *arrow((x + BOX / 2, y + HIGH + GAP), (x + BOX / 2, y + HIGH)),
            ]
        said.append(f"{name}: " + ", then ".join(f"{label} ({note})" for label, note, _ in boxes))
    for s, other, i in across:
        (x, top), (right, y) = place(s, len(stacks[s][1]) - 1), place(other, i)
        bend = x + BOX + 22
        turns = ((x + BOX, top + HIGH / 2), (bend, top + HIGH / 2), (bend, y + HIGH / 2), (right, y + HIGH / 2))
        parts += arrow(*turns)
        said.append(f"from the top of {stacks[s][0]} an arrow leads to {stacks[other][1][i][0]}")
    return svg(4 + len(stacks) * (BOX + 44) - 44, height, f"{title}. {'; '.join(said)}.", *parts)


def arrow(*points):
    """Parts of a line through the points, with a head at its end."""
    (x0, y0), (x, y) = points[-2:]
    long = max(abs(x - x0), abs(y - y0))
    dx, dy = (x - x0) / long, (y - y0) / long  # along the last piece, which is horizontal or vertical
    wings = [(x, y), (x - 7 * dx + 4 * dy, y - 7 * dy + 4 * dx), (x - 7 * dx - 4 * dy, y - 7 * dy - 4 * dx)]
    line, head = (" ".join(f"{a:.0f},{b:.0f}" for a, b in some) for some in (points, wings))
    return [
        element("polyline", points=line, fill="none", stroke="currentColor"),
        element("polygon", points=head),
    ]


def shared_heads(num_heads, num_kv_heads, *, title):
    """Query heads in a row above the key/value heads that they share, in one colour a key/value head."""
    size, step = 30, 38
    left, shared = 92, num_heads // num_kv_heads
    width = left + step * num_heads
    parts = [text(0, 14, title, font_weight="bold"), text(0, 46, "query heads"), text(0, 116, "key/value")]
    for g in range(num_kv_heads):
        members = range(g * shared, (g + 1) * shared)
        middle = left + step * (g * shared + (shared - 1) / 2) + size / 2
        for i in members:
            x = left + step * i
            parts += [
                element("line", x1=x + size / 2, y1=26 + size, x2=middle, y2=96, stroke="currentColor"),
                *numbered(x, 26, size, i + 1, g),
            ]
        parts += numbered(middle - size / 2, 96, size, g + 1, g)
    served = [f"{g * shared + 1} to {(g + 1) * shared}" if shared > 1 else g + 1 for g in range(num_kv_heads)]
    said = "; ".join(
        f"{g + 1} serves query {'heads' if shared > 1 else 'head'} {those}" for g, those in enumerate(served)
    )
    return svg(width, 130, f"{title}. Key/value head {said}.", *parts)


def numbered(x, y, size, number, colour):
    """Parts of a small square with its number, in a head's colour."""
    return [
        rect(x, y, size, size, rx=3, fill=head_colour(colour), fill_opacity=".55", stroke="currentColor"),
        text(x + size / 2, y + size * 0.66, number, text_anchor="middle"),
    ]


def decoding_step(tokens, step, weights, *, cached=True, title):
    """One step of decoding, counted from 1: a column a token, and the weights (heads, step) of the new query.

    cached : are the earlier tokens' keys and values kept, or computed again?
    """
    cell, left = 52, 84
    rows = ["query", "key, value", *(f"head {i + 1}" for i in range(len(weights)))]
    parts = [text(0, 14, title, font_weight="bold")]
    parts += [text(left - 8, 67 + 30 * r, name, text_anchor="end") for r, name in enumerate(rows)]
    for j, token in enumerate(tokens):
        x, known, new = left + cell * j, j < step, j == step - 1
        if known:
            parts.append(text(x + cell / 2, 40, token, text_anchor="middle", font_size=12))
        query = "new" if known and (new or not cached) else ""
        pair = "kept" if known and cached and not new else "new" if known else ""
        for y, word in ((48, query), (78, pair)):
            colour = {"new": head_colour(1), "kept": ACCENT}.get(word, "none")
            parts += cell_of(x, y, cell, word, colour, ".5", None if word else "3 2")
        for i, row in enumerate(weights):
            opacity, number = (f"{CELL_OPACITY * row[j]:.2f}", fixed(row[j])) if known else ("0", "")
            parts += cell_of(x, 108 + 30 * i, cell, number, ACCENT, opacity, None if known else "3 2")
    told = "kept" if cached else "computed again"
    said = f"Step {step}: the new token is {tokens[step - 1]}; keys and values of {step - 1} earlier tokens are {told}"
    for i, row in enumerate(weights):
        said += f"; weights of head {i + 1}: " + " ".join(fixed(w) for w in row)
    return svg(left + cell * len(tokens) + 2, 110 + 30 * len(weights), f"{title}. {said}.", *parts)


def cell_of(x, y, width, word, colour, opacity, dashed):
    """Parts of one cell with a word in it."""
    style = {"fill": colour, "fill_opacity": opacity, "stroke": "currentColor", "stroke_opacity": ".5"}
    parts = [rect(x, y, width - 2, 28, stroke_dasharray=dashed, **style)]
    return [*parts, text(x + width / 2 - 1, y + 19, word, text_anchor="middle", font_size=12)] if word else parts
