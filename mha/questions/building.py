"""Questions on the formula, its shapes and its steps: chapters 1 to 7."""

import numpy as np

from .. import examples, multihead
from .engine import ask, order, shape

N = 7  # tokens


@ask("04_heads", see="04_heads#every-step-with-its-shape", over={"B": (2, 3), "n": (5, 7, 11), "h": (2, 4)})
def shape_of_the_weights(B, n, h):
    d_model = 16
    x = np.zeros((B, n, d_model))
    t = examples.layer(d_model, h).trace(x)
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


@ask("05_concat_and_output", see="05_concat_and_output#from-the-sum-to-the-formula")
def steps_of_a_layer():
    steps = {
        "q": "project X to queries, keys and values", "scores": "multiply queries with keys and scale",
        "weights": "softmax over the keys", "heads": "weighted average of the values, in each head",
        "concat": "put the heads side by side", "output": "multiply by W_O",
    }  # fmt: skip
    fields = [f for f in multihead.Trace.__dataclass_fields__ if f in steps]
    return order(
        "Put the steps of a multi-head layer in order.",
        [steps[f] for f in fields],
        [
            (steps["weights"], steps["heads"], "Values before the weights",
             "The weights say how much of each value is taken, so the softmax comes first."),
            (steps["concat"], steps["output"], "W_O for each head alone",
             "W_O is as tall as all heads together: it mixes what has been put side by side."),
            (steps["scores"], steps["weights"], "Scaled after the softmax",
             "Scaled after the softmax, rows would no longer sum to 1."),
        ],
    )  # fmt: skip
