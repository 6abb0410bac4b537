"""Questions on the layer, its shapes and its steps: chapters 3 to 5."""

from dataclasses import replace

import numpy as np

from .. import MultiHeadAttention, causal_mask, examples, multihead, softmax, split_heads
from .engine import ask, many, number, one, option, order, shape
from .toys import band, same, tokens, traced


@ask("03_projections", see="03_projections#one-product-for-all-heads", over={"h": (2, 3, 4), "head": (1, 2)})
def columns_of_a_head(h, head):
    columns, width = np.arange(1, 13), 12 // h
    own = split_heads(columns[None], h)[head - 1, 0]

    def shown(some):
        return ", ".join(map(str, some))

    def columns_option(some, name, why):
        return option(shown(some), same(some, own), name, why)

    return one(
        f"`W_q` has 12 columns, counted from 1, and packs h = {h} heads. Which columns are head {head}'s?",
        columns_option(
            columns[(head - 1) * width : head * width], "Neighbours taken apart", "The heads stand side by side."
        ),
        columns_option(
            columns[head - 1 :: h],
            "Dealt out in turn",
            "The heads' matrices stand side by side, so one head's columns are neighbours.",
        ),
        columns_option(
            columns[(head - 1) * h : head * h], "h taken for the width", f"A head has 12 / {h} columns, not {h}."
        ),
        columns_option(columns, "Each head at full width", f"The {h} heads share the 12 columns."),
    )


@ask("03_projections", see="03_projections#what-reshape-and-transpose-do", over={"B": (2, 3), "n": (5, 7), "h": (2, 4)})
def shape_of_split_queries(B, n, h):
    d_model = 16
    packed = np.zeros((B, n, d_model))
    right = split_heads(packed, h).shape
    return shape(
        f"X · W_Q has shape ({B}, {n}, {d_model}) and is split for h = {h} heads, ready for the scores. "
        "Which shape do the queries have then?",
        right,
        wrong=[
            (
                packed.reshape(B, n, h, -1).shape,
                "Transpose left out",
                "Scores multiply along the last two axes. With this order they compare heads, not tokens.",
            ),
            (
                (B, h, n, d_model),
                "Each head at full width",
                f"That holds {h} times as many numbers as X · W_Q. A split makes none.",
            ),
            (
                (B, h, right[-1], n),
                "Tokens taken for features",
                "That is what the keys become when they are multiplied. A query is a row.",
            ),
        ],
        why="Heads before tokens, so that each head has a table with a token a row.",
    )


