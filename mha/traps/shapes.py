"""Exercises: split, merge, project, and read a packed projection."""

import numpy as np

from mha.multihead import merge_heads, split_heads

from .draw import matrix, normal
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
        "x has shape (B, seq, d) and num_heads divides d. Return shape (B, num_heads, seq, d / num_heads): head i holds\n"
        "features i·d/num_heads ... (i+1)·d/num_heads - 1 of every token."
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


SWAPS = (swapped_axes, swapped_memory, swapped_and_joined)
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
    wrong(3, merge=swapped_shape, by_error=True, alone=True),
    *(wrong(16, POOLED.format(word), merge=how(pool)) for word, pool in POOLS.items() for how in (lambda p: p, repeated)),
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
        "heads has shape (B, num_heads, seq, d_v). Return Concat(head_1 ... head_h), of shape (B, seq, num_heads · d_v):\n"
        "each token's row holds its numbers from head 0, then those from head 1, and so on."
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

# ---- project --------------------------------------------------------------------------------


def columns(W, i, num_heads):
    """Head i's columns of a packed matrix."""
    width = W.shape[1] // num_heads
    return W[:, i * width : (i + 1) * width]


def blind(rows, block):
    """Cut x into one piece a head and project each alone, by rows `rows(i)` and columns `block(i)` of W."""

    def project(x, W, num_heads):
        width = x.shape[-1] // num_heads
        pieces = split_heads(x, num_heads)
        parts = [W[rows(i) * width : (rows(i) + 1) * width] for i in range(num_heads)]
        return np.stack([pieces[:, i] @ columns(parts[i], block(i), num_heads) for i in range(num_heads)], axis=1)

    return project


def shared(head):
    """The same head's columns for every head."""
    return lambda x, W, num_heads: np.stack([x @ columns(W, head % num_heads, num_heads)] * num_heads, axis=1)


def plain(x, W):
    return x @ W


def transposed(x, W):
    return x @ W.T


def project_of(product=plain, cut=split_heads, whole=None):
    def program(x, W, num_heads):
        return whole(x, W, num_heads) if whole else cut(product(x, W), num_heads)

    return program


OWN, FIRST = (lambda i: i), (lambda i: 0)
BLIND = tuple(blind(rows, block) for rows in (OWN, FIRST) for block in (OWN, FIRST))
SHARED = (shared(0), shared(-1))


def project_probes(rng):
    return {
        "2 samples, 3 heads": (normal(rng, 2, 4, 12), matrix(rng, 12, 15), 3),
        "3 samples, 2 heads": (normal(rng, 3, 5, 10), matrix(rng, 10, 14), 2),
        "as many columns as rows": (normal(rng, 2, 5, 12), matrix(rng, 12, 12), 3),
    }


def project_by_slices(x, W, num_heads):
    return np.stack([x @ columns(W, i, num_heads) for i in range(num_heads)], axis=1)


def project_by_einsum(x, W, num_heads):
    return np.einsum("bnd,dhk->bhnk", x, W.reshape(W.shape[0], num_heads, -1))


PROJECT = Exercise(
    name="project",
    title="every head's own projection, packed into one matrix",
    call="project(x, W, num_heads)",
    prompt=(
        "x has shape (B, seq, d_in); W has shape (d_in, num_heads · d_k): rows are inputs, columns outputs, and columns\n"
        "i·d_k ... (i+1)·d_k - 1 are head i's. Return every head's projection of x, of shape (B, num_heads, seq, d_k)."
    ),
    build=project_of,
    probes=project_probes,
    result=("B, num_heads, seq, d_k",),
    wrong=(
        *(wrong(1, cut=cut) for cut in (*UNMOVED, *UNMOVED_SHAPES)),
        wrong(1, MOVE, cut=not_moved),
        *(wrong(13, whole=program, alone=True) for program in BLIND),
        *(wrong(15, "Every head uses the same columns of W.", whole=program, alone=True) for program in SHARED),
        wrong(29, product=transposed),
        wrong(35, cut=full_width),
    ),
    variants=(project_by_slices, project_by_einsum, *any_way(project_of())),
    laws=(("a head doesn't react to every feature of x",
           lambda f, args: all((f(args[0] + (np.arange(args[0].shape[-1]) == j), *args[1:])[0] != f(*args)[0])
                               .any(axis=(0, 2, 3)).all() for j in range(args[0].shape[-1]))),),
    chapter="03_projections",
)  # fmt: skip

