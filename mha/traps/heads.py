"""Exercises: one head, many heads."""

import numpy as np

from mha.multihead import merge_heads

from . import packing, shapes, steps
from .draw import matrix, normal
from .engine import Exercise, wrong
from .loops import LOOPS
from .packing import OWN_COLUMNS, plain, project_of, transposed
from .ways import any_way

# ---- one head -------------------------------------------------------------------------------


def one_head_of(query=plain, key=plain, value=plain, value_weight=lambda W_k, W_v: W_v, **chosen):
    def program(x, context, W_q, W_k, W_v):
        q, k, v = query(x, W_q), key(context, W_k), value(context, value_weight(W_k, W_v))
        return steps.attend(q, k, v, widths=(x.shape[-1], context.shape[-1]), **chosen)[0]

    return program


def one_head_args(rng, B, q_len, kv_len, d_x, d_context, d_k, d_v):
    x, context = normal(rng, B, q_len, d_x), normal(rng, B, kv_len, d_context)
    return x, context, matrix(rng, d_x, d_k), matrix(rng, d_context, d_k), matrix(rng, d_context, d_v)


def one_head_probes(rng):
    return {
        "2 samples": one_head_args(rng, 2, 4, 7, 11, 13, 5, 3),
        "3 samples": one_head_args(rng, 3, 6, 5, 8, 10, 7, 4),
        "square matrices": one_head_args(rng, 2, 5, 7, 6, 6, 6, 6),
        "as many samples, keys and features": one_head_args(rng, 3, 4, 3, 7, 8, 3, 3),
    }


def one_head_by_loops(x, context, W_q, W_k, W_v):
    output = np.zeros((*x.shape[:2], W_v.shape[1]))
    for b, t in np.ndindex(*x.shape[:2]):
        q = x[b, t] @ W_q
        e = np.array([np.exp(q @ (token @ W_k) / np.sqrt(len(q))) for token in context[b]])
        output[b, t] = sum(w * (token @ W_v) for w, token in zip(e / e.sum(), context[b]))
    return output


def one_head_by_einsum(x, context, W_q, W_k, W_v):
    q, k = np.einsum("bnd,de->bne", x, W_q), np.einsum("bnd,de->bne", context, W_k)
    e = np.exp(np.einsum("bnd,bmd->bnm", q, k) / np.sqrt(q.shape[-1]))
    return np.einsum("bnm,bmd,de->bne", e / e.sum(-1, keepdims=True), context, W_v)


INPUTS = ("query", "key", "value")
SOME_INPUTS = (INPUTS, ("query", "key"), ("query",), ("key",), ("value",))

ONE_HEAD = Exercise(
    name="one_head",
    title="one head, from the inputs to its output",
    call="one_head(x, context, W_q, W_k, W_v)",
    prompt=(
        "Queries come from x (B, q_len, d_x), keys and values from context (B, kv_len, d_context). Rows of a "
        "weight matrix are inputs, columns outputs: W_q (d_x, d_k), W_k (d_context, d_k), W_v (d_context, d_v). "
        "Return the head's output, (B, q_len, d_v). No mask, no bias. Scores are small here."
    ),
    build=one_head_of,
    probes=one_head_probes,
    result=("B, q_len, d_v",),
    wrong=(
        *steps.SCALES,
        *map(steps.by_width, (0, 1)),
        *steps.AFTER,
        *steps.QUERY_SOFTMAX,
        *steps.BATCH_SOFTMAX,
        *steps.KEYS,
        wrong(11, "You projected the values with W_k.", value_weight=lambda W_k, W_v: W_k),
        wrong(28, product=steps.all_axes),
        *(wrong(29, **dict.fromkeys(names, transposed)) for names in SOME_INPUTS),
    ),
    variants=(one_head_by_loops, one_head_by_einsum, *any_way(one_head_of())),
    chapter="02_one_view",
)

# ---- many heads: projections, attention, concatenation --------------------------------------


def many_heads_of(query=OWN_COLUMNS, key=OWN_COLUMNS, value=OWN_COLUMNS,
                  value_weight=lambda W_k, W_v: W_v, merge=merge_heads, loop=None, **chosen):  # fmt: skip
    def program(x, context, W_q, W_k, W_v, num_heads, d_model=None):
        if loop:
            return loop(x, context, W_q, W_k, W_v, num_heads)
        widths = (x.shape[-1], context.shape[-1], W_v.shape[1], d_model)
        W_v = value_weight(W_k, W_v)
        q, k, v = query(x, W_q, num_heads), key(context, W_k, num_heads), value(context, W_v, num_heads)
        return merge(steps.attend(q, k, v, widths=widths, **chosen)[0])

    return program


