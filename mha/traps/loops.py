"""Mistake 12 in all its forms: loops over heads that overwrite a name which later turns need."""

import math

import numpy as np

from mha.multihead import split_heads

from . import steps
from .engine import wrong

NAMES = ("qkv", "qk", "kv", "qv", "q", "k", "v")


def part(y, i, width):
    """Columns of head i."""
    return y[..., i * width : (i + 1) * width]


# ---- what the names q, k, v hold before the loop, what a turn does to them, what it then attends with ----
# given = {"q": (input, W, width of a head), "k": ..., "v": ...}


class CutAgain:
    """q = q[..., i*d_k : (i+1)*d_k] in every turn."""

    def start(x, W, width, h):
        return x @ W

    def turn(y, i, x, W, width, h):
        return part(y, i, width)

    def used(y, x):
        return y


class PickedAgain(CutAgain):
    """q = q[:, i] in every turn, on arrays that are split already."""

    def start(x, W, width, h):
        return split_heads(x @ W, h)

    def turn(y, i, x, W, width, h):
        return y[:, i]


class PickedBehindTokens(CutAgain):
    """q = q[:, :, i] in every turn."""

    def start(x, W, width, h):
        return (x @ W).reshape(*x.shape[:2], h, width)

    def turn(y, i, x, W, width, h):
        return y[:, :, i]


class ProjectedAgain(CutAgain):
    """q = q @ W_q[:, i*d_k : (i+1)*d_k] in every turn, starting from q = x."""

    def start(x, W, width, h):
        return x

    def turn(y, i, x, W, width, h):
        return y @ part(W, i, width)


class WeightsCutAgain(CutAgain):
    """W_q = W_q[:, i*d_k : (i+1)*d_k] in every turn."""

    def start(x, W, width, h):
        return W

    def used(y, x):
        return x @ y


class ReshapedAgain(CutAgain):
    """q = q.reshape(B, seq, h, -1)[:, :, i] in every turn."""

    def turn(y, i, x, W, width, h):
        return y.reshape(*y.shape[:2], h, -1)[:, :, i]


class ReshapedToWidthAgain(CutAgain):
    """q = q.reshape(B, seq, h, d_k)[:, :, i] in every turn."""

    def turn(y, i, x, W, width, h):
        return y.reshape(*y.shape[:2], h, width)[:, :, i]


class DividedAgain(CutAgain):
    """q = np.split(q, h, axis=-1)[i] in every turn."""

    def turn(y, i, x, W, width, h):
        return np.split(y, h, axis=-1)[i]


SCALES = (
    lambda q, d_k: 1 / math.sqrt(d_k),
    lambda q, d_k: 1 / np.sqrt(q.shape[-1]),  # the width that q has now
    lambda q, d_k: 1 / math.sqrt(q.shape[-1]),
    lambda q, d_k: q.shape[-1] ** -0.5,
)


def overwriting(names, kind=CutAgain, join=None, scale=SCALES[0]):
    """The loop over heads that overwrites `names` in every turn; with W_o it ends in concat @ W_o."""

    def loop(x, context, W_q, W_k, W_v, h, W_o=None):
        given = {n: (y, W, W.shape[1] // h) for n, y, W in zip("qkv", (x, context, context), (W_q, W_k, W_v))}
        now = {n: kind.start(*given[n], h) for n in "qkv"}
        heads = []
        for i in range(h):
            turned = {n: kind.turn(now[n], i, *given[n], h) for n in "qkv"}
            now |= {n: turned[n] for n in names}
            q, k, v = (kind.used(turned[n], given[n][0]) for n in "qkv")
            heads.append(steps.plain_softmax(steps.dots(q, k) * scale(q, given["q"][2])) @ v)
        concat = (join or side_by_side)(heads, x, given["v"][2])
        return concat if W_o is None else concat @ W_o  # in this frame, where q, k, v can be seen

    return loop


# ---- how the heads are joined after the loop --------------------------------------------------


def side_by_side(heads, x, d_v):
    return np.concatenate(heads, axis=-1)


def into_place(heads, x, d_v):
    output = np.zeros((*x.shape[:2], len(heads) * d_v))
    for i, head in enumerate(heads):
        output[..., i * d_v : (i + 1) * d_v] = head
    return output


JOINS = (side_by_side, into_place)  # np.stack only raises, as it would for other mistakes
KINDS = (
    CutAgain, PickedAgain, PickedBehindTokens, ProjectedAgain, WeightsCutAgain,
    ReshapedAgain, ReshapedToWidthAgain, DividedAgain,
)  # fmt: skip
EMPTYING = (CutAgain, WeightsCutAgain)  # a second cut leaves nothing
LOOPS = tuple(
    wrong(12, loop=overwriting(names, kind, join), by_error=True, by_empty=kind in EMPTYING, alone=True)
    for kind in KINDS
    for names in NAMES
    for join in JOINS
) + tuple(
    wrong(12, loop=overwriting(names, kind, scale=scale), by_error=True, by_empty=True, alone=True)
    for kind in EMPTYING
    for scale in SCALES[1:]
    for names in NAMES
    if "q" in names
)