# ---- packed ---------------------------------------------------------------------------------


def three_first(y, num_heads):
    """q, k, v out of columns laid out as (3, h, d)."""
    B, n, width = y.shape
    return tuple(y.reshape(B, n, 3, num_heads, width // (3 * num_heads)).transpose(2, 0, 3, 1, 4))


def heads_first(y, num_heads):
    B, n, width = y.shape
    return tuple(y.reshape(B, n, num_heads, 3, width // (3 * num_heads)).transpose(3, 0, 2, 1, 4))


def three_last(y, num_heads):
    B, n, width = y.shape
    return tuple(y.reshape(B, n, num_heads, width // (3 * num_heads), 3).transpose(4, 0, 2, 1, 3))


def each(cut):
    """Three equal parts of the columns, each cut into heads in some way."""
    return lambda y, num_heads: tuple(cut(part, num_heads) for part in np.split(y, 3, axis=-1))


def from_memory(y, num_heads):
    B, n, width = y.shape
    return tuple(y.reshape(3, B, num_heads, n, width // (3 * num_heads)))


def sample_memory(y, num_heads):
    B, n, width = y.shape
    return tuple(y.reshape(B, 3, num_heads, n, width // (3 * num_heads)).swapaxes(0, 1))


def packed_of(product=plain, cut=three_first):
    def program(x, W, num_heads):
        return cut(product(x, W), num_heads)

    return program


def packed_probes(rng):
    numbered = np.zeros((2, 1, 3 * 3 * 5)) + np.arange(3 * 3 * 5.0)
    return {
        "column j holds j": (np.ones((2, 4, 1)), numbered[0], 3),
        "2 samples, 3 heads": (normal(rng, 2, 4, 7), matrix(rng, 7, 3 * 3 * 5), 3),
        "4 samples, 2 heads": (normal(rng, 4, 5, 11), matrix(rng, 11, 3 * 2 * 7), 2),
        "as many columns as rows": (normal(rng, 2, 4, 18), matrix(rng, 18, 18), 3),
    }


def packed_by_slices(x, W, num_heads):
    d = W.shape[1] // 3
    return [np.stack(np.split(x @ W[:, s * d : (s + 1) * d], num_heads, axis=-1), axis=1) for s in range(3)]


PACKED = Exercise(
    name="packed",
    title="q, k and v out of one packed projection",
    call="packed(x, W_qkv, num_heads)",
    prompt=(
        "x has shape (B, seq, d_in). W_qkv has shape (d_in, 3 · num_heads · d_k), rows are inputs; its columns are laid\n"
        "out as (3, num_heads, d_k): first q of all heads, then k of all heads, then v of all heads.\n"
        "Return q, k, v, each of shape (B, num_heads, seq, d_k)."
    ),
    build=packed_of,
    probes=packed_probes,
    result=("B, num_heads, seq, d_k",) * 3,
    wrong=(
        wrong(27, cut=heads_first),
        *(wrong(1, cut=cut) for cut in (*map(each, UNMOVED), from_memory, sample_memory)),
        wrong(1, MOVE, cut=each(not_moved)),
        wrong(29, product=transposed),
        wrong(None, "The three parts q, k, v are taken from the innermost axis of the columns.", cut=three_last),
    ),
    variants=(packed_by_slices, *any_way(packed_of())),
    chapter="03_projections",
)

EXERCISES = (SPLIT, MERGE, PROJECT, PACKED)