def many_heads_args(rng, B, h, q_len, kv_len, d_x, d_context, d_k, d_v):
    return (*one_head_args(rng, B, q_len, kv_len, d_x, d_context, h * d_k, h * d_v), h)


def many_heads_probes(rng):
    return {
        "2 samples, 3 heads": many_heads_args(rng, 2, 3, 5, 7, 12, 9, 11, 4),
        "3 samples, 2 heads": many_heads_args(rng, 3, 2, 7, 4, 10, 8, 3, 5),
        "square matrices, as many queries as keys": many_heads_args(rng, 3, 2, 5, 5, 8, 8, 4, 4),
        "inputs as wide as one head": many_heads_args(rng, 3, 2, 5, 7, 6, 6, 6, 6),
        "as many samples, heads, keys and features": many_heads_args(rng, 3, 3, 4, 3, 6, 9, 3, 3),
        "one head": many_heads_args(rng, 2, 1, 5, 3, 7, 4, 6, 11),
    }


def list_joined(heads):
    """A list of heads (h, B, seq, d) turned into the right shape by reshape alone."""
    B, h, n, d = heads.shape
    return heads.swapaxes(0, 1).reshape(B, n, h * d)


MERGES = (
    *(entry for entry in shapes.MERGES if entry.steps["merge"] is not shapes.swapped_and_joined),
    wrong(2, merge=list_joined),
)


def everywhere(number, projection, names=INPUTS, note="", **more):
    """One wrong way to project, for several of q, k, v."""
    return wrong(number, note, **dict.fromkeys(names, projection), **more)


ALIKE = "Every head uses the same projections, so all heads are equal."
PROJECTIONS = (
    *(everywhere(1, project_of(cut=cut)) for cut in shapes.UNMOVED),
    everywhere(1, project_of(cut=shapes.not_moved), merge=lambda heads: heads.reshape(*heads.shape[:2], -1),
               note="You left the head axis behind the tokens: each token's heads attend to each other."),
    *(everywhere(13, way) for way in packing.BLIND),
    *(everywhere(15, way, names) for way in packing.SHARED for names in SOME_INPUTS[1:2]),
    *(everywhere(15, way, note=ALIKE, alone=True) for way in packing.SHARED),  # in a pair it would be one head alone
    *(everywhere(29, project_of(product=transposed), names) for names in SOME_INPUTS),
)  # fmt: skip


def own_scale(q, widths):
    """1 / √(d_model / h), although q is as wide as all heads together."""
    return (q.shape[-1] // q.shape[1]) ** -0.5


ALL_COLUMNS = project_of(cut=shapes.full_width)
FULL_WIDTH = tuple(everywhere(35, ALL_COLUMNS, **scale) for scale in ({}, {"scale": own_scale}))
BIG = "Nothing is cut: these are the values of a single head of full width, d_k = d_model."
ONE_BIG_HEAD = tuple(everywhere(35, ALL_COLUMNS, INPUTS[:2], BIG, **scale) for scale in ({}, {"scale": own_scale}))
WEIGHING = (
    *ONE_BIG_HEAD,
    *steps.ATTENTION,
    *map(steps.by_width, (0, 1, 2)),
    wrong(11, "You projected the values with W_k.", value_weight=lambda W_k, W_v: W_k),
)


def many_heads_by_loop(x, context, W_q, W_k, W_v, num_heads):
    heads = []
    for i in range(num_heads):
        W = [packing.columns(W, i, num_heads) for W in (W_q, W_k, W_v)]
        heads.append(one_head_by_einsum(x, context, *W))
    return np.concatenate(heads, axis=-1)


MANY_HEADS = Exercise(
    name="many_heads",
    title="all heads, concatenated, before W_O",
    call="many_heads(x, context, W_q, W_k, W_v, num_heads)",
    prompt=(
        "Queries come from x (B, q_len, d_x), keys and values from context (B, kv_len, d_context). The matrices "
        "are packed, rows are inputs: W_q (d_x, num_heads · d_k), W_k (d_context, num_heads · d_k), W_v "
        "(d_context, num_heads · d_v); columns i·d_k ... (i+1)·d_k - 1 (of W_v: i·d_v ... (i+1)·d_v - 1) are head "
        "i's. Return the concatenation of the heads' outputs, (B, q_len, num_heads · d_v), without W_O. No mask, "
        "no bias. Scores are small here."
    ),
    build=many_heads_of,
    probes=many_heads_probes,
    result=("B, q_len, num_heads · d_v",),
    wrong=(
        *WEIGHING,
        *PROJECTIONS,
        *FULL_WIDTH,
        *MERGES,
        *LOOPS,
    ),
    variants=(many_heads_by_loop, *any_way(many_heads_of())),
    chapter="04_heads",
)  # fmt: skip

EXERCISES = (ONE_HEAD, MANY_HEADS)