@ask("04_heads", see="04_heads#every-step-with-its-shape", over={"B": (2, 3), "n": (5, 7, 11), "h": (2, 4)})
def shape_of_the_weights(B, n, h):
    d_model = 16
    t = examples.layer(d_model, h).trace(np.zeros((B, n, d_model)))
    return shape(
        f"X has shape ({B}, {n}, {d_model}): {B} sentences of {n} tokens. The layer has h = {h} heads. "
        "Which shape do the attention weights of all heads have?",
        t.weights.shape,
        wrong=[
            (
                (B, n, n),
                "One map for all heads",
                "That is one map a sentence. Each head has a softmax of its own, so there is one map a head.",
            ),
            (
                t.q.shape,
                "Queries taken for weights",
                f"These are the queries: {d_model // h} numbers a token and head. "
                "A weight stands for a pair of tokens.",
            ),
            (
                (B, h, d_model // h, d_model // h),
                "Weights between features",
                "Attention compares tokens with tokens, not features with features.",
            ),
        ],
        why=f"For each of {B} sentences and {h} heads: one row a query, one column a key.",
    )


@ask(
    "04_heads",
    see="04_heads#from-one-head-to-all-heads",
    over={"d_model": (64, 256), "h": (4, 16, 64)},
    where=lambda d_model, h: h * h != d_model and h < d_model,
)
def divisor_of_the_scores(d_model, h):
    layer = examples.layer(d_model, h)
    return number(
        f"A layer has d_model = {d_model} and h = {h} heads. By which number does a head divide its dot products?",
        round(1 / layer.scale),
        wrong=[
            (value, name, why)
            for value, name, why in (
                (
                    round(d_model**0.5),
                    "Root of the layer's width",
                    "A head's dot product has d_k terms, not d_model, so it is the root of d_k that counts.",
                ),
                (
                    layer.d_k,
                    "Root forgotten",
                    "The variance grows like d_k. The numbers themselves grow like its root.",
                ),
            )
            if value != round(1 / layer.scale)
        ],
        why="The root of the head's own width, d_model / h.",
    )


MATRICES = {"W_Q": "q", "W_K": "k", "W_V": "v"}


@ask(
    "04_heads",
    see="04_heads#heads-see-nothing-of-each-other",
    over={"matrix": tuple(MATRICES), "head": (1, 2)},
)
def one_head_silenced(matrix, head):
    d_model, h, n, name = 8, 2, 5, MATRICES[matrix]
    layer, before = examples.layer(d_model, h), traced(d_model, h, n)
    W = getattr(layer, f"W_{name}").copy()
    W[band(layer, name, head - 1)] = 0
    after = replace(layer, **{f"W_{name}": W}).trace(tokens(n, d_model))
    i, j = head - 1, 2 - head
    own = "Queries and keys make the weights; values are what is read under them."
    other = "Nothing in the formula crosses from one head to another before W_O."
    return many(
        f"In a layer of two heads you set the columns of head {head} in {matrix} to 0. What changes?",
        option(f"the weights of head {head}", not same(before.weights[i], after.weights[i]), "Values as scores", own),
        option(
            f"the output of head {head}",
            not same(before.heads[i], after.heads[i]),
            "Output without values",
            "A head's output is its weights times its values. A change of either moves it.",
        ),
        option(f"the weights of head {j + 1}", not same(before.weights[j], after.weights[j]), "Shared softmax", other),
        option(f"the output of head {j + 1}", not same(before.heads[j], after.heads[j]), "Heads in touch", other),
        option(
            "the layer's output",
            not same(before.output, after.output),
            "Layer deaf to a head",
            "The layer's output is the sum of what all heads contribute.",
        ),
    )


@ask("04_heads", see="04_heads#predict-then-look", over={"t": (2, 4, 5), "n": (10, 12)})
def weight_under_a_causal_mask(t, n):
    scores = np.where(causal_mask(n), 0.0, -np.inf)
    return number(
        f"All scores of a head are equal, and a causal mask is on. How much weight does token {t} of {n} "
        "give to token 1, to two decimals?",
        float(softmax(scores)[t - 1, 0]),
        digits=2,
        wrong=[
            (1 / n, "Forbidden keys counted", "Later tokens are forbidden before the softmax, and take no share."),
            (1 / (t - 1), "The token itself left out", "The mask forbids later tokens. A token may see itself."),
            (1 / (n - t + 1), "Looking ahead", "That counts the token and those after it. It may see those before."),
        ],
        why=f"Token {t} may see {t} tokens, itself included, and they share 1.",
    )


@ask("04_heads", see="04_heads#four-heads-one-sentence", over={"B": (2, 3), "n": (5, 7), "h": (4, 8)})
def rows_that_sum_to_one(B, n, h):
    weights = examples.layer(16, h).trace(np.zeros((B, n, 16))).weights
    return number(
        f"{B} sentences of {n} tokens go through a layer of h = {h} heads. How many rows of weights, "
        "each with a sum of 1, does it make?",
        int(np.isclose(weights.sum(axis=-1), 1).sum()),
        wrong=[
            (B * n, "One budget a token", f"A token has a budget in each of the {h} heads."),
            (B * h, "One budget a map", "Softmax runs along each row of a map, and a map has a row for each token."),
            (weights.size, "Entries taken for rows", f"Those are the single weights. A row holds {n} of them."),
        ],
        why="One for each sentence, head and query.",
    )


@ask("05_concat_and_output", see="05_concat_and_output#from-the-sum-to-the-formula")
def steps_of_a_layer():
    steps = {
        "q": "project X to queries, keys and values",
        "scores": "multiply queries with keys and scale",
        "weights": "softmax over the keys",
        "heads": "weighted average of the values, in each head",
        "concat": "put the heads side by side",
        "output": "multiply by W_O",
    }
    fields = [f for f in multihead.Trace.__dataclass_fields__ if f in steps]
    rules = [
        (
            "weights",
            "heads",
            "Values before the weights",
            "The weights say how much of each value is taken, so the softmax comes first.",
        ),
        (
            "concat",
            "output",
            "W_O for each head alone",
            "W_O is as tall as all heads together: it mixes what has been put side by side.",
        ),
        ("scores", "weights", "Scaled after the softmax", "Scaled after the softmax, rows would no longer sum to 1."),
        ("q", "scores", "Scores of the inputs", "A head compares its own queries and keys, and X has to make them."),
    ]
    return order(
        "Put the steps of a multi-head layer in order.",
        [steps[f] for f in fields],
        [(steps[a], steps[b], name, why) for a, b, name, why in rules],
    )


@ask(
    "05_concat_and_output",
    see="05_concat_and_output#from-the-sum-to-the-formula",
    over={"q_len": (3, 5), "kv_len": (4, 9), "h": (2, 6)},
)
def shape_of_concat(q_len, kv_len, h):
    d_model, d_v = 16, 7
    layer = MultiHeadAttention.init(d_model, h, d_k=4, d_v=d_v, rng=0)
    t = layer.trace(np.ones((q_len, d_model)), np.ones((kv_len, d_model)))
    return shape(
        f"A layer with d_model = {d_model} has h = {h} heads. Queries and keys are 4 wide, values d_v = {d_v}. "
        f"There are {q_len} queries and {kv_len} keys. Which shape does Concat have?",
        t.concat.shape,
        wrong=[
            (t.output.shape, "Output taken for concat", "That is what W_O makes of it. Concat is h · d_v wide."),
            ((kv_len, h * d_v), "A row for each key", "The average over the keys leaves one row for each query."),
            ((q_len, h * 4), "Width of the keys", "Heads hand over averages of values, so d_v counts, not d_k."),
            ((q_len, d_v), "Heads averaged", "The heads are put side by side. Nothing is added up yet."),
        ],
        why="A row for each query, and the heads' outputs of width d_v side by side.",
    )
