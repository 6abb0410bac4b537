"""Exercises with whole numbers: the width of a head, parameters, multiply-adds."""

from mha.checks import head_width

from .engine import Exercise, wrong
from .shapes import whole

# ---- divisibility ---------------------------------------------------------------------------


def strict_width(d_model, num_heads):
    return head_width(d_model, num_heads)


def width_by_message(d_model, num_heads):
    if d_model % num_heads != 0:
        raise ValueError(f"cannot cut d_model = {d_model} into num_heads = {num_heads} equal parts")
    return d_model / num_heads


def width_probes(rng):
    drawn = [(int(rng.randint(2, 12)) * h, h) for h in (int(rng.randint(2, 5)), int(rng.randint(5, 9)))]
    return {f"{d} by {h}": (d, h) for d, h in (*drawn, (512, 8), (12, 3), (7, 1), (11, 4), (7, 3), (3, 5))}


HEAD_WIDTH = Exercise(
    name="head_width",
    title="the width of one head, and when there is none",
    call="head_width(d_model, num_heads)",
    prompt=(
        "Return d_k, the width of one head when num_heads heads share d_model (d_v = d_k). If that is no whole "
        "number, raise a ValueError whose message holds both d_model and num_heads."
    ),
    build=whole(strict_width),
    probes=width_probes,
    wrong=(
        wrong(30, answer=lambda d_model, num_heads: d_model // num_heads),
        wrong(30, answer=lambda d_model, num_heads: max(1, d_model // num_heads)),
        wrong(30, answer=lambda d, h: strict_width(d, h) if h > d else d // h),
        wrong(35, answer=lambda d_model, num_heads: d_model),
        wrong(35, "You return d_model, also where num_heads divides it; the error is there.",
              answer=lambda d_model, num_heads: strict_width(d_model, num_heads) * num_heads),
    ),
    variants=(width_by_message,),
    chapter="07_explorer",
)  # fmt: skip


# ---- parameters -----------------------------------------------------------------------------


def sizes(rng):
    """Two random sizes and two from the paper's tables."""
    drawn = [(int(rng.randint(3, 40)) * h, h) for h in (int(rng.randint(2, 5)), int(rng.randint(5, 9)))]
    return (*drawn, (512, 8), (512, 16), (768, 12))


def three_projections(d, h):
    """Rows times columns of W_Q, W_K and W_V of all heads."""
    return 3 * d * d


def three_full_width(d, h):
    return 3 * h * d * d


def one_output(d, h):
    """Rows times columns of W_O."""
    return d * d


def no_output(d, h):
    return 0


def wide_output(d, h):
    return h * d * d


def parameters_of(qkv=three_projections, out=one_output):
    return lambda d_model, num_heads: qkv(d_model, num_heads) + out(d_model, num_heads)


PARAMETERS = Exercise(
    name="parameters",
    title="trained numbers of a layer",
    call="parameters(d_model, num_heads)",
    prompt=(
        "Return how many numbers W_Q, W_K, W_V of all heads and W_O hold together, where num_heads heads of equal "
        "width d_k = d_v = d_model / num_heads share d_model. No biases."
    ),
    build=parameters_of,
    probes=lambda rng: {f"{d} by {h}": (d, h) for d, h in sizes(rng)},
    wrong=(
        wrong(33, qkv=three_full_width, out=wide_output),
        wrong(33, "You counted h full-width projections for q, k and v.", qkv=three_full_width),
        wrong(33, "You counted W_O h times.", out=wide_output),
        wrong(14, "You counted W_Q, W_K and W_V; W_O is missing.", out=no_output),
    ),
    variants=(
        lambda d, h: sum(3 * d * (d // h) for _ in range(h)) + d * d,
        lambda d_model, num_heads: 4.0 * d_model * d_model,
    ),
    chapter="06_cost",
)

# ---- multiply-adds --------------------------------------------------------------------------


def products(n, d, h):
    """Scores and weighted sums."""
    return 2 * n * n * d


def products_times_h(n, d, h):
    return h * products(n, d, h)


def multiply_adds_of(qkv=three_projections, out=one_output, products=products):
    parameters = parameters_of(qkv, out)  # each is used once for each token
    return lambda n, d_model, num_heads: n * parameters(d_model, num_heads) + products(n, d_model, num_heads)


MULTIPLY_ADDS = Exercise(
    name="multiply_adds",
    title="multiply-adds of a forward pass",
    call="multiply_adds(n, d_model, num_heads)",
    prompt=(
        "Self-attention on n tokens, num_heads heads of width d_k = d_v = d_model / num_heads. Return the number "
        "of multiply-adds (one multiplication with its addition counts 1) of the four projections (q, k, v and "
        "W_O), of the scores q·k, and of the weighted sums of v, over all heads. Softmax, scale and biases don't "
        "count."
    ),
    build=multiply_adds_of,
    probes=lambda rng: {f"{n} tokens, {d} by {h}": (n, d, h)
                        for n, (d, h) in zip((int(rng.randint(5, 50)), 11, 128, 100, 300), sizes(rng))},
    wrong=(
        wrong(34, qkv=three_full_width, out=wide_output, products=products_times_h),
        wrong(34, "You multiplied by h all but W_O.", qkv=three_full_width, products=products_times_h),
        wrong(34, "You multiplied the products of scores and weighted sums by h.", products=products_times_h),
        wrong(34, "You multiplied the projections by h.", qkv=three_full_width, out=wide_output),
        wrong(34, "You multiplied the projections of q, k and v by h.", qkv=three_full_width),
        wrong(14, "The product with W_O is missing from your count.", out=no_output),
    ),
    variants=(
        lambda n, d, h: sum(3 * n * d * (d // h) + 2 * n * n * (d // h) for _ in range(h)) + n * d * d,
        lambda n, d, h: float(2 * n * d * (2 * d + n)),
    ),
    chapter="06_cost",
)  # fmt: skip

EXERCISES = (HEAD_WIDTH, PARAMETERS, MULTIPLY_ADDS)
