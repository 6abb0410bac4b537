"""Questions on what a layer costs and how to read its maps: chapters 6 and 7."""

from itertools import count

import numpy as np

from .. import MultiHeadAttention, causal_mask, cost, examples
from .engine import ask, number, one, option
from .toys import same, tokens


@ask("06_cost", see="06_cost#where-the-multiply-adds-go", over={"d_model": (32, 64, 128, 256)})
def length_where_attention_overtakes(d_model):
    for n in count(1):
        steps = cost.breakdown(n, n, d_model, 1)
        if steps["scores"] + steps["weighted sums"] >= steps["projections"]:
            break
    return number(
        f"A layer of width d_model = {d_model} reads n tokens. At which n do scores and weighted sums together "
        "take as many multiply-adds as the four projections?",
        n,
        wrong=[
            (d_model, "Two projections counted", "There are four: to queries, to keys, to values, and W_O."),
            (4 * d_model, "Weighted sums left out", "Weighted sums take as many multiply-adds as the scores do."),
            (
                d_model // 2,
                "The wrong side doubled",
                "Set 2 · n² · d_model equal to 4 · n · d_model² and divide.",
            ),
        ],
        why="4 · n · d_model² is 2 · n² · d_model at twice the width.",
    )


WIDER = {
    "the count of trained numbers": (lambda d, h: cost.parameters(d, h), "Each matrix has d_model rows and columns."),
    "d_k": (lambda d, h: examples.layer(d, h).d_k, "A head's width is d_model / h."),
    "the number of weights that softmax makes": (
        lambda d, h: cost.softmax_entries(10, 10, h),
        "Softmax makes a number for each head and pair of tokens, however wide these are.",
    ),
    "the number of entries of the keys": (
        lambda d, h: examples.layer(d, h).trace(np.zeros((10, d))).k.size,
        "The keys of all heads are n tokens of h · d_k numbers, which is d_model.",
    ),
}


@ask(
    "07_explorer", see="07_explorer#predict-then-look-shape-and-price", over={"what": tuple(WIDER), "d_model": (16, 24)}
)
def what_a_wider_layer_changes(what, d_model):
    measured, truth = WIDER[what]
    h = 4
    ratio = measured(2 * d_model, h) / measured(d_model, h)
    return one(
        f"You double d_model from {d_model} to {2 * d_model} and keep h = {h} and the tokens. What happens to {what}?",
        option("It stays as it is", ratio == 1, "Width without effect", truth),
        option("It becomes twice as large", ratio == 2, "Everything taken for linear", truth),
        option("It becomes four times as large", ratio == 4, "Everything taken for square", truth),
        option("It becomes half as large", ratio == 0.5, "Width and heads confused", truth),
    )


MAPS = {
    "A": ((1, 2, 6, 1), (5, 2, 1, 2), (2, 3, 1, 4), (1, 7, 1, 1)),
    "B": ((4, 3, 2, 1), (1, 1, 2, 6), (7, 1, 1, 1), (2, 5, 2, 1)),
}


@ask(
    "07_explorer",
    see="07_explorer#read-a-map-by-hand",
    over={"which": tuple(MAPS), "token": (1, 2), "way": ("Which token looks most at", "Where looks most")},
)
def reading_a_map(which, token, way):
    A, t = np.array(MAPS[which]) / 10, token - 1
    column = "looks most at" in way
    line, crossed = (A[:, t], A[t]) if column else (A[t], A[:, t])
    rows = "; ".join(f"({', '.join(f'{w:.1f}' for w in row)})" for row in A)
    question = f"{way} token {token}?" if column else f"At which token does token {token} look most?"

    def name(i):
        if i == crossed.argmax():
            return "Row read for a column" if column else "Column read for a row"
        return "A token taken to look at itself" if i == t else "The wrong line read"

    way_of = "A row is what a query gives, a column is what a key gets. "
    return one(
        f"A head's weights for four tokens, a row a query: {rows}. {question}",
        *(
            option(
                f"token {i + 1}",
                i == line.argmax(),
                name(i),
                way_of + f"Here token {i + 1} stands for {line[i]:.1f}, the largest is {line.max():.1f}.",
            )
            for i in range(4)
        ),
    )


MASKS = {
    "lets each token see itself and those before it": lambda n: causal_mask(n),
    "lets each token see itself and those after it": lambda n: causal_mask(n).T,
    "lets each token see every token": lambda n: np.ones((n, n), bool),
}


@ask("07_explorer", see="07_explorer#predict-then-look-read-a-head", over={"mask": tuple(MASKS), "n": (4, 6)})
def row_that_is_always_the_same(mask, n):
    x, allowed = tokens(n, 8), MASKS[mask](n)
    maps = [MultiHeadAttention.init(8, 2, rng=seed).trace(x, mask=allowed).weights for seed in range(4)]
    fixed = [all(same(m[:, t], maps[0][:, t]) for m in maps) for t in range(n)]
    truth = "Only a token that sees a single key has no choice: its weight is 1."
    return one(
        f"A mask {mask}, in a sentence of {n}. Whose row of weights is the same in each layer, whatever its matrices?",
        option("the first token's", fixed == [True] + [False] * (n - 1), "First taken for alone", truth),
        option("the last token's", fixed == [False] * (n - 1) + [True], "Last taken for alone", truth),
        option(
            "every token's", all(fixed), "Mask taken for the map", "A mask says where a query may look, not how much."
        ),
        option("no token's", not any(fixed), "A single key taken for a choice", truth),
    )


@ask("07_explorer", see="07_explorer#predict-then-look-read-a-head", over={"n": (4, 6, 8), "h": (2, 4)})
def zeros_under_a_causal_mask(n, h):
    weights = examples.layer(8, h).trace(tokens(n, 8), mask=causal_mask(n)).weights
    return number(
        f"A layer of h = {h} heads reads {n} tokens under a causal mask. How many of all its weights are 0?",
        int((weights == 0).sum()),
        wrong=[
            (
                int((weights[0] == 0).sum()),
                "One map counted",
                "The mask is the same in every head, and each has a map.",
            ),
            (h * n * (n + 1) // 2, "The diagonal forbidden", "A token may see itself, so the diagonal is not 0."),
            (
                h * n * n // 2,
                "Half of the square",
                "The forbidden part is the triangle above the diagonal, less than half.",
            ),
        ],
        why="The triangle above the diagonal, once in each head.",
    )
