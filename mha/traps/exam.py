"""Exercises: the five exam traps, one each: heads change seats, one head's cost, its share of the output, which h
there are, the rank of one head's scores."""

import numpy as np

from mha.multihead import MultiHeadAttention, merge_heads

from .draw import matrix, normal
from .engine import Exercise, wrong
from .layer import blocks
from .packing import columns
from .shapes import joined_memory, whole
from .ways import any_way

# ---- heads change seats ---------------------------------------------------------------------


def moved_columns(W, order):
    """Head order[i]'s columns on seat i."""
    return np.concatenate([columns(W, i, len(order)) for i in order], axis=1)


def moved_rows(W, order):
    return moved_columns(W.T, order).T


def kept(W, order):
    return W


def every_hth(W, order):
    """Columns i, i + h, i + 2h, ... taken for head i's."""
    rows, width = W.shape
    return W.reshape(rows, -1, len(order))[:, :, order].reshape(rows, width)


def every_hth_row(W, order):
    return every_hth(W.T, order).T


def swap_of(scoring=moved_columns, value=moved_columns, output=moved_rows, order=lambda order: order):
    def program(W_q, W_k, W_v, W_o, seats):
        seats = order(seats)
        return scoring(W_q, seats), scoring(W_k, seats), value(W_v, seats), output(W_o, seats)

    return program


def swap_probes(rng):
    def square(d, order):
        return (*(matrix(rng, d, d) for _ in range(4)), np.array(order))

    return {
        "3 heads": square(12, (1, 2, 0)),
        "4 heads": square(20, (2, 0, 3, 1)),
        "5 heads": square(15, (0, 3, 4, 2, 1)),
    }


def swap_by_index(W_q, W_k, W_v, W_o, order):
    moved = np.arange(len(W_o)).reshape(len(order), -1)[order].ravel()
    return W_q[:, moved], W_k[:, moved], W_v[:, moved], W_o[moved]


def swap_by_axes(W_q, W_k, W_v, W_o, order):
    d, h = len(W_o), len(order)
    inputs = [W.reshape(d, h, -1)[:, order].reshape(d, d) for W in (W_q, W_k, W_v)]
    return [*inputs, W_o.reshape(h, -1, d)[order].reshape(d, d)]


def output_stays(f, args):
    """The layer before and after, on tokens that are rows of W_q."""
    h = len(args[4])
    before, after = (MultiHeadAttention(*matrices, num_heads=h)(args[0]) for matrices in (args[:4], f(*args)))
    return np.allclose(before, after, atol=1e-3)


ROWS = "You moved rows of W_q, W_k and W_v: there a head has columns."
COLUMNS = "You moved columns of W_o: there a head has rows."
LEFT = "W_o is as it was: its rows no longer meet the heads that they were made for."

SWAP_HEADS = Exercise(
    name="swap_heads",
    title="heads change seats, and the output stays",
    call="swap_heads(W_q, W_k, W_v, W_o, order)",
    prompt=(
        "The four matrices of a layer are square, (d_model, d_model), and rows are inputs. order holds the numbers "
        "0 ... num_heads - 1 in some order, as an integer array, and num_heads divides d_model. Return W_q, W_k, "
        "W_v, W_o of the layer in which head i is what head order[i] was, so that its output is the same for every "
        "input."
    ),
    build=swap_of,
    probes=swap_probes,
    result=("d_model, d_model",) * 4,
    wrong=(
        wrong(29, ROWS, scoring=moved_rows, value=moved_rows),
        wrong(29, COLUMNS, output=moved_columns),
        wrong(29, f"{ROWS} {COLUMNS}", scoring=moved_rows, value=moved_rows, output=moved_columns),
        wrong(29, f"{ROWS} {LEFT}", scoring=moved_rows, value=moved_rows, output=kept),
        wrong(None, LEFT, output=kept),
        wrong(None, f"W_v is as it was. {LEFT}", value=kept, output=kept),
        wrong(None, "W_v is as it was: each head weighs another head's values.", value=kept),
        wrong(None, "Nothing has moved.", scoring=kept, value=kept, output=kept),
        wrong(None, "You put head i on seat order[i]; asked for is head order[i] on seat i.", order=np.argsort),
        wrong(None, "You took every num_heads-th column for one head's; they stand together.",
              scoring=every_hth, value=every_hth, output=every_hth_row),
    ),
    variants=(swap_by_index, swap_by_axes, *any_way(swap_of())),
    laws=(("the layer's output is not what it was", output_stays),),
    chapter="12_exam_traps",
)  # fmt: skip

