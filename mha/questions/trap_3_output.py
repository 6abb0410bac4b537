"""Trap 3: W_O is required."""

from dataclasses import replace

import numpy as np

from .. import MultiHeadAttention, examples, merge_heads
from .engine import ask, many, number, option, shape
from .toys import band, same, tokens, traced


def features_moved(heads, i, W_o):
    """How many output features move when head i's output is doubled."""
    doubled = heads.copy()
    doubled[i] *= 2
    change = (merge_heads(doubled) - merge_heads(heads)) @ W_o
    return int((np.abs(change).max(axis=0) > 1e-9).sum())


@ask(
    "05_concat_and_output",
    see="05_concat_and_output#predict-then-look",
    trap=3,
    over={"d_model": (8, 12), "h": (2, 4), "W_O": (True, False)},
)
def features_that_hear_a_head(d_model, h, W_O):
    W_o = examples.layer(d_model, h).W_o if W_O else np.eye(d_model)
    right = features_moved(traced(d_model, h, 5).heads, 0, W_o)
    layer = "The layer has a W_O with random entries" if W_O else "W_O is left out, and Concat is the output"
    wrong = [
        (
            d_model,
            "Heads mixed without W_O",
            "Concat computes nothing: the numbers of one head stay in its own columns.",
        ),
        (
            d_model // h,
            "Output features owned by heads",
            "The head's rows of W_O have d_model columns, so it writes to every feature.",
        ),
        (h, "Heads counted for features", "The question is about features. There are d_model of them."),
        (d_model - d_model // h, "Everything but its own", "A head does write to its own columns as well."),
    ]
    return number(
        f"d_model = {d_model}, h = {h}. {layer}. You double the output of head 1 alone. "
        f"How many of the {d_model} output features move?",
        right,
        wrong=[row for i, row in enumerate(wrong) if row[0] not in (right, *(w for w, *_ in wrong[:i]))],
        why="Each entry of a head's rows of W_O carries it to one feature." if W_O else "A head has d_v columns.",
    )


COLUMNS = ((2, 1, 0, 3), (0, 2, 1, -1), (2, 1, 0, 2), (1, 1, -1, 0))


@ask("12_exam_traps", see="05_concat_and_output#two-heads-by-hand", trap=3, over={"feature": (1, 2, 3, 4), "x": (2, 5)})
def one_feature_by_hand(feature, x):
    heads = np.array([[[1, x]], [[3, 4]]])  # (num_heads, one token, d_v)
    column, concat = np.array(COLUMNS[feature - 1]), merge_heads(heads)[0]
    parts = concat[:2] @ column[:2], concat[2:] @ column[2:]
    own = (feature - 1) // 2
    right = int(concat @ column)
    wrong = [
        (int(concat[feature - 1]), "W_O left out", "That is what Concat holds at this place, before W_O."),
        (int(parts[own]), "Feature owned by one head", "You took one head's part alone. The other head adds to it."),
        (
            int(heads.sum(axis=0)[0] @ column[:2]),
            "Heads added before W_O",
            "Each head meets rows of its own. Adding the heads first gives both the same rows.",
        ),
    ]
    return number(
        f"For one token, head 1 gives (1, {x}) and head 2 gives (3, 4). Column {feature} of W_O is "
        f"{tuple(int(c) for c in column)}. What is feature {feature} of the output?",
        right,
        wrong=[row for i, row in enumerate(wrong) if row[0] not in (right, *(w for w, *_ in wrong[:i]))],
        why="Concat times the column, with a part from each head.",
    )


@ask(
    "05_concat_and_output",
    see="05_concat_and_output#from-the-sum-to-the-formula",
    trap=3,
    over={"d_model": (10, 16), "h": (2, 6), "d_v": (3, 4)},
)
def shape_of_the_output_matrix(d_model, h, d_v):
    layer = MultiHeadAttention.init(d_model, h, d_k=6, d_v=d_v, rng=0)
    return shape(
        f"A layer has d_model = {d_model}, h = {h} heads, queries and keys of width {layer.d_k}, "
        f"values of width {d_v}. Which shape does W_O have, with rows as inputs?",
        layer.W_o.shape,
        wrong=[
            ((d_model, d_model), "Square taken for granted", "It is square only where h · d_v is d_model."),
            ((d_v, d_model), "One head's rows", f"That takes one head. Concat holds {h} of them side by side."),
            (
                (d_model, h * d_v),
                "In and out exchanged",
                "W_O reads Concat, h · d_v wide, and writes d_model features.",
            ),
            (
                (h * layer.d_k, d_model),
                "Width of the keys",
                "Heads hand over averages of values, so d_v counts, not d_k.",
            ),
        ],
        why="As tall as Concat is wide, and as wide as the output.",
    )


def equal_or_not(output, compute):
    """Does compute() give this output? No, if its shapes do not fit."""
    try:
        return same(compute(), output)
    except ValueError:
        return False


@ask("05_concat_and_output", see="05_concat_and_output#from-the-sum-to-the-formula", trap=3, over={"h": (2, 3, 6)})
def equal_to_concat_times_the_matrix(h):
    d_model, n = 12, 5
    layer, t, x = examples.layer(d_model, h), traced(d_model, h, n), tokens(n, d_model)
    rows = [layer.W_o[band(layer, "o", i)] for i in range(h)]
    values = [layer.W_v[band(layer, "v", i)] for i in range(h)]
    turned = list(range(h))[::-1]

    def holds(compute):
        return equal_or_not(t.output, compute)

    return many(
        f"A layer has h = {h} heads. Which of these equal Concat · W_O?",
        option(
            "the sum over heads of each head's output times its own rows of W_O",
            holds(lambda: sum(t.heads[i] @ rows[i] for i in range(h))),
            "Sum taken for something else",
            "A product with a matrix is a sum over its rows, and they come in bands, a band a head.",
        ),
        option(
            "the sum of all heads' outputs, times W_O",
            holds(lambda: t.heads.sum(axis=0) @ layer.W_o),
            "Heads added before W_O",
            "A sum of heads is d_v wide, and W_O has h · d_v rows.",
        ),
        option(
            "the mean of all heads' outputs, times the mean of their rows of W_O",
            holds(lambda: t.heads.mean(axis=0) @ np.mean(rows, axis=0)),
            "Mean taken for concat",
            "A mean cannot tell which head said what, so each head no longer meets its own rows.",
        ),
        option(
            "Concat and the bands of rows of W_O, both with the heads in reverse order",
            holds(lambda: merge_heads(t.heads[turned]) @ np.concatenate([rows[i] for i in turned])),
            "Order taken for a role",
            "Each head still meets its own rows, and a sum has no order.",
        ),
        option(
            "the sum over heads of weights times X times the head's part of W_V times its part of W_O",
            holds(lambda: sum(t.weights[i] @ x @ (values[i] @ rows[i]) for i in range(h))),
            "Matrices kept apart",
            "With the weights given, all that follows is linear, so the two matrices can be multiplied first.",
        ),
    )


@ask(
    "05_concat_and_output",
    see="05_concat_and_output#remember",
    trap=3,
    over={"d_model": (8, 12, 16), "h": (2, 4)},
    where=lambda d_model, h: d_model != h * h,
)
def rank_of_a_folded_matrix(d_model, h):
    layer = examples.layer(d_model, h)
    folded = layer.W_v[band(layer, "v", 0)] @ layer.W_o[band(layer, "o", 0)]
    return number(
        f"d_model = {d_model}, h = {h}, all matrices random. Multiply head 1's columns of W_V with its rows of W_O: "
        f"a matrix of {d_model} by {d_model}. What is its rank?",
        int(np.linalg.matrix_rank(folded)),
        wrong=[
            (
                d_model,
                "Size taken for rank",
                "Everything passes through the head's d_v numbers, and no more directions come out than went through.",
            ),
            (1, "A weighted average taken for one number", "The head hands over d_v numbers for each token, not one."),
            (
                h,
                "Heads taken for directions",
                "h says how many heads there are. How wide one is follows from d_model / h.",
            ),
        ],
        why="Two thin matrices: what lies between them is d_v wide.",
    )


@ask("13_coding_traps", see="05_concat_and_output#what-goes-wrong", trap=3, over={"d_v": (4, 3), "h": (2, 3)})
def what_gives_a_missing_matrix_away(d_v, h):
    d_model = 4 * h
    layer = MultiHeadAttention.init(d_model, h, d_v=d_v, rng=0)
    t, without = (some.trace(tokens(5, d_model)) for some in (layer, replace(layer, W_o=np.eye(h * d_v))))
    moved = [features_moved(t.heads, 0, W) for W in (layer.W_o, np.eye(h * d_v))]
    truth = "Without W_O, Concat itself is the output: h · d_v features, each from one head."
    return many(
        f"A layer with d_model = {d_model} and h = {h} heads, each with values of width {d_v}, forgets W_O and returns "
        "Concat. What tells it from the right layer, whose W_O is random?",
        option("the values of the output", not same(t.output, without.output), "W_O taken for a formality", truth),
        option(
            "the shape of the output",
            t.output.shape != without.output.shape,
            "Shape trusted",
            "Compare h · d_v with d_model: " + ("they are equal here." if h * d_v == d_model else "they differ here."),
        ),
        option(
            "the attention weights of each head",
            not same(t.weights, without.weights),
            "Weights made by W_O",
            "The weights are made before W_O, and nothing goes back.",
        ),
        option("how many output features one head moves", moved[0] != moved[1], "Mixing taken for granted", truth),
        option(
            "the sums along the rows of the weights",
            not same(t.weights.sum(axis=-1), without.weights.sum(axis=-1)),
            "Softmax taken to follow W_O",
            "Rows sum to 1 with or without it: softmax comes before.",
        ),
    )


@ask("12_exam_traps", see="05_concat_and_output#remember", trap=3, over={"h": (2, 4)})
def matrices_that_do_not_mix(h):
    d_model = 8
    layer = examples.layer(d_model, h)
    own = np.kron(np.eye(h), np.ones((d_model // h, d_model // h)))  # a square for each head
    permuted = np.eye(d_model)[:, np.random.RandomState(0).permutation(d_model)]

    def apart(W):
        """Does each output feature hear at most one head?"""
        heard = np.abs(W.reshape(h, -1, d_model)).max(axis=1) > 0  # (num_heads, d_model)
        return (heard.sum(axis=0) <= 1).all()

    one_a_column = "Look down a column of W_O: it has entries in the rows of one head only."
    several = "Look down a column of W_O: it has entries in the rows of several heads, which meet in that feature."
    return many(
        f"d_model = {d_model}, h = {h}. With which W_O does each output feature still hear one head alone, "
        "as in Concat?",
        option("the identity", apart(np.eye(d_model)), "Identity taken for a mixer", one_a_column),
        option("the identity with its columns shuffled", apart(permuted), "Shuffling taken for mixing", one_a_column),
        option(
            "the layer's own W_O with all rows of head 1 doubled",
            apart(layer.W_o * np.repeat([2] + [1] * (h - 1), d_model // h)[:, None]),
            "Weighting taken for separation",
            several,
        ),
        option(
            "a square block for each head, 0 elsewhere", apart(layer.W_o * own), "Blocks taken to mix", one_a_column
        ),
        option("a matrix of ones", apart(np.ones((d_model, d_model))), "Equal taken for separate", several),
    )
