"""Exercise: grouped heads."""

import numpy as np

from . import steps
from .draw import qkv
from .engine import Exercise, wrong
from .ways import any_way


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
        "q has shape (B, num_heads, q_len, d_k), k (B, num_kv_heads, kv_len, d_k), v (B, num_kv_heads, kv_len, "
        "d_v); num_kv_heads divides num_heads. Neighbouring query heads share a key/value head: with 6 and 3 "
        "heads, query heads 0 and 1 use key/value head 0, query heads 2 and 3 use 1, 4 and 5 use 2. Return the "
        "output of scaled dot-product attention, (B, num_heads, q_len, d_v). No mask. Scores are small here."
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

EXERCISES = (GROUPED,)
