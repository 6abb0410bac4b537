"""Exercises: concatenation with W_O, the whole layer."""

from dataclasses import replace

import numpy as np

from mha.multihead import merge_heads

from . import heads, shapes, steps
from .draw import matrix, normal
from .engine import Exercise, wrong
from .loops import LOOPS
from .packing import columns, project_of, transposed
from .ways import any_way

# ---- concat and W_O -------------------------------------------------------------------------


def times_W_o(concat, W_o, h):
    return concat @ W_o


def blocks(W_o, h):
    """W_o as (h, d_v, d_model): block i takes head i."""
    return W_o.reshape(h, -1, W_o.shape[1])


def times_transposed(concat, W_o, h):
    return concat @ W_o.T


OUT = (wrong(14, out=lambda concat, W_o, h: concat), wrong(29, out=times_transposed))
ONE_BLOCK = (
    lambda pooled, W_o, h: pooled @ blocks(W_o, h)[0],
    lambda pooled, W_o, h: pooled @ blocks(W_o, h)[-1],
    lambda pooled, W_o, h: pooled @ blocks(W_o, h).mean(axis=0),
)
POOLED_OUT = tuple(
    wrong(16, shapes.POOLED.format(word), merge=pool, out=out)
    for word, pool in shapes.POOLS.items()
    for out in ONE_BLOCK
)


def output_of(merge=merge_heads, out=times_W_o):
    def program(heads, W_o):
        return out(merge(heads), W_o, heads.shape[1])

    return program


def output_probes(rng):
    return {
        "2 samples, 3 heads": (normal(rng, 2, 3, 4, 5), matrix(rng, 15, 7)),
        "3 samples, 2 heads": (normal(rng, 3, 2, 5, 4), matrix(rng, 8, 11)),
        "square W_o": (normal(rng, 2, 3, 5, 4), matrix(rng, 12, 12)),
        "one head": (normal(rng, 2, 1, 4, 5), matrix(rng, 5, 7)),
    }


def output_by_sum(heads, W_o):
    """The sum over heads of head_i W_O,i: not a mistake."""
    d_v = heads.shape[-1]
    return sum(heads[:, i] @ W_o[i * d_v : (i + 1) * d_v] for i in range(heads.shape[1]))


def output_by_einsum(heads, W_o):
    return np.einsum("bhnd,hde->bne", heads, blocks(W_o, heads.shape[1]))


OUTPUT = Exercise(
    name="output",
    title="concatenate the heads and mix them by W_O",
    call="output(heads, W_o)",
    prompt=(
        "heads has shape (B, num_heads, seq, d_v); W_o has shape (num_heads · d_v, d_model), rows are inputs: "
        "rows i·d_v ... (i+1)·d_v - 1 take head i. Return Concat(head_1 ... head_h) W_O, of shape (B, seq, "
        "d_model)."
    ),
    build=output_of,
    probes=output_probes,
    result=("B, seq, d_model",),
    wrong=(
        *shapes.MERGES,
        *OUT,
        *POOLED_OUT,
        wrong(None, "The heads are not put side by side before W_o.", merge=lambda heads: heads, by_error=True),
    ),
    variants=(output_by_sum, output_by_einsum, *any_way(output_of())),
    chapter="05_concat_and_output",
)

# ---- the whole layer ------------------------------------------------------------------------


def layer_of(out=times_W_o, loop=None, **chosen):
    concat_of = heads.many_heads_of(**chosen)

    def program(x, context, W_q, W_k, W_v, W_o, num_heads):
        if loop:
            return loop(x, context, W_q, W_k, W_v, num_heads, W_o)
        return out(concat_of(x, context, W_q, W_k, W_v, num_heads, W_o.shape[1]), W_o, num_heads)

    return program


def layer_probes(rng):
    widths = (17, 13, 8, 9, 7, 5)
    return {
        label: (*args[:5], matrix(rng, args[4].shape[1], d_model), args[5])
        for (label, args), d_model in zip(heads.many_heads_probes(rng).items(), widths)
    }


def layer_by_sum(x, context, W_q, W_k, W_v, W_o, num_heads):
    total = 0
    for i, block in enumerate(blocks(W_o, num_heads)):
        W = [columns(W, i, num_heads) for W in (W_q, W_k, W_v)]
        total = total + heads.one_head_by_loops(x, context, *W) @ block
    return total


LAYER = Exercise(
    name="layer",
    title="the whole layer: projections, heads, concatenation, W_O",
    call="layer(x, context, W_q, W_k, W_v, W_o, num_heads)",
    prompt=(
        "Queries come from x (B, q_len, d_x), keys and values from context (B, kv_len, d_context). The matrices "
        "are packed, rows are inputs: W_q (d_x, num_heads · d_k), W_k (d_context, num_heads · d_k), W_v "
        "(d_context, num_heads · d_v); columns i·d_k ... (i+1)·d_k - 1 (of W_v: i·d_v ... (i+1)·d_v - 1) are head "
        "i's. W_o (num_heads · d_v, d_model). Return multi-head attention's output, (B, q_len, d_model). No mask, "
        "no bias. Scores are small here."
    ),
    build=layer_of,
    probes=layer_probes,
    result=("B, q_len, d_model",),
    wrong=(
        *heads.WEIGHING,
        steps.by_width(3),
        *heads.PROJECTIONS,
        *heads.MERGES,
        *OUT,
        *POOLED_OUT,
        *LOOPS,
        heads.everywhere(29, project_of(product=transposed), out=times_transposed),
        *(replace(entry, by_error=True, alone=True) for entry in heads.FULL_WIDTH),
        wrong(None, "The heads are not put side by side before W_o.", merge=lambda heads: heads, by_error=True),
    ),
    variants=(layer_by_sum, *any_way(layer_of())),
    chapter="07_explorer",
)

EXERCISES = (OUTPUT, LAYER)