# ---- one head's cost ------------------------------------------------------------------------


def three_thin(n, d, h):
    """q, k and v of one head."""
    return 3 * n * d * (d // h)


def two_products(n, d, h):
    """Scores and weighted sum of one head."""
    return 2 * n * n * (d // h)


def times_h(count):
    return lambda n, d, h: h * count(n, d, h)


def nothing(n, d, h):
    return 0


def head_cost_of(qkv=three_thin, products=two_products, more=nothing):
    def program(n, d_model, num_heads):
        return sum(step(n, d_model, num_heads) for step in (qkv, products, more))

    return program


def head_cost_probes(rng):
    drawn = [(int(rng.randint(3, 40)) * h, h) for h in (int(rng.randint(2, 5)), int(rng.randint(5, 9)))]
    sizes = zip((int(rng.randint(5, 50)), 11, 128, 300), (*drawn, (512, 8), (768, 12)))
    return {f"{n} tokens, {d} by {h}": (n, d, h) for n, (d, h) in sizes}


FULL_QKV, FULL_PRODUCTS = times_h(three_thin), times_h(two_products)

HEAD_COST = Exercise(
    name="head_cost",
    title="multiply-adds of one head",
    call="head_cost(n, d_model, num_heads)",
    prompt=(
        "Self-attention on n tokens, num_heads heads of width d_k = d_v = d_model / num_heads. Return the number of "
        "multiply-adds (one multiplication with its addition counts 1) of one of these heads: its projections of q, "
        "k and v, its scores q·k and its weighted sum of v. W_O, softmax, scale and biases don't count."
    ),
    build=head_cost_of,
    probes=head_cost_probes,
    wrong=(
        wrong(None, "You counted one head as wide as d_model, or all heads together: they cost the same.",
              qkv=FULL_QKV, products=FULL_PRODUCTS),
        wrong(None, "Your q, k and v fill all of d_model: they are those of all heads.", qkv=FULL_QKV),
        wrong(None, "Your scores and weighted sums cost as much as those of all heads.", products=FULL_PRODUCTS),
        wrong(34, "You counted num_heads heads, each as wide as d_model.",
              qkv=times_h(FULL_QKV), products=times_h(FULL_PRODUCTS)),
        wrong(None, "You counted the head's rows of W_O too.", more=lambda n, d, h: n * (d // h) * d),
        wrong(None, "You counted W_O too.", more=lambda n, d, h: n * d * d),
        wrong(None, "You counted FLOPs: a multiply-add is two of them.", more=head_cost_of()),
        wrong(None, "You counted one of the three projections.", qkv=lambda n, d, h: n * d * (d // h)),
        wrong(None, "You counted the scores, and not the weighted sum of v.",
              products=lambda n, d, h: n * n * (d // h)),
    ),
    variants=(
        lambda n, d, h: n * d * (3 * d + 2 * n) / h,
        lambda n, d, h: float(3 * (n * d * (d // h)) + n * (d // h) * n + n * n * (d // h)),
    ),
    chapter="12_exam_traps",
)  # fmt: skip

# ---- one head's share of the output ----------------------------------------------------------


def own_head(heads, i):
    return heads[:, i]


def slice_of_joined_memory(heads, i):
    d_v = heads.shape[-1]
    return joined_memory(heads)[..., i * d_v : (i + 1) * d_v]


def by_own_rows(head, W_o, i, h):
    return head @ blocks(W_o, h)[i]


def by_own_columns(head, W_o, i, h):
    d_v = head.shape[-1]
    return head @ W_o.T[i * d_v : (i + 1) * d_v]


def left_out(head, W_o, i, h):
    return head


def in_its_place(head, W_o, i, h):
    """Concat with all other heads at zero."""
    d_v = head.shape[-1]
    concat = np.zeros((*head.shape[:2], h * d_v))
    concat[..., i * d_v : (i + 1) * d_v] = head
    return concat


def joined_alone(head, W_o, i, h):
    alone = np.zeros((len(head), h, *head.shape[1:]))
    alone[:, i] = head
    return joined_memory(alone) @ W_o


def share_of(take=own_head, mix=by_own_rows, everything=False):
    def program(heads, W_o, i):
        return merge_heads(heads) @ W_o if everything else mix(take(heads, i), W_o, i, heads.shape[1])

    return program


def share_probes(rng):
    return {
        "2 samples, 3 heads": (normal(rng, 2, 3, 4, 5), matrix(rng, 15, 7), 1),
        "3 samples, 2 heads": (normal(rng, 3, 2, 5, 4), matrix(rng, 8, 11), 1),
        "square W_o": (normal(rng, 2, 3, 5, 4), matrix(rng, 12, 12), 2),
        "the first head": (normal(rng, 2, 4, 5, 3), matrix(rng, 12, 12), 0),
    }


def share_by_zeros(heads, W_o, i):
    alone = np.zeros(heads.shape)
    alone[:, i] = heads[:, i]
    return merge_heads(alone) @ W_o


def share_by_difference(heads, W_o, i):
    without = heads.copy()
    without[:, i] = 0
    return (merge_heads(heads) - merge_heads(without)) @ W_o


def shares_add_up(f, args):
    heads, W_o, _ = args
    return np.allclose(sum(f(heads, W_o, i)[0] for i in range(heads.shape[1])), merge_heads(heads) @ W_o, atol=1e-3)


HEAD_SHARE = Exercise(
    name="head_share",
    title="one head's share of the output",
    call="head_share(heads, W_o, i)",
    prompt=(
        "heads has shape (B, num_heads, seq, d_v); W_o has shape (num_heads · d_v, d_model), rows are inputs: rows "
        "i·d_v ... (i+1)·d_v - 1 take head i. Return what head i adds to the layer's output, of shape (B, seq, "
        "d_model); i counts from 0. The shares of all heads add up to Concat(head_1 ... head_h) W_o."
    ),
    build=share_of,
    probes=share_probes,
    result=("B, seq, d_model",),
    wrong=(
        wrong(14, "You returned the head's own output: W_o is missing.", mix=left_out),
        wrong(14, "You put the head in its place in concat, with zeros around it: W_o is missing.", mix=in_its_place),
        wrong(29, "You took columns of W_o, where a head has rows.", mix=by_own_columns),
        wrong(2, take=slice_of_joined_memory),
        wrong(2, mix=joined_alone),
        wrong(29, mix=lambda head, W_o, i, h: in_its_place(head, W_o, i, h) @ W_o.T),
        wrong(29, "You took columns of W_o, where a head has rows.", by_error=True,
              mix=lambda head, W_o, i, h: head @ W_o[:, i * head.shape[-1] : (i + 1) * head.shape[-1]]),
        wrong(29, by_error=True, mix=lambda head, W_o, i, h: head @ blocks(W_o, h)[i].T),
        wrong(14, "You returned concat of all heads: W_O is missing.",
              take=lambda heads, i: merge_heads(heads), mix=left_out),
        wrong(None, "That is the whole output: the shares of all heads together.", everything=True),
        wrong(None, "You took every num_heads-th row of W_o; a head's rows stand together.",
              mix=lambda head, W_o, i, h: head @ W_o[i::h]),
        wrong(None, "You took rows i ... i + d_v - 1 of W_o; head i's begin at i·d_v.",
              mix=lambda head, W_o, i, h: head @ W_o[i : i + head.shape[-1]]),
        wrong(None, "You took the first d_v rows of W_o for every head.",
              mix=lambda head, W_o, i, h: head @ W_o[: head.shape[-1]]),
    ),
    variants=(share_by_zeros, share_by_difference, *any_way(share_of())),
    laws=(("the shares of all heads don't add up to the output", shares_add_up),),
    chapter="12_exam_traps",
)  # fmt: skip

# ---- which h there are ------------------------------------------------------------------------


def divisors(d_model):
    return [h for h in range(1, d_model + 1) if d_model % h == 0]


def chosen(keep):
    """Those of 1 ... d_model that keep(h, d_model)."""
    return lambda d_model: [h for h in range(1, d_model + 1) if keep(h, d_model)]


def choices_probes(rng):
    a, b = (int(n) for n in rng.choice([5, 7, 11, 13], 2, replace=False))
    sizes = (12 * a, 8 * b, 18, 30, 64, 13)
    return {f"d_model = {d}": (d,) for d in sizes}


ROUNDED = "You let d_model / h round down, and any h that leaves a width of at least {} was good enough."

HEAD_CHOICES = Exercise(
    name="head_choices",
    title="every number of heads that a width allows",
    call="head_choices(d_model)",
    prompt=(
        "The heads of a layer have equal widths, and the widths together are d_model. Return every num_heads that "
        "such a layer can have, from the smallest to the largest."
    ),
    build=whole(divisors),
    probes=choices_probes,
    result=("choices",),
    wrong=(
        wrong(30, ROUNDED.format(1), answer=chosen(lambda h, d: d // h >= 1)),
        wrong(30, ROUNDED.format(2), answer=chosen(lambda h, d: d // h >= 2)),
        wrong(30, "You let d_model / h round down, and left out h = 1.", answer=chosen(lambda h, d: h > 1)),
        wrong(30, "You let d_model / h round down, and left out h = d_model.", answer=chosen(lambda h, d: h < d)),
        wrong(None, "You list the widths d_k, or the choices from the largest to the smallest.",
              answer=lambda d: divisors(d)[::-1]),
    ),
    variants=(
        lambda d_model: np.flatnonzero(d_model % np.arange(1, d_model + 1) == 0) + 1.0,
        lambda d: tuple(sorted({f for h in range(1, int(d**0.5) + 1) if d % h == 0 for f in (h, d // h)})),
    ),
    chapter="12_exam_traps",
)  # fmt: skip

# ---- the rank of one head's scores ------------------------------------------------------------


def smaller_of(n, d_model, num_heads):
    return min(n, d_model // num_heads)


def rank_probes(rng):
    """More tokens than d_model, fewer, and fewer than d_k."""
    h, d_k = int(rng.randint(3, 7)), int(rng.randint(8, 20))
    d = h * d_k
    sizes = ((d + 7, d, h), (d - 3, d, h), (d_k + 2, d, h), (d_k - 3, d, h), (1000, 512, 8), (300, 768, 12))
    return {f"{n} tokens, {d} by {h}": (n, d, h) for n, d, h in sizes}


SCORE_RANK = Exercise(
    name="score_rank",
    title="the largest rank of one head's scores",
    call="score_rank(n, d_model, num_heads)",
    prompt=(
        "One of num_heads heads of width d_k = d_model / num_heads attends on n tokens. Its scores are the (n, n) "
        "matrix Q Kᵀ. Return the largest rank that this matrix can have."
    ),
    build=whole(smaller_of),
    probes=rank_probes,
    wrong=(
        wrong(35, answer=lambda n, d, h: min(n, d)),
        wrong(35, "You return d_model, the width of the token.", answer=lambda n, d, h: d),
        wrong(None, "You return d_k, also where there are fewer tokens than that.", answer=lambda n, d, h: d // h),
        wrong(None, "You return n, as if Q and K were wide enough for any matrix.", answer=lambda n, d, h: n),
        wrong(None, "You added up the ranks of all heads; one head is asked for.",
              answer=lambda n, d, h: h * min(n, d // h)),
        wrong(None, "You took the larger of two bounds; both hold.", answer=lambda n, d, h: max(n, d // h)),
    ),
    variants=(
        lambda n, d_model, num_heads: float(min(n, d_model / num_heads)),
        lambda n, d, h: np.minimum(n, d // h),
    ),
    chapter="12_exam_traps",
)  # fmt: skip

EXERCISES = (SWAP_HEADS, HEAD_COST, HEAD_SHARE, HEAD_CHOICES, SCORE_RANK)
