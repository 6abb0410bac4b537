"""Exercises: every head's projection out of one matrix, q, k and v out of one matrix."""

import numpy as np

from mha.multihead import split_heads

from .draw import matrix, normal
from .engine import Exercise, wrong
from .shapes import MOVE, UNMOVED, UNMOVED_SHAPES, full_width, not_moved
from .ways import any_way

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


OWN_COLUMNS = project_of()
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
        "x has shape (B, seq, d_in); W has shape (d_in, num_heads · d_k): rows are inputs, columns outputs, and "
        "columns i·d_k ... (i+1)·d_k - 1 are head i's. Return every head's projection of x, of shape (B, "
        "num_heads, seq, d_k)."
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
    variants=(project_by_slices, project_by_einsum, *any_way(OWN_COLUMNS)),
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
        "x has shape (B, seq, d_in). W_qkv has shape (d_in, 3 · num_heads · d_k), rows are inputs; its columns "
        "are laid out as (3, num_heads, d_k): first q of all heads, then k of all heads, then v of all heads. "
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
    chapter="04_heads",
)

EXERCISES = (PROJECT, PACKED)
