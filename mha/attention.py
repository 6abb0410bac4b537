"""Scaled dot-product attention: softmax(Q Kᵀ / √d_k) V (Vaswani et al. 2017, section 3.2.1)."""

import itertools
import math

import numpy as np

from . import checks

BLOCK = 2**18  # attention weights worked on at a time: more would leave a core's cache


@np.errstate(under="ignore", over="ignore", invalid="ignore")
def softmax(scores, axis=-1):
    """exp(scores) / sum(exp(scores)) along one axis; same shape, each slice sums to 1.

    A slice of only -inf gives zeros, without a warning; NaN propagates.
    float16 is computed in float32, integers become float64.

    Raises ValueError if axis is not one of scores'.
    Vaswani et al. (2017), equation 1.
    """
    scores = checks.floats("scores", scores, axes=1)
    axis = checks.size("axis", axis, least=None)
    if not -scores.ndim <= axis < scores.ndim:
        raise ValueError(f"axis={axis} is not an axis of scores with shape {scores.shape}")
    (scores,), dtype = checks.working(scores)
    weights = softmax_in_place(scores.swapaxes(axis, -1).copy()).swapaxes(axis, -1)
    return weights.astype(dtype, copy=False)


def softmax_in_place(scores):
    """softmax of a checked array along its last axis, written over it."""
    scores *= 1 / exponentials(scores)
    return scores


def exponentials(scores):
    """exp(scores - the row's maximum), written over a checked array; returns each row's sum, which is 1 or more."""
    # Subtracting the maximum leaves softmax unchanged and keeps exp finite; `initial` is that of a row of only -inf.
    scores -= scores.max(axis=-1, keepdims=True, initial=np.finfo(scores.dtype).min)
    np.exp(scores, out=scores)
    total = scores @ np.ones((scores.shape[-1], 1), scores.dtype)  # a sum, but quicker than .sum()
    return np.maximum(total, 1)  # at least exp(0), but 0 in a row of only -inf: its zeros stay zeros


def causal_mask(q_len, kv_len=None):
    """Boolean (q_len, kv_len), True = may attend: no query sees a later key.

    Aligned at the end: the last query sees every key, query i sees keys
    0 ... kv_len - q_len + i. kv_len=None is q_len.

    Raises TypeError or ValueError for lengths that are not whole or negative.
    Vaswani et al. (2017), section 3.2.3.
    """
    q_len = checks.size("q_len", q_len, least=0)
    kv_len = q_len if kv_len is None else checks.size("kv_len", kv_len, least=0)
    return np.tri(q_len, kv_len, kv_len - q_len, dtype=bool)


@np.errstate(under="ignore")  # a weight too small for its dtype is 0
def scaled_dot_product_attention(q, k, v, mask=None, *, scale=None):
    """softmax(q kᵀ · scale) v, one weighted average of v's rows for each query.

    Parameters
    ----------
    q : (..., q_len, d_k)
    k : (..., kv_len, d_k)
    v : (..., kv_len, d_v); leading axes broadcast as in numpy
    mask : boolean or float, broadcast to (..., q_len, kv_len)
        Boolean: True = may attend. Float: added to the scores, -inf forbids.
    scale : float; None is 1 / sqrt(d_k)

    Returns
    -------
    output : (..., q_len, d_v)
    weights : (..., q_len, kv_len); a query that may see no key has weights and output 0

    Raises ValueError or TypeError naming the argument that does not fit.
    Vaswani et al. (2017), equation 1.
    """
    q, k, v = (checks.floats(name, a, axes=2) for name, a in (("q", q), ("k", k), ("v", v)))
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must have the same d_k: q has {q.shape[-1]}, k has {k.shape[-1]}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must have the same kv_len: k has {k.shape[-2]}, v has {v.shape[-2]}")
    (q, k, v), dtype = checks.working(q, k, v)
    mask = checks.mask_array(mask, q.dtype)
    lead = checks.broadcast(q=q.shape[:-2], k=k.shape[:-2], v=v.shape[:-2])
    if mask is not None:
        lead = checks.check_mask(mask, lead, q.shape[-2], k.shape[-2])
    output = np.empty((*lead, q.shape[-2], v.shape[-1]), q.dtype)
    kept = attend(q, k, v, mask, default_scale(scale, q.shape[-1]), output, keep=("weights",))
    return output.astype(dtype, copy=False), kept["weights"].astype(dtype, copy=False)


def default_scale(scale, d_k):
    """scale as a float; None is 1 / sqrt(d_k)."""
    if scale is not None:
        return checks.real("scale", scale)
    if d_k == 0:
        raise ValueError("d_k=0: q and k need at least one feature")
    return 1 / math.sqrt(d_k)


@np.errstate(under="ignore", over="ignore", invalid="ignore")
def attend(q, k, v, mask, scale, output, keep=()):
    """Attention of checked arrays, written into output. Returns {"scores": ..., "weights": ...}, those to keep.

    The one place that computes attention: block after block, so that no array of the size
    of all weights is made that nobody asked for.
    """
    *lead, q_len, _ = output.shape
    kv_len = k.shape[-2]
    shape = (*lead, q_len, kv_len)
    kept = {step: np.empty(shape, q.dtype) for step in keep}
    # softmax's division comes last: a row of the output is shorter than one of the weights. A sum of kv_len
    # values that are not divided yet could overflow, so they are halved until it can't. Powers of two round nothing,
    # but for values next to the smallest that the dtype holds.
    power = 2.0 ** kv_len.bit_length()
    q, k, v = (spread(a, *lead, *a.shape[-2:]) for a in (q * scale, k, v / power))
    mask = None if mask is None else spread(mask, *shape)
    for queries in blocks(*shape):
        keys = queries[: len(lead)]
        scores = q[queries] @ k[keys].swapaxes(-1, -2)  # (..., queries, kv_len)
        if "scores" in kept:
            kept["scores"][queries] = scores
        weights = scores if mask is None else add_mask(scores, mask[queries])
        total = exponentials(weights)  # (..., queries, 1)
        if "weights" in kept:
            kept["weights"][queries] = weights / total
        sums = np.matmul(weights, v[keys], out=output[queries])  # (..., queries, d_v)
        sums *= power / total
    return kept


def blocks(*shape):
    """Indices that cut an array into pieces of about BLOCK numbers; its last axis is never cut."""
    if math.prod(shape) <= BLOCK:
        yield ()  # all of it: a short call's time is Python's own steps
        return
    entry = [math.prod(shape[axis:]) for axis in range(1, len(shape))]  # numbers in one entry of each axis
    cut = next((axis for axis, numbers in enumerate(entry) if numbers <= BLOCK), len(entry) - 1)
    step = max(1, BLOCK // max(1, entry[cut]))
    for at in itertools.product(*map(range, shape[:cut])):
        for start in range(0, shape[cut], step):
            yield (*at, slice(start, start + step))


def spread(a, *shape):
    """a broadcast to that shape, as numpy does it."""
    return a if a.shape == shape else np.broadcast_to(a, shape)


def add_mask(scores, mask):
    """scores with -inf written where a boolean mask forbids, or with a float mask added."""
    if mask.dtype == bool:
        np.copyto(scores, -np.inf, where=~mask)
    else:
        scores += mask
    return scores
