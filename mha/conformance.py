"""Our functions beside values from other people's test suites.

A suite is a JSON file: where its values come from, under which licence, and its cases. Each case names a call
below, what that is given, and what the other project expects. A call says the same thing in the words of `mha`:
a mask turned round, heads cut out of packed columns, causal written as a mask. It computes no attention itself.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .attention import scaled_dot_product_attention
from .multihead import MultiHeadAttention, merge_heads, split_heads
from .stored import arrays, named

BOUNDS = {1 / 20: "under 1/20", 1 / 4: "under 1/4", 1: "under 1"}  # shares of the tolerance


@dataclass(frozen=True)
class Case:
    """One case: the name of its call in CALLS, its arguments, the values expected, and the tolerance."""

    name: str
    call: str
    given: dict
    expected: dict
    rtol: float
    atol: float


@dataclass(frozen=True)
class Suite:
    """Cases of one project. about: project, source, version, url, licence, exercises, left_out ..."""

    name: str
    about: dict
    cases: tuple

    @property
    def title(self):
        """The project, and the number type where a project has a suite for each."""
        return self.about["project"] + (", float16" if self.name.endswith("float16") else "")


def suites(folder):
    """The suites whose JSON files are in folder, by name.

    Raises FileNotFoundError if there is none.
    """
    files = sorted(Path(folder).glob("*.json"))
    if not files:
        raise FileNotFoundError(f"{folder} holds no suite")
    return [read(file) for file in files]


def read(file):
    """The suite in one JSON file; long values may stand in the .npz of the same name.

    Raises ValueError, naming the file, if one of them is cut short or holds something else.
    """
    about, long = named(file), file.with_suffix(".npz")
    more = arrays(long) if long.exists() else {}
    try:
        return Suite(file.stem, about, cases_of(about, more))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{file} is no suite: {error!r}") from error


def cases_of(about, more):
    """The cases of a suite, taken out of what its file says about it; more = values of the .npz."""
    values, cases, found = about.pop("values", {}) | more, about.pop("cases"), []
    for case in cases:
        dtype = case.get("dtype", about.get("dtype"))
        given, expected = ({k: value(v, values, dtype) for k, v in case[x].items()} for x in ("given", "expected"))
        tolerance = [case.get(x, about[x]) for x in ("rtol", "atol")]
        found.append(Case(case["name"], case["call"], given, expected, *tolerance))
    return tuple(found)


def value(written, values, dtype):
    """An array where a list or the name of one is written; numbers and words stay."""
    found = values.get(written, written) if isinstance(written, str) else written
    if isinstance(found, list):
        found = np.array(found)
        found = found.astype(dtype) if found.dtype.kind == "f" else found
    return found


def run(case):
    """[(name, ours, expected)] of a case, one for each array that the other project expects."""
    ours = CALLS[case.call](**case.given)
    return [(name, ours[name], expected) for name, expected in case.expected.items()]


def share(case):
    """The largest difference of a case as a share of its tolerance: at most 1 is within it.

    The tolerance of an expected x is atol + rtol · |x|. A NaN, on either side, or another shape is infinitely far.
    """
    worst = 0.0
    for _, ours, expected in run(case):
        if ours.shape != expected.shape or not (np.isfinite(ours).all() and np.isfinite(expected).all()):
            return math.inf
        ours, expected = ours.astype(np.float64), expected.astype(np.float64)
        allowed = case.atol + case.rtol * np.abs(expected)
        worst = max(worst, float(np.max(np.abs(ours - expected) / allowed)))
    return worst


def rounded_up(share):
    """A share in words, so coarse that the rounding of a last digit does not change them."""
    return next((words for bound, words in BOUNDS.items() if share <= bound), "more than all")


# The calls: one for each way in which a suite writes attention down.


def attention(q, k, v, mask=None, causal=None, scale=None):
    """scaled_dot_product_attention; causal="start" is aligned where query and key 0 meet."""
    if causal == "start":
        mask = between(np.arange(q.shape[-2]), k.shape[-2], right=0)
    output, weights = scaled_dot_product_attention(q, k, v, mask, scale=scale)
    return {"output": output, "weights": weights}


def layer(query, key=None, value=None, mask=None, **parameters):
    """A MultiHeadAttention with parameters of these names."""
    trace = MultiHeadAttention(**parameters).trace(query, key, value, mask=mask)
    return {"output": trace.output, "weights": trace.weights, "scores": trace.scores}


def packed(x, weight, num_heads, bias=None, widths=None, W_o=None, past=None, scale=None, **masks):
    """Self-attention with W_q, W_k and W_v side by side in one weight; without W_o, the heads side by side.

    past is (2, batch, num_heads, length, width): keys and values of earlier tokens.
    masks: see packed_mask.
    """
    cuts = np.cumsum([weight.shape[1] // 3] * 3 if widths is None else widths)[:2]
    W_q, W_k, W_v = np.split(weight, cuts, axis=1)
    b_q, b_k, b_v = [None] * 3 if bias is None else np.split(bias, cuts)
    W_o = np.eye(W_v.shape[1], dtype=weight.dtype) if W_o is None else W_o
    made = MultiHeadAttention(W_q, W_k, W_v, W_o, num_heads, b_q, b_k, b_v, scale=scale)
    earlier = 0 if past is None else past.shape[-2]
    mask = packed_mask(len(x), x.shape[1], earlier, x.dtype, **masks)
    if past is None:
        trace = made.trace(x, mask=mask)
        return {"output": trace.output, "k": trace.k, "v": trace.v}
    trace = made.trace(x)
    k, v = (np.concatenate(pair, axis=-2) for pair in zip(past, (trace.k, trace.v)))
    heads, _ = scaled_dot_product_attention(trace.q, k, v, mask, scale=made.scale)
    return {"output": merge_heads(heads) @ W_o, "k": k, "v": v}


def packed_mask(batch, q_len, earlier, dtype, end=None, start=None, keys=None, causal=False, added=None, fill=None):
    """ONNX Runtime's masks as one of ours, (batch, 1 or num_heads, q_len, kv_len).

    Keys before start[b] or from end[b] on are padding; keys holds 0 for padding, with 2 axes or 3.
    With fill, padding is not forbidden but gets that number added, as ONNX Runtime does.
    """
    kv_len = earlier + q_len
    place = np.arange(kv_len)
    allowed = np.ones((batch, 1, q_len, kv_len), bool)
    if end is not None:
        start = np.zeros(batch, int) if start is None else start
        allowed &= ((start[:, None] <= place) & (place < end[:, None]))[:, None, None]
    if keys is not None:
        allowed &= (keys[:, None] if keys.ndim == 2 else keys)[:, None] != 0
    seen = between(earlier + np.arange(q_len), kv_len, right=0 if causal else None)
    if fill is None and added is None:
        return allowed & seen
    mask = np.where(allowed, 0, -np.inf if fill is None else fill).astype(dtype)
    return np.where(seen, mask if added is None else mask + added, -np.inf)


def onnx(
    Q,
    K,
    V,
    attn_mask=None,
    past_key=None,
    past_value=None,
    nonpad_kv_seqlen=None,
    is_causal=0,
    q_num_heads=None,
    kv_num_heads=None,
    scale=None,
    left_window_size=-1,
    right_window_size=-1,
    **_,
):
    """ONNX's operator Attention: Q, K, V with 3 axes (heads packed) or 4; query i stands behind the earlier keys."""
    q, k, v = Q, K, V
    if Q.ndim == 3:
        q, k, v = split_heads(Q, q_num_heads), split_heads(K, kv_num_heads), split_heads(V, kv_num_heads)
    first = np.zeros((1, 1, 1), int)  # the place of query 0 among the keys
    if past_key is not None:
        first = first + past_key.shape[2]
        k, v = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2)
    q_len, kv_len = q.shape[2], k.shape[2]
    allowed = True
    if nonpad_kv_seqlen is not None:
        filled = nonpad_kv_seqlen[:, None, None]
        first, allowed = filled - q_len, (np.arange(kv_len) < filled[..., None])
    right = 0 if is_causal else None if right_window_size < 0 else right_window_size
    left = None if left_window_size < 0 else left_window_size
    allowed = allowed & between(first + np.arange(q_len), kv_len, left, right)
    mask = allowed
    if attn_mask is not None:
        short = [(0, 0)] * (attn_mask.ndim - 1) + [(0, kv_len - attn_mask.shape[-1])]
        given = np.pad(attn_mask, short, constant_values=False if attn_mask.dtype == bool else -np.inf)
        mask = allowed & given if given.dtype == bool else np.where(allowed, given, -np.inf)
    shared = q.shape[1] // k.shape[1]
    output, weights = scaled_dot_product_attention(q, k.repeat(shared, 1), v.repeat(shared, 1), mask, scale=scale)
    return {"Y": merge_heads(output) if Q.ndim == 3 else output, "weights": weights}


