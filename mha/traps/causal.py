"""Exercises: the causal mask, decoding with a cache."""

import numpy as np

from . import steps
from .draw import qkv
from .engine import Exercise, wrong
from .masks import same
from .ways import any_way

# ---- the causal mask itself -----------------------------------------------------------------


def at_end(q_len, kv_len):
    return kv_len - q_len


def at_start(q_len, kv_len):
    return 0


def causal_of(start=at_end, shift=0, read=same):
    def program(q_len, kv_len):
        return read(np.tri(q_len, kv_len, start(q_len, kv_len) + shift, dtype=bool))

    return program


DIAGONALS = (
    wrong(24, "The diagonal is missing from your causal mask: a token cannot see itself.", shift=-1),
    wrong(24, "Your causal mask has one diagonal too many: each token sees the next one.", shift=1),
    wrong(25, start=at_start),
)


def causal_by_loops(q_len, kv_len):
    return [[j <= kv_len - q_len + i for j in range(kv_len)] for i in range(q_len)]


def causal_by_positions(q_len, kv_len):
    return np.arange(kv_len) <= np.arange(kv_len - q_len, kv_len)[:, None]


CAUSAL = Exercise(
    name="causal",
    title="the causal mask, also for fewer queries than keys",
    call="causal(q_len, kv_len)",
    prompt=(
        "The queries are the last q_len of kv_len tokens (q_len <= kv_len). Return a boolean array (q_len, "
        "kv_len), True where a query may attend: every token sees itself and all earlier ones, none sees a later "
        "one."
    ),
    build=causal_of,
    probes=lambda rng: {"square": (5, 5), "3 new tokens": (3, 7), "1 new token": (1, 6), "2 of 3": (2, 3)},
    result=("q_len, kv_len",),
    wrong=(*steps.POLARITY, *DIAGONALS),
    variants=(causal_by_loops, causal_by_positions, lambda q, k: np.tril(np.ones((q, k)), k - q)),
    chapter="10_masks",
)

# ---- causal decoding ------------------------------------------------------------------------


def decode_of(start=at_end, shift=0, read=same, **chosen):
    def program(q, k, v):
        mask = causal_of(start, shift, read)(q.shape[-2], k.shape[-2])
        return steps.attend(q, k, v, mask, **chosen)[0]

    return program


def decode_probes(rng):
    return {
        "the whole sentence": qkv(rng, 2, 3, 5, 5, 7, 11),
        "3 new tokens of 7": qkv(rng, 3, 2, 3, 7, 11, 5),
        "1 new token of 6": qkv(rng, 2, 3, 1, 6, 5, 7),
        "as many samples, heads, keys and features": qkv(rng, 3, 3, 2, 3, 3, 3),
    }


def decode_by_loops(q, k, v):
    output = np.zeros((*q.shape[:3], v.shape[-1]))
    for b, i, t in np.ndindex(*q.shape[:3]):
        seen = k.shape[2] - q.shape[2] + t + 1
        e = np.exp(k[b, i, :seen] @ q[b, i, t] / np.sqrt(q.shape[-1]))
        output[b, i, t] = e / e.sum() @ v[b, i, :seen]
    return output


def past_stays(f, args):
    """The last key and value may move the last query only."""
    q, k, v = (a.copy() for a in args)
    k[:, :, -1] += 1
    v[:, :, -1] += 10
    return np.allclose(f(q, k, v)[0][:, :, :-1], f(*args)[0][:, :, :-1], atol=1e-4)


DECODE = Exercise(
    name="decode",
    title="causal attention of the newest tokens on a cache of keys and values",
    call="decode(q, k, v)",
    prompt=(
        "k (B, num_heads, kv_len, d_k) and v (B, num_heads, kv_len, d_v) hold all tokens so far; q has shape (B, "
        "num_heads, q_len, d_k) and holds the last q_len of these tokens (q_len <= kv_len; one new token: q_len = "
        "1). Return the output of causal attention, (B, num_heads, q_len, d_v): a token sees itself and all "
        "earlier ones, none sees a later one. Scores are small here."
    ),
    build=decode_of,
    probes=decode_probes,
    result=("B, num_heads, q_len, d_v",),
    wrong=(*DIAGONALS, *steps.MASKING, *steps.ATTENTION),
    styles=(*steps.MASK_STYLES, {"fill": steps.ignored, "after": steps.removed_and_rescaled}),
    variants=(decode_by_loops, *any_way(decode_of())),
    laws=(("a later token moves an earlier one's output", past_stays),),
    chapter="11_in_transformers",
)

EXERCISES = (CAUSAL, DECODE)
