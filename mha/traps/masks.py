"""Exercises: weights under a mask, rows without an allowed key, padding."""

import numpy as np

from . import steps
from .draw import normal, qkv, some_keys
from .engine import Exercise, wrong
from .ways import any_way

ROWS = ("the rows don't add up to 1", lambda f, args: np.allclose(f(*args)[0].sum(axis=-1), 1, atol=1e-3))


def same(mask):
    return mask


# ---- weights under a mask -------------------------------------------------------------------


def masked_of(read=same, fill=steps.minus_inf, normalise=steps.softmax, after=steps.unchanged):
    def program(scores, mask):
        mask = read(mask)
        return after(normalise(fill(scores, mask)), scores, mask)

    return program


def masked_probes(rng):
    def ordinary(B, h, n, m):
        return normal(rng, B, h, n, m, spread=1.5), some_keys(rng, n, m)

    scores, mask = ordinary(2, 3, 5, 7)
    deep = np.where(mask, np.round(4 * scores) / 4 - 100_000.0, scores)
    return {
        "2 samples, 3 heads": ordinary(2, 3, 4, 7),
        "3 samples, 2 heads": ordinary(3, 2, 6, 5),
        "one row free of masking": _with_free_row(*ordinary(2, 3, 7, 4)),
        "allowed scores near -100000": (deep, mask),
    }


def _with_free_row(scores, mask):
    mask[2] = True
    return scores, mask


def masked_by_loops(scores, mask):
    weights = np.zeros(scores.shape)
    for b, i, t in np.ndindex(*scores.shape[:3]):
        seen = [j for j in range(scores.shape[3]) if mask[t, j]]
        e = np.exp(scores[b, i, t, seen] - scores[b, i, t, seen].max())
        weights[b, i, t, seen] = e / e.sum()
    return weights


def masked_by_where(scores, mask):
    peak = scores.max(axis=-1, keepdims=True, where=mask, initial=-np.inf)
    e = np.where(mask, np.exp(np.where(mask, scores - peak, 0)), 0)
    return e / e.sum(axis=-1, keepdims=True)


FORBIDDEN = (
    "forbidden keys keep weight",
    lambda f, args: np.allclose(f(*args)[0] * ~args[1], 0, atol=1e-6),
)

MASKED = Exercise(
    name="masked",
    title="weights under a mask, wherever the scores lie",
    call="masked(scores, mask)",
    prompt=(
        "scores has shape (B, num_heads, q_len, kv_len), mask is boolean of shape (q_len, kv_len), True = may "
        "attend. Return the weights: softmax over the allowed keys, exactly 0 on forbidden ones. Every query has "
        "an allowed key. Allowed scores may lie 100000 below the forbidden ones: nothing may leak, no NaN may "
        "come out."
    ),
    build=masked_of,
    probes=masked_probes,
    result=("B, num_heads, q_len, kv_len",),
    wrong=(
        *steps.MASKING,
        *steps.DEEP_FILLS,
        *steps.RESCALED,
        *steps.QUERY_SOFTMAX,
        *steps.HEAD_SOFTMAX,
    ),
    styles=steps.MASK_STYLES,
    variants=(masked_by_loops, masked_by_where, *any_way(masked_of())),
    laws=(FORBIDDEN, ROWS),
    chapter="10_masks",
)

# ---- rows without an allowed key ------------------------------------------------------------


def zeros_where_blind(output, seen, mask):
    return np.where(seen.any(axis=-1)[:, None], output, 0)


def zeros_by_given_mask(output, seen, mask):
    return np.where(mask.any(axis=-1)[:, None], output, 0)


def no_policy(output, seen, mask):
    return output


def empty_rows_of(read=same, normalise=steps.plain_softmax, policy=zeros_where_blind, **chosen):
    def program(q, k, v, mask):
        seen = read(mask)
        output, _ = steps.attend(q, k, v, seen, normalise=normalise, **chosen)
        return policy(output, seen, mask)

    return program


def empty_rows_probes(rng):
    def one(*sizes, blind):
        mask = some_keys(rng, sizes[2], sizes[3]) | (blind is None)
        mask[blind or []] = False
        return (*qkv(rng, *sizes), mask)

    return {
        "first query sees nothing": one(2, 3, 4, 7, 5, 11, blind=[0]),
        "two queries see nothing": one(3, 2, 7, 4, 11, 5, blind=[2, 5]),
        "nothing is masked": one(2, 3, 5, 4, 7, 2, blind=None),
        "as many samples, heads, keys and features": one(3, 3, 4, 3, 3, 3, blind=[1]),
    }


