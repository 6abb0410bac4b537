"""Exercises: split features into heads, merge heads."""

import numpy as np

from mha.multihead import merge_heads, split_heads

from .draw import normal
from .engine import Exercise, wrong
from .ways import any_way


def whole(answer):
    """A `build` for an exercise of one step: the program itself."""

    def build(answer=answer):
        return answer

    return build


def own_features(x, num_heads):
    return split_heads(x, num_heads)


# ---- split ----------------------------------------------------------------------------------


def cut_memory(x, num_heads):
    B, n, d = x.shape
    return x.reshape(B, num_heads, n, d // num_heads)


def cut_memory_flat(x, num_heads):
    B, n, d = x.shape
    return x.reshape(B * num_heads, n, d // num_heads)


def cut_memory_heads_first(x, num_heads):
    B, n, d = x.shape
    return x.reshape(num_heads, B, n, d // num_heads).swapaxes(0, 1)


def cut_memory_and_swap(x, num_heads):
    B, n, d = x.shape
    return x.reshape(B, num_heads, d // num_heads, n).swapaxes(2, 3)


def heads_before_batch(x, num_heads):
    B, n, d = x.shape
    return x.reshape(num_heads, B, n, d // num_heads)


def not_moved(x, num_heads):
    B, n, d = x.shape
    return x.reshape(B, n, num_heads, d // num_heads)


def full_width(x, num_heads):
    return np.stack([x] * num_heads, axis=1)


def split_probes(rng):
    tokens = np.broadcast_to(np.arange(4.0)[:, None], (2, 4, 15)).copy()
    return {
        "token t holds t": (tokens, 3),
        "2 samples, 3 heads": (normal(rng, 2, 4, 15), 3),
        "3 samples, 2 heads": (normal(rng, 3, 5, 14), 2),
        "numbered": (np.arange(2 * 7 * 20.0).reshape(2, 7, 20), 5),
    }


def split_by_slices(x, num_heads):
    w = x.shape[-1] // num_heads
    return np.stack([x[:, :, i * w : (i + 1) * w] for i in range(num_heads)], axis=1)


def split_by_loops(x, num_heads):
    B, n, d = x.shape
    heads = np.zeros((B, num_heads, n, d // num_heads))
    for b, t, j in np.ndindex(B, n, d):
        heads[b, j // (d // num_heads), t, j % (d // num_heads)] = x[b, t, j]
    return heads


UNMOVED = (cut_memory, cut_memory_heads_first, cut_memory_and_swap)
UNMOVED_SHAPES = (cut_memory_flat, heads_before_batch)
MOVE = "You cut the features into heads, but left the head axis behind the tokens."

SPLIT = Exercise(
    name="split",
    title="cut features into heads",
    call="split(x, num_heads)",
    prompt=(
        "x has shape (B, seq, d) and num_heads divides d. Return shape (B, num_heads, seq, d / num_heads): head i "
        "holds features i·d/num_heads ... (i+1)·d/num_heads - 1 of every token."
    ),
    build=whole(own_features),
    probes=split_probes,
    result=("B, num_heads, seq, d / num_heads",),
    wrong=(
        *(wrong(1, answer=program) for program in (*UNMOVED, *UNMOVED_SHAPES)),
        wrong(1, MOVE, answer=not_moved),
        wrong(35, answer=full_width),
    ),
    variants=(split_by_slices, split_by_loops, *any_way(split_heads)),
    laws=(("tokens mix: with token t holding t everywhere, a head's row t must be all t",
           lambda f, args: (f(args[0] * 0 + np.arange(args[0].shape[1])[:, None], args[1])[0]
                            == np.arange(args[0].shape[1])[:, None]).all()),),
    chapter="03_projections",
)  # fmt: skip

# ---- merge ----------------------------------------------------------------------------------


def joined_memory(heads):
    B, h, n, d = heads.shape
    return heads.reshape(B, n, h * d)


def swapped_axes(heads):
    B, h, n, d = heads.shape
    return heads.transpose(1, 2, 0, 3).reshape(B, n, h * d)


def swapped_shape(heads):
    B, h, n, d = heads.shape
    return heads.transpose(1, 2, 0, 3).reshape(h, n, B * d)


def swapped_memory(heads):
    B, h, n, d = heads.shape
    return heads.reshape(h, B, n, d).transpose(1, 2, 0, 3).reshape(B, n, h * d)


def swapped_and_joined(heads):
    B, h, n, d = heads.shape
    return heads.swapaxes(0, 1).reshape(B, n, h * d)


def list_read_as_batch(heads):
    """A list of heads (h, B, seq, d) read as (B, h, seq, d)."""
    B, h, n, d = heads.shape
    return heads.swapaxes(0, 1).reshape(B, h, n, d).transpose(0, 2, 1, 3).reshape(B, n, h * d)


SWAPS = (swapped_axes, swapped_memory, swapped_and_joined, list_read_as_batch)
POOLS = {
    "averaged": lambda heads: heads.mean(axis=1),
    "summed": lambda heads: heads.sum(axis=1),
    "max-pooled": lambda heads: heads.max(axis=1),
}
POOLED = "You {} the heads, where all of them must stay side by side."


def repeated(pool):
    """The pooled head, as often as there are heads: the right shape."""
    return lambda heads: np.concatenate([pool(heads)] * heads.shape[1], axis=-1)


MERGES = (
    wrong(2, merge=joined_memory),
    *(wrong(3, merge=program) for program in SWAPS),
    wrong(3, merge=swapped_shape, by_error=True),
    *(
        wrong(16, POOLED.format(word), merge=merge, by_error=True)
        for word, pool in POOLS.items()
        for merge in (pool, repeated(pool))
    ),
)


def merge_probes(rng):
    heads = np.broadcast_to(np.arange(3.0)[:, None, None], (2, 3, 4, 5)).copy()
    samples = np.broadcast_to(np.arange(2.0)[:, None, None, None], (2, 3, 4, 5)).copy()
    return {
        "head i holds i": (heads,),
        "sample b holds b": (samples,),
        "2 samples, 3 heads": (normal(rng, 2, 3, 4, 5),),
        "3 samples, 2 heads": (normal(rng, 3, 2, 5, 7),),
    }


def merge_by_loop(heads):
    return np.concatenate([heads[:, i] for i in range(heads.shape[1])], axis=2)


def merge_by_einsum(heads):
    B, h, n, d = heads.shape
    return np.einsum("bhnd->bnhd", heads).reshape(B, n, h * d)


def merge_of(merge=merge_heads):
    def program(heads):
        return merge(heads)

    return program


MERGE = Exercise(
    name="merge",
    title="put heads side by side",
    call="merge(heads)",
    prompt=(
        "heads has shape (B, num_heads, seq, d_v). Return Concat(head_1 ... head_h), of shape (B, seq, num_heads "
        "· d_v): each token's row holds its numbers from head 0, then those from head 1, and so on."
    ),
    build=merge_of,
    probes=merge_probes,
    result=("B, seq, num_heads · d_v",),
    wrong=MERGES,
    variants=(merge_by_loop, merge_by_einsum, *any_way(merge_of())),
    laws=(("samples mix: a change in sample 0 moves another sample",
           lambda f, args: np.allclose(f(np.concatenate([args[0][:1] + 1, args[0][1:]]))[0][1:], f(*args)[0][1:])),),
    chapter="05_concat_and_output",
)  # fmt: skip

EXERCISES = (SPLIT, MERGE)
