"""Questions on mistakes in code: chapter 13."""

from dataclasses import replace

import numpy as np

from .. import causal_mask, examples, merge_heads, multihead, softmax, split_heads
from .engine import ask, many, number, one, option, order
from .toys import same, tokens


@ask("13_coding_traps", see="13_coding_traps#all-the-mistakes", over={"d_k": (4, 16, 25, 100)})
def row_sum_after_a_late_scale(d_k):
    weights = softmax(tokens(5, 5)) / np.sqrt(d_k)
    return number(
        f"A program divides by √d_k after the softmax instead of before, with d_k = {d_k}. "
        "What does a row of its weights sum to, to two decimals?",
        float(weights[0].sum()),
        digits=2,
        wrong=[
            (1.0, "Scale taken for harmless", "Softmax had made a sum of 1, and then every weight was divided."),
            (d_k**0.5, "Multiplied instead of divided", "Dividing makes the weights smaller, and their sum too."),
            (1 / d_k, "Root forgotten", "It was the root of d_k that divided each weight."),
        ],
        why="A sum of 1, divided once more.",
    )


def without_transpose(h, n):
    """Head by head, which token's numbers a bare reshape puts in each row; tokens counted from 1."""
    d_k = 2
    x = np.arange(1, n + 1)[:, None] * np.ones(h * d_k, int)  # token t is a row of t
    return x.reshape(h, n, d_k)[..., 0]


@ask(
    "13_coding_traps",
    see="03_projections#what-reshape-and-transpose-do",
    over={"h": (2, 3), "n": (4, 6), "head": (1, 2), "row": (2, 4)},
    where=lambda h, n, head, row: without_transpose(h, n)[head - 1, row - 1] not in (row, head) and row != head,
)
def token_in_a_bare_reshape(h, n, head, row):
    return number(
        f"Token 1 is a row of ones, token 2 a row of twos, and so on up to {n}. A program reshapes this table from "
        f"(n, d_model) to (h, n, d_k) with h = {h}, and forgets the transpose. Which number fills row {row} of "
        f"head {head}?",
        int(without_transpose(h, n)[head - 1, row - 1]),
        wrong=[
            (
                row,
                "As if transposed",
                f"That would be right after a transpose. A reshape cuts each token into {h} rows.",
            ),
            (head, "Number of the head", "The numbers here name tokens. A head's table should hold all of them."),
        ],
        why=f"Each token fills {h} rows in turn, and the tables of the heads follow one another.",
    )


def layer_by_hand(layer, x, mistake=""):
    """The layer's output with one mistake in it."""
    h, n = layer.num_heads, len(x)
    packed = (x @ W for W in (layer.W_q, layer.W_k, layer.W_v))
    q, k, v = (p.reshape(h, n, -1) if mistake == "split" else split_heads(p, h) for p in packed)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(x.shape[1] if mistake == "scale" else layer.d_k)
    heads = softmax(scores, axis=-2 if mistake == "axis" else -1) @ v
    concat = heads.reshape(n, -1) if mistake == "merge" else merge_heads(heads)
    return concat if mistake == "no W_O" else concat @ layer.W_o


PROBES = {
    "with one head only": (1, tokens(5, 8), None),
    "with one token only": (4, tokens(1, 8), None),
    "with W_O set to the identity": (2, tokens(5, 8), np.eye(8)),
    "with the same vector for all tokens": (2, np.tile(tokens(1, 8), (5, 1)), None),
}
MISTAKES = {
    "scale": (
        "dividing by √d_model instead of √d_k",
        "Scale",
        "It shows where h is above 1 and the scores of a row differ.",
    ),
    "split": (
        "splitting heads without the transpose",
        "Split",
        "It puts tokens where heads belong, and shows with two of each.",
    ),
    "merge": (
        "merging heads without the transpose",
        "Merge",
        "It puts tokens where heads belong, and shows with two of each.",
    ),
    "axis": (
        "softmax over queries instead of keys",
        "Softmax axis",
        "It shows where a query has more than one key and the scores are not all equal.",
    ),
    "no W_O": ("leaving W_O out", "W_O", "It shows with each W_O that changes what it gets."),
}


@ask("13_coding_traps", see="13_coding_traps#a-checker-that-reads-values", over={"probe": tuple(PROBES)})
def mistakes_that_a_test_misses(probe):
    h, x, W_o = PROBES[probe]
    layer = examples.layer(8, h) if W_o is None else replace(examples.layer(8, h), W_o=W_o)
    right = layer_by_hand(layer, x)
    return many(
        f"You compare your layer's output with right values, {probe}. Which mistakes does this test miss?",
        *(
            option(text, same(layer_by_hand(layer, x, mistake), right), f"{name} taken to pass", why)
            for mistake, (text, name, why) in MISTAKES.items()
        ),
    )


WAYS = {
    "softmax(np.where(mask, scores, -np.inf))": (
        lambda scores, mask: softmax(np.where(mask, scores, -np.inf)),
        "Powers of minus infinity are 0, and the others still share 1.",
    ),
    "softmax(scores + mask)": (
        lambda scores, mask: softmax(scores + mask),
        "Allowed scores gain 1, which is a lead, but a forbidden power of e is not 0.",
    ),
    "softmax(scores * mask)": (
        lambda scores, mask: softmax(scores * mask),
        "Forbidden scores become 0, and e to the power of 0 is 1, a share like others.",
    ),
    "softmax(scores) * mask": (
        lambda scores, mask: softmax(scores) * mask,
        "The forbidden weights have been shared out before they are set to 0.",
    ),
}


@ask("13_coding_traps", see="13_coding_traps#all-the-mistakes", over={"way": tuple(WAYS)})
def what_a_mask_does(way):
    mask, scores = causal_mask(4), tokens(4, 4)
    apply, truth = WAYS[way]
    weights = apply(scores, mask)
    zero = (weights[~mask] == 0).all()
    whole = np.allclose(weights.sum(axis=-1), 1)
    return one(
        f"`mask` is 1 where a query may look and 0 elsewhere; `{way}` makes the weights. "
        "What becomes of forbidden keys and of the rows?",
        option("Forbidden keys get 0; rows sum to 1", zero and whole, "Mask taken to work", truth),
        option("Forbidden keys get 0; rows sum to less", zero and not whole, "Budget taken to shrink", truth),
        option("Forbidden keys get some; rows sum to 1", whole and not zero, "Leak", truth),
        option("Forbidden keys get some; rows sum to less", not whole and not zero, "Leak and shrink", truth),
    )


@ask("13_coding_traps", see="13_coding_traps#all-the-mistakes")
def where_the_mask_goes():
    steps = {
        "q": "cut the projections into heads",
        "scores": "multiply queries with keys and divide by √d_k",
        "mask": "put minus infinity where the mask forbids",
        "weights": "softmax of each row",
        "heads": "multiply by the values",
        "concat": "put the heads side by side",
    }
    fields = [f for f in multihead.Trace.__dataclass_fields__ if f in steps]
    rules = [
        (
            "mask",
            "weights",
            "Mask after the softmax",
            "Then the forbidden keys have had their share already, and rows sum to less than 1.",
        ),
        (
            "q",
            "scores",
            "Heads cut too late",
            "Scores of uncut projections are one map. Each head needs scores of its own.",
        ),
        ("scores", "mask", "Mask before the scores", "It is a score that is forbidden, so there must be one."),
        ("heads", "concat", "Side by side too early", "What is put side by side are the heads' averages."),
    ]
    return order(
        "Put the steps of masked attention in order.",
        [steps[f] for f in fields],
        [(steps[a], steps[b], name, why) for a, b, name, why in rules],
    )
