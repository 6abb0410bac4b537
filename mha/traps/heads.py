"""Exercises: one head, many heads, W_O, the whole layer, grouped heads."""

from dataclasses import replace

import numpy as np

from mha.multihead import merge_heads

from . import shapes, steps
from .draw import matrix, normal, qkv
from .engine import Exercise, wrong
from .loops import LOOPS
from .shapes import plain, project_of, transposed
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



ONE_HEAD = Exercise(
    name="one_head",
    title="one head, from the inputs to its output",
    call="one_head(x, context, W_q, W_k, W_v)",
    prompt=(
        "Queries come from x (B, q_len, d_x), keys and values from context (B, kv_len, d_context). Rows of a weight matrix\n"
        "are inputs, columns outputs: W_q (d_x, d_k), W_k (d_context, d_k), W_v (d_context, d_v).\n"
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
        wrong(29, query=transposed, key=transposed, value=transposed),
        wrong(29, query=transposed, key=transposed),
        wrong(29, query=transposed),
        wrong(29, key=transposed),
        wrong(29, value=transposed),
    ),
    variants=(one_head_by_loops, one_head_by_einsum, *any_way(one_head_of())),
    chapter="01_single_head",
)

# ---- many heads: projections, attention, concatenation --------------------------------------


def many_heads_of(query=project_of(), key=project_of(), value=project_of(),
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
UNMOVED_BOTH = (
    wrong(1, "You left the head axis behind the tokens: each token's heads attend to each other.",
          query=project_of(cut=shapes.not_moved), key=project_of(cut=shapes.not_moved),
          value=project_of(cut=shapes.not_moved), merge=lambda heads: heads.reshape(*heads.shape[:2], -1)),
)  # fmt: skip


def everywhere(number, projection, names=("query", "key", "value"), note=""):
    """One wrong way to project, for all of q, k, v."""
    return wrong(number, note, **dict.fromkeys(names, projection))


PROJECTIONS = (
    *(everywhere(1, project_of(cut=cut)) for cut in shapes.UNMOVED),
    *UNMOVED_BOTH,
    *(everywhere(13, way) for way in shapes.BLIND),
    *(everywhere(15, way, names) for way in shapes.SHARED for names in (("query", "key"), ("query", "key", "value"))),
    *(everywhere(29, project_of(product=transposed), names)
      for names in (("query", "key", "value"), ("query", "key"), ("query",), ("key",), ("value",))),
)  # fmt: skip


def own_scale(q, widths):
    """1 / √(d_model / h), although q is as wide as all heads together."""
    return (q.shape[-1] // q.shape[1]) ** -0.5


ALL_COLUMNS = project_of(cut=shapes.full_width)
FULL_WIDTH = tuple(
    wrong(35, **dict.fromkeys(("query", "key", "value"), ALL_COLUMNS), **scale) for scale in ({}, {"scale": own_scale})
)
ONE_BIG_HEAD = tuple(
    wrong(None, "Nothing is cut: these are the values of a single head of full width.",
          query=ALL_COLUMNS, key=ALL_COLUMNS, **scale)
    for scale in ({}, {"scale": own_scale})
)  # fmt: skip
WEIGHING = (
    *ONE_BIG_HEAD,
    *steps.ATTENTION,
    *map(steps.by_width, (0, 1, 2)),
    wrong(11, "You projected the values with W_k.", value_weight=lambda W_k, W_v: W_k),
)


def many_heads_by_loop(x, context, W_q, W_k, W_v, num_heads):
    heads = []
    for i in range(num_heads):
        W = [shapes.columns(W, i, num_heads) for W in (W_q, W_k, W_v)]
        heads.append(one_head_by_einsum(x, context, *W))
    return np.concatenate(heads, axis=-1)


MANY_HEADS = Exercise(
    name="many_heads",
    title="all heads, concatenated, before W_O",
    call="many_heads(x, context, W_q, W_k, W_v, num_heads)",
    prompt=(
        "Queries come from x (B, q_len, d_x), keys and values from context (B, kv_len, d_context). The matrices are packed,\n"
        "rows are inputs: W_q (d_x, num_heads · d_k), W_k (d_context, num_heads · d_k), W_v (d_context, num_heads · d_v);\n"
        "columns i·d_k ... (i+1)·d_k - 1 (of W_v: i·d_v ... (i+1)·d_v - 1) are head i's. Return the concatenation of the\n"
        "heads' outputs, (B, q_len, num_heads · d_v), without W_O. No mask, no bias. Scores are small here."
    ),
    build=many_heads_of,
    probes=many_heads_probes,
    result=("B, q_len, num_heads · d_v",),
    wrong=(
        *WEIGHING,
        *PROJECTIONS,
        *FULL_WIDTH,
        *MERGES,
        *(wrong(12, loop=loop, by_error=True, alone=True) for loop in LOOPS),
    ),
    variants=(many_heads_by_loop, *any_way(many_heads_of())),
    chapter="04_heads",
)  # fmt: skip

# ---- concat and W_O -------------------------------------------------------------------------


def times_W_o(concat, W_o, h):
    return concat @ W_o


def blocks(W_o, h):
    """W_o as (h, d_v, d_model): block i takes head i."""
    return W_o.reshape(h, -1, W_o.shape[1])


OUT = (
    wrong(14, out=lambda concat, W_o, h: concat),
    wrong(29, out=lambda concat, W_o, h: concat @ W_o.T),
)
ONE_BLOCK = (
    lambda pooled, W_o, h: pooled @ blocks(W_o, h)[0],
    lambda pooled, W_o, h: pooled @ blocks(W_o, h)[-1],
    lambda pooled, W_o, h: pooled @ blocks(W_o, h).mean(axis=0),
)
NARROW = "What reaches W_o is one head wide: the heads were averaged, pooled or dropped instead of put side by side."
PRODUCTS = (
    times_W_o,
    lambda pooled, W_o, h: np.dot(pooled, W_o),
    lambda pooled, W_o, h: np.einsum("bnd,de->bne", pooled, W_o),
)
POOLED_OUT = (
    *(wrong(16, shapes.POOLED.format(word), merge=pool, out=out)
      for word, pool in shapes.POOLS.items() for out in ONE_BLOCK),
    *(wrong(16, NARROW, merge=shapes.POOLS["averaged"], out=out, by_error=True, alone=True) for out in PRODUCTS),
)  # fmt: skip


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
        "heads has shape (B, num_heads, seq, d_v); W_o has shape (num_heads · d_v, d_model), rows are inputs: rows\n"
        "i·d_v ... (i+1)·d_v - 1 take head i. Return Concat(head_1 ... head_h) W_O, of shape (B, seq, d_model)."
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
    concat_of = many_heads_of(**chosen)

    def program(x, context, W_q, W_k, W_v, W_o, num_heads):
        if loop:
            return loop(x, context, W_q, W_k, W_v, num_heads, W_o)
        return out(concat_of(x, context, W_q, W_k, W_v, num_heads, W_o.shape[1]), W_o, num_heads)

    return program


def layer_probes(rng):
    widths = (17, 13, 8, 9, 7, 5)
    return {
        label: (*args[:5], matrix(rng, args[4].shape[1], d_model), args[5])
        for (label, args), d_model in zip(many_heads_probes(rng).items(), widths)
    }


def layer_by_sum(x, context, W_q, W_k, W_v, W_o, num_heads):
    total = 0
    for i, block in enumerate(blocks(W_o, num_heads)):
        W = [shapes.columns(W, i, num_heads) for W in (W_q, W_k, W_v)]
        total = total + one_head_by_loops(x, context, *W) @ block
    return total


LAYER = Exercise(
    name="layer",
    title="the whole layer: projections, heads, concatenation, W_O",
    call="layer(x, context, W_q, W_k, W_v, W_o, num_heads)",
    prompt=(
        "Queries come from x (B, q_len, d_x), keys and values from context (B, kv_len, d_context). The matrices are packed,\n"
        "rows are inputs: W_q (d_x, num_heads · d_k), W_k (d_context, num_heads · d_k), W_v (d_context, num_heads · d_v);\n"
        "columns i·d_k ... (i+1)·d_k - 1 (of W_v: i·d_v ... (i+1)·d_v - 1) are head i's. W_o (num_heads · d_v, d_model).\n"
        "Return multi-head attention's output, (B, q_len, d_model). No mask, no bias. Scores are small here."
    ),
    build=layer_of,
    probes=layer_probes,
    result=("B, q_len, d_model",),
    wrong=(
        *WEIGHING,
        steps.by_width(3),
        *PROJECTIONS,
        *MERGES,
        *OUT,
        *POOLED_OUT,
        *(wrong(12, loop=loop, by_error=True, alone=True) for loop in LOOPS),
        wrong(29, **dict.fromkeys(("query", "key", "value"), project_of(product=transposed)), out=OUT[1].steps["out"]),
        *(replace(entry, by_error=True, alone=True) for entry in FULL_WIDTH),
        wrong(None, "The heads are not put side by side before W_o.", merge=lambda heads: heads, by_error=True),
    ),
    variants=(layer_by_sum, *any_way(layer_of())),
    chapter="05_concat_and_output",
)

# ---- grouped heads --------------------------------------------------------------------------


def neighbours(x, times):
    return np.repeat(x, times, axis=1)


def tiled(x, times):
    return np.tile(x, (1, times, 1, 1))


def grouped_of(keys=neighbours, values=neighbours, **chosen):
    def program(q, k, v):
        times = q.shape[1] // k.shape[1]
        return steps.attend(q, keys(k, times), values(v, times), **chosen)[0]

    return program


def grouped_probes(rng):
    q, k, v = qkv(rng, 2, 6, 4, 5, 7, 3, kv_heads=3)
    tagged = np.broadcast_to(np.arange(3.0)[:, None, None], v.shape).copy()
    return {
        "values of head g hold g": (q, k, tagged),
        "6 heads, 3 of keys": (q, k, v),
        "6 heads, 2 of keys": qkv(rng, 3, 6, 5, 7, 4, 11, kv_heads=2),
        "as many samples, heads, keys and features": qkv(rng, 4, 4, 5, 4, 4, 4, kv_heads=2),
    }


def grouped_by_loop(q, k, v):
    times = q.shape[1] // k.shape[1]
    output = np.zeros((*q.shape[:3], v.shape[-1]))
    for i in range(q.shape[1]):
        e = np.exp(q[:, i] @ k[:, i // times].swapaxes(1, 2) / np.sqrt(q.shape[-1]))
        output[:, i] = e / e.sum(-1, keepdims=True) @ v[:, i // times]
    return output


def grouped_by_axes(q, k, v):
    B, h, n, d = q.shape
    g = k.shape[1]
    s = np.einsum("bgrnd,bgmd->bgrnm", q.reshape(B, g, h // g, n, d), k) / np.sqrt(d)
    e = np.exp(s)
    return np.einsum("bgrnm,bgmd->bgrnd", e / e.sum(-1, keepdims=True), v).reshape(B, h, n, -1)


GROUPED = Exercise(
    name="grouped",
    title="query heads that share key/value heads",
    call="grouped(q, k, v)",
    prompt=(
        "q has shape (B, num_heads, q_len, d_k), k (B, num_kv_heads, kv_len, d_k), v (B, num_kv_heads, kv_len, d_v);\n"
        "num_kv_heads divides num_heads. Neighbouring query heads share a key/value head: with 6 and 3 heads, query heads\n"
        "0 and 1 use key/value head 0, query heads 2 and 3 use 1, 4 and 5 use 2. Return the output of scaled dot-product\n"
        "attention, (B, num_heads, q_len, d_v). No mask. Scores are small here."
    ),
    build=grouped_of,
    probes=grouped_probes,
    result=("B, num_heads, q_len, d_v",),
    wrong=(
        wrong(26, keys=tiled, values=tiled),
        wrong(26, "You tiled the keys' heads, and repeated the values'.", keys=tiled),
        wrong(26, "You tiled the values' heads, and repeated the keys'.", values=tiled),
        *steps.ATTENTION,
    ),
    variants=(grouped_by_loop, grouped_by_axes, *any_way(grouped_of())),
    chapter="11_in_transformers",
)

EXERCISES = (ONE_HEAD, MANY_HEADS, OUTPUT, LAYER, GROUPED)
