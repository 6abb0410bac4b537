"""Steps of attention, right and wrong, that several exercises share.

q, k (..., seq, d_k); v (..., kv_len, d_v); widths : the full widths of an exercise, each of which could be taken
for d_model.
"""

import numpy as np

from mha.attention import softmax

from .engine import wrong

# ---- right steps, and others of the same value ----------------------------------------------


def dots(q, k):
    """Scores before the scale."""
    return q @ k.swapaxes(-1, -2)


def root_d_k(q, widths):
    """The scale of the formula."""
    return q.shape[-1] ** -0.5


def minus_inf(scores, mask):
    """Forbidden scores become -inf."""
    return scores if mask is None else np.where(mask, scores, -np.inf)


def low(scores, mask):
    """Forbidden scores become -1e9: right where every row has an allowed key."""
    return np.where(mask, scores, -1e9)


def lowered(scores, mask):
    """Forbidden scores are lowered by 1e9."""
    return scores + np.where(mask, 0, -1e9)


@np.errstate(all="ignore")
def plain_softmax(scores, axis=-1):
    """Softmax that knows nothing of empty rows: those become NaN."""
    weights = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def unchanged(weights, q, mask):
    """Nothing is done after the softmax."""
    return weights


def of_values(weights, k, v):
    """The weighted average."""
    return weights @ v


def attend(q, k, v, mask=None, widths=(), *, product=dots, scale=root_d_k, fill=minus_inf,
           normalise=softmax, after=unchanged, mix=of_values):  # fmt: skip
    """(output, weights), each step replaceable."""
    scores = product(q, k) * scale(q, widths)
    weights = after(normalise(fill(scores, mask)), q, mask)
    return mix(weights, k, v), weights


def without_nan(weights, q, mask):
    return np.nan_to_num(weights)


MASK_STYLES = (
    {"fill": low},
    {"fill": lowered},
    {"normalise": plain_softmax},
    {"normalise": plain_softmax, "after": without_nan},
    {"after": without_nan},
)

# ---- wrong steps ----------------------------------------------------------------------------


def all_axes(q, k):
    return q @ k.T


def all_axes_of_a_sample(q, k):
    """k.T inside a loop over the batch."""
    return np.stack([a @ b.T for a, b in zip(q, k)])


def all_axes_of_a_head(q, k):
    """k.T inside a loop over the heads."""
    return np.stack([q[:, i] @ k[:, i].T for i in range(q.shape[1])], axis=1)


def no_scale(q, widths):
    return 1.0


def over(axis):
    """A softmax along another axis."""
    return lambda scores: softmax(scores, axis)


def over_plain(axis):
    return lambda scores: plain_softmax(scores, axis)


def summed_over(axis):
    """The row's maximum subtracted, as for a right softmax, but the sum taken along another axis."""

    @np.errstate(all="ignore")
    def normalise(scores):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=axis, keepdims=True)

    return normalise


def shrunk(weights, q, mask):
    return weights / q.shape[-1] ** 0.5


def of_keys(weights, k, v):
    return weights @ k


def ignored(scores, mask):
    return scores


def by_heads(q, widths):
    """1 / √d_model, with the width read from q (B, h, seq, d_k)."""
    return (q.shape[-1] * q.shape[-3]) ** -0.5


SCALES = (
    wrong(5, scale=lambda q, widths: 1 / q.shape[-1]),
    wrong(6, scale=lambda q, widths: q.shape[-1] ** 0.5),
    wrong(7, scale=no_scale),
)
HEAD_SCALE = (wrong(4, scale=by_heads),)


def by_width(i):
    """Mistake 4 with the i-th of an exercise's full widths."""
    return wrong(4, scale=lambda q, widths: widths[i] ** -0.5)


AFTER = (
    wrong(8, scale=no_scale, after=shrunk),
    wrong(8, "You divided by √d_k after the softmax as well.", after=shrunk),
)
WAYS = (over, over_plain, summed_over)
QUERY_SOFTMAX = tuple(wrong(9, normalise=way(-2)) for way in WAYS)
BATCH_SOFTMAX = tuple(wrong(10, normalise=way(0)) for way in WAYS)
HEAD_SOFTMAX = (*BATCH_SOFTMAX, *(wrong(10, normalise=way(1)) for way in WAYS))
KEYS = (wrong(11, mix=of_keys),)
ALL_AXES = (
    wrong(28, product=all_axes),
    wrong(28, "In a loop over the samples you transposed every axis of the keys.", product=all_axes_of_a_sample),
    wrong(28, "In a loop over the heads you transposed every axis of the keys.", product=all_axes_of_a_head),
)
ATTENTION = (*SCALES, *HEAD_SCALE, *AFTER, *QUERY_SOFTMAX, *HEAD_SOFTMAX, *KEYS, *ALL_AXES)


def filled(value):
    return lambda scores, mask: np.where(mask, scores, value)


def shifted(value):
    return lambda scores, mask: scores + np.where(mask, 0, value)


def inf_times_forbidden(scores, mask):
    return scores + np.where(mask, 0.0, 1.0) * -np.inf


def inf_times_allowed(scores, mask):
    return scores + np.where(mask, 1.0, 0.0) * -np.inf


def removed(weights, q, mask):
    return np.where(mask, weights, 0)


def removed_and_rescaled(weights, q, mask):
    kept = np.where(mask, weights, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


def rescaled_safely(weights, q, mask):
    kept = np.where(mask, weights, 0)
    total = kept.sum(axis=-1, keepdims=True)
    return kept / np.where(total == 0, 1, total)


POLARITY = (wrong(17, read=np.logical_not),)
ADDED = (
    wrong(18, fill=lambda scores, mask: scores + mask),
    wrong(18, "You added 1 to the forbidden scores: the mask as 0 and 1, and with its polarity flipped.",
          fill=lambda scores, mask: scores + ~mask),
)  # fmt: skip
IGNORED = (wrong(None, "The mask has no effect on the result.", fill=ignored),)
SMALL_FILLS = (
    *(wrong(19, fill=kind(value)) for kind in (filled, shifted) for value in (-1e-9, 1e-9, -1e-4)),
    wrong(19, fill=filled(-1.0)),  # added, it is mistake 18
    *IGNORED,
)
DEEP_FILLS = tuple(
    wrong(19, fill=kind(value)) for kind in (filled, shifted) for value in (-1e4, -1e3, -100.0, -5e4, -1e5)
)
TIMES_INF = tuple(  # with NaN replaced it would be all zeros, which other programs give too
    wrong(20, fill=fill, after=unchanged) for fill in (inf_times_forbidden, inf_times_allowed)
)
AFTERWARDS = (
    wrong(22, fill=ignored, after=removed),
    wrong(22, fill=ignored, after=lambda weights, q, mask: np.where(mask, weights, -np.inf)),
    wrong(22, fill=ignored, after=lambda weights, q, mask: weights + np.where(mask, 0, -1e9)),
)
RESCALED = (
    wrong(22, fill=ignored, after=removed_and_rescaled),
    wrong(22, fill=ignored, after=rescaled_safely),
)
MASKING = (*POLARITY, *ADDED, *SMALL_FILLS, *TIMES_INF, *AFTERWARDS)