def between(places, kv_len, left=None, right=None):
    """Boolean (..., q_len, kv_len): a query at a place sees `left` keys back and `right` keys ahead; None: all."""
    ahead = np.arange(kv_len) - places[..., None]
    allowed = np.ones(ahead.shape, bool)
    if right is not None:
        allowed &= ahead <= right
    if left is not None:
        allowed &= -ahead <= left
    return allowed


def torch(x, num_heads, d_ff, memory=None, padding=None, memory_padding=None, activation="relu", layers=0, norm=False):
    """PyTorch's encoder layer (or decoder layer, with memory); x and memory (seq, batch, d_model).

    As in PyTorch's tests every parameter holds cos 0, cos 1, cos 2 ...; True in a padding marks keys to ignore.
    """
    x = x.swapaxes(0, 1)
    d_model = x.shape[-1]
    W = np.split(cosines(3 * d_model, d_model), 3)
    b = np.split(cosines(3 * d_model), 3)
    attend = MultiHeadAttention(
        *(m.T for m in W), cosines(d_model, d_model).T, num_heads, *b, cosines(d_model)
    )  # torch's matrices are (out, in)
    for _ in range(layers or 1):
        x = normed(x + attend(x, mask=keys_left(padding)), cosines(d_model))
        if memory is not None:
            x = normed(x + attend(x, memory.swapaxes(0, 1), mask=keys_left(memory_padding)), cosines(d_model))
        hidden = ACTIVATIONS[activation](x @ cosines(d_ff, d_model).T + cosines(d_ff))
        x = normed(x + hidden @ cosines(d_model, d_ff).T + cosines(d_model), cosines(d_model))
    return {"output": (normed(x) if norm else x).swapaxes(0, 1)}


def cosines(*shape):
    return np.cos(np.arange(float(math.prod(shape)))).reshape(shape)


def normed(x, parameter=None):
    """Layer norm; as weight and as bias it has the same parameter here, or none."""
    centred = x - x.mean(-1, keepdims=True)
    x = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return x if parameter is None else x * parameter + parameter


def keys_left(padding):
    """PyTorch's key_padding_mask, True = ignore, as a mask for all heads and queries."""
    return None if padding is None else ~padding[:, None, None, :]


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
}
CALLS = {"attention": attention, "layer": layer, "packed": packed, "onnx": onnx, "torch": torch}