def empty_rows_by_loops(q, k, v, mask):
    output = np.zeros((*q.shape[:3], v.shape[-1]))
    for b, i, t in np.ndindex(*q.shape[:3]):
        if mask[t].any():
            e = np.exp(k[b, i][mask[t]] @ q[b, i, t] / np.sqrt(q.shape[-1]))
            output[b, i, t] = e / e.sum() @ v[b, i][mask[t]]
    return output


def empty_rows_by_product(q, k, v, mask):
    e = np.exp(np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])) * mask
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-30) @ v


EMPTY_ROWS = Exercise(
    name="empty_rows",
    title="masked attention where a query may see no key at all",
    call="empty_rows(q, k, v, mask)",
    prompt=(
        "q has shape (B, num_heads, q_len, d_k), k (B, num_heads, kv_len, d_k), v (B, num_heads, kv_len, d_v); "
        "mask is boolean of shape (q_len, kv_len), True = may attend. Return the output of scaled dot-product "
        "attention, of shape (B, num_heads, q_len, d_v). A query that may see no key gets an output of zeros. "
        "Scores are small here."
    ),
    build=empty_rows_of,
    probes=empty_rows_probes,
    result=("B, num_heads, q_len, d_v",),
    wrong=(
        wrong(21, policy=no_policy),
        *(wrong(entry.number, policy=no_policy, **entry.steps) for entry in steps.TIMES_INF),
        *steps.MASKING,
        *steps.ATTENTION,
    ),
    styles=(
        {"fill": steps.low},
        {"fill": steps.lowered},
        {"policy": zeros_by_given_mask},
        {"policy": zeros_by_given_mask, "fill": steps.low},
        {"policy": zeros_by_given_mask, "fill": steps.lowered},
    ),
    variants=(empty_rows_by_loops, empty_rows_by_product, *any_way(empty_rows_of())),
    laws=(("a query that may see no key has an output other than 0",
           lambda f, args: np.allclose(f(*args)[0][:, :, ~args[3].any(axis=-1)], 0, atol=1e-6)),),
    chapter="10_masks",
)  # fmt: skip

# ---- padding --------------------------------------------------------------------------------


def on_keys(real):
    return real[:, None, None, :]


def on_queries(real):
    return real[:, None, :, None]


def padding_of(lay=on_keys, read=same, fill=steps.minus_inf, normalise=steps.softmax, after=steps.unchanged):
    def program(scores, real):
        mask = np.broadcast_to(lay(read(real)), scores.shape)
        return after(normalise(fill(scores, mask)), scores, mask)

    return program


def padding_probes(rng):
    def one(B, h, n, *lengths):
        return normal(rng, B, h, n, n, spread=1.5), np.arange(n) < np.array(lengths)[:, None]

    scores, real = one(3, 2, 6, 6, 2, 4)
    return {
        "2 samples, 3 heads": one(2, 3, 5, 3, 5),
        "3 samples, 2 heads": one(3, 2, 7, 4, 7, 2),
        "padding on the left": (scores, real[:, ::-1].copy()),
    }


def padding_by_loops(scores, real):
    weights = np.zeros(scores.shape)
    for b, i, t in np.ndindex(*scores.shape[:3]):
        e = [np.exp(scores[b, i, t, j]) if real[b, j] else 0.0 for j in range(scores.shape[3])]
        weights[b, i, t] = np.array(e) / sum(e)
    return weights


PADDING = Exercise(
    name="padding",
    title="weights that leave out padded tokens",
    call="padding(scores, real)",
    prompt=(
        "Self-attention over padded sentences: scores has shape (B, num_heads, n, n), real is boolean of shape "
        "(B, n), True = a real token, False = padding. Return the weights, (B, num_heads, n, n): exactly 0 on "
        "padded keys, each row adds up to 1, also the rows of padded queries. Every sample has a real token; "
        "scores are small here."
    ),
    build=padding_of,
    probes=padding_probes,
    result=("B, num_heads, n, n",),
    wrong=(wrong(23, lay=on_queries), *steps.MASKING, *steps.QUERY_SOFTMAX, *steps.HEAD_SOFTMAX),
    styles=(*steps.MASK_STYLES, {"fill": steps.ignored, "after": steps.removed_and_rescaled}),
    variants=(padding_by_loops, *any_way(padding_of())),
    laws=(("padded keys are attended to",
           lambda f, args: np.allclose(f(*args)[0] * ~args[1][:, None, None, :], 0, atol=1e-6)), ROWS),
    chapter="10_masks",
)  # fmt: skip

EXERCISES = (MASKED, EMPTY_ROWS, PADDING)
