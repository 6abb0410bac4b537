"""Trap 4: h divides d_model."""

from itertools import pairwise

import numpy as np

from .. import merge_heads, scaled_dot_product_attention
from .engine import ask, many, number, one, option, order
from .toys import accepted, divisors, tokens


def divided(d_model, h):
    """What is left over, in words."""
    return f"{d_model} / {h} is {d_model // h}, with {d_model % h} left over."


def temptation(h):
    """Why one would take h to work."""
    if h & (h - 1) == 0:
        return "A power of two taken to fit"
    return "An even number taken to fit" if h % 2 == 0 else "A small number taken to fit"


@ask("03_projections", see="03_projections#predict-then-look", trap=4, over={"d_model": (12, 18, 20, 30, 40, 42)})
def numbers_of_heads_that_work(d_model):
    return many(
        f"A layer has d_model = {d_model} and heads of width d_model / h. Which numbers of heads are accepted?",
        *(option(f"h = {h}", accepted(d_model, h), temptation(h), divided(d_model, h)) for h in (3, 4, 5, 6, 7, 8)),
    )


@ask(
    "03_projections",
    see="03_projections#what-goes-wrong",
    trap=4,
    over={"d_model": (10, 14, 22, 30), "h": (3, 4, 8)},
    where=lambda d_model, h: d_model % h not in (0, d_model // h, h - d_model % h) and d_model // h != h - d_model % h,
)
def columns_that_reach_no_head(d_model, h):
    columns, d_k = np.arange(d_model), d_model // h
    lost = set(columns) - {c for i in range(h) for c in columns[i * d_k : (i + 1) * d_k]}
    return number(
        f"A program for d_model = {d_model} and h = {h} rounds d_model / h down and cuts h slices of that width. "
        "How many columns of X · W_Q reach no head?",
        len(lost),
        wrong=[
            (0, "Rounding taken for harmless", "Slices that are too narrow leave columns behind, without an error."),
            (d_k, "A whole head lost", "All h heads get their slice. What is lost is the remainder."),
            (h - len(lost), "Rounded up", "That is what is missing to the next width. The program rounds down."),
        ],
        why="The remainder of the division.",
    )


@ask(
    "03_projections",
    see="03_projections#predict-then-look",
    trap=4,
    over={"d_model": (28, 32, 40, 45), "limit": (12, 14)},
)
def largest_number_of_heads(d_model, limit):
    right = max(divisors(d_model, limit))
    wrong = [
        (limit - 1, "Any number taken to fit", divided(d_model, limit - 1)),
        ((limit - 1) // 2 * 2, "An even number taken to fit", divided(d_model, (limit - 1) // 2 * 2)),
        (8, "A power of two taken to fit", divided(d_model, 8)),
    ]
    return number(
        f"d_model = {d_model}, heads of width d_model / h. Which is the largest number of heads below {limit} "
        "that the package accepts?",
        right,
        wrong=[row for i, row in enumerate(wrong) if row[0] not in (right, *(w for w, *_ in wrong[:i]))],
        why="The largest divisor below the limit. It need be neither even nor a power of two.",
    )


@ask("12_exam_traps", see="03_projections#a-layer-has-three-of-them", trap=4, over={"d_model": (10, 14, 18, 22)})
def layers_that_are_refused(d_model):
    h = 4
    calls = {
        f"{d_model}, {h}": accepted(d_model, h),
        f"{d_model}, {h}, d_k={d_model}": accepted(d_model, h, d_k=d_model),
        f"{d_model}, {h}, d_k=3": accepted(d_model, h, d_k=3),
        f"{d_model}, {d_model}": accepted(d_model, d_model),
        f"{d_model}, {d_model // 2}": accepted(d_model, d_model // 2),
        f"{d_model}, {2 * d_model}": accepted(d_model, 2 * d_model),
    }
    names = dict.fromkeys(calls, "Width given, and still taken to be divided")
    names |= dict.fromkeys(list(calls)[3:5], "Narrow heads taken for forbidden")
    whys = dict.fromkeys(calls, "Without d_k the width is d_model / h, which must be a whole number of at least 1.")
    whys |= dict.fromkeys(
        list(calls)[1:3], "With d_k given nothing is divided: W_Q has h · d_k columns, W_O as many rows."
    )
    return many(
        f"You make a layer of width {d_model}. `MultiHeadAttention.init(d_model, num_heads, ...)` takes "
        "d_k = d_model / h where d_k is not given. Which arguments does it refuse?",
        *(option(f"`{call}`", not fine, names[call], whys[call]) for call, fine in calls.items()),
    )


@ask("12_exam_traps", see="03_projections#what-goes-wrong", trap=4, over={"d_model": (30, 42, 45), "h": (4, 8)})
def ways_out_of_a_refusal(d_model, h):
    up = -(-d_model // h) * h
    ways = {
        f"h = {h - 1}, one head less": accepted(d_model, h - 1),
        f"h = {h // 2}, half as many heads": accepted(d_model, h // 2),
        f"h = {2 * h}, twice as many heads": accepted(d_model, 2 * h),
        f"d_model = {up}, {up - d_model} more features": accepted(up, h),
        f"d_model = {d_model + 1}, one more feature": accepted(d_model + 1, h),
        "d_k = 8, given beside h": accepted(d_model, h, d_k=8),
    }
    numbers = [(d_model, h - 1), (d_model, h // 2), (d_model, 2 * h), (up, h), (d_model + 1, h)]
    names = ["Close taken for enough", "Halving taken for safe", "Doubling taken for safe", "Padding out of reach"]
    names += ["Even taken for divisible", "Width taken for fixed"]
    whys = [divided(*pair) for pair in numbers] + ["With d_k given nothing is divided, and W_O fits itself to h · d_k."]
    return many(
        f"The package refuses a layer with d_model = {d_model} and h = {h}. Which changes make it accept?",
        *(option(text, fine, name, why) for (text, fine), name, why in zip(ways.items(), names, whys, strict=True)),
    )


@ask(
    "12_exam_traps",
    see="03_projections#predict-then-look",
    trap=4,
    over={"widths": ((48, 50, 53), (36, 38, 41), (60, 64, 67), (24, 28, 34))},
)
def widths_by_their_choices(widths):
    choices = {f"d_model = {w}": len(divisors(w, 13)) for w in widths}
    ordered = sorted(choices, key=choices.get)
    rules = [
        (
            a,
            b,
            "A wider layer taken to have more choices",
            f"What counts are divisors from 1 to 12: {choices[a]} for {a}, {choices[b]} for {b}.",
        )
        for a, b in pairwise(ordered)
    ]
    return order(
        f"d_model is {widths[0]}, {widths[1]} or {widths[2]}. How many numbers of heads from 1 to 12 are accepted? "
        "Put the fewest first.",
        ordered,
        rules,
    )


def cut_and_joined(how, d_model, h):
    """Width of Concat after a careless cut for h heads; None if numpy refuses."""
    n, d_k = 4, d_model // h
    q = tokens(n, d_model)
    if how == "slices":
        heads = np.array([q[:, i * d_k : (i + 1) * d_k] for i in range(h)])
    else:
        try:
            heads = q.reshape(n, h, d_k).swapaxes(0, 1)
        except ValueError:
            return None
    return merge_heads(scaled_dot_product_attention(heads, heads, heads)[0]).shape[-1]


CUTS = {
    "slices": "takes `q[:, i*d_k : (i+1)*d_k]` for each head i",
    "reshape": "calls `q.reshape(n, h, d_k)`",
}


@ask(
    "13_coding_traps",
    see="03_projections#what-goes-wrong",
    trap=4,
    over={"how": tuple(CUTS), "d_model": (10, 14, 22), "h": (3, 4)},
)
def a_careless_cut(how, d_model, h):
    width = cut_and_joined(how, d_model, h)
    truth = (
        f"The slices exist, {d_model // h} wide. Left over in silence: {d_model % h} of {d_model} columns."
        if how == "slices"
        else f"A reshape keeps all {d_model} numbers of a row, and {h} · {d_model // h} is not {d_model}."
    )
    d_k = d_model // h
    return one(
        f"d_model = {d_model}, h = {h}. A program sets `d_k = d_model // h` and {CUTS[how]}, "
        "then joins the heads again. What happens?",
        option("An error at the cut", width is None, "Silent loss taken for an error", truth),
        option(f"No error; Concat is {h * d_k} wide", width == h * d_k, "Reshape taken to drop numbers", truth),
        option(f"No error; Concat is {d_model} wide", width == d_model, "Last head taken to get the rest", truth),
        option(f"No error; Concat is {h * (d_k + 1)} wide", width == h * (d_k + 1), "Filled up with zeros", truth),
    )
