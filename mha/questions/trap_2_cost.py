"""Trap 2: the width is split, the compute is not multiplied."""

from .. import cost, examples
from .engine import ask, many, number, one, option, order
from .toys import band, same, traced


@ask("06_cost", see="06_cost#from-the-shapes-to-the-formula", trap=2, over={"d_model": (32, 64, 512), "h": (2, 4, 8)})
def parameters_of_a_layer(d_model, h):
    right = cost.parameters(d_model, h)
    return number(
        f"A multi-head layer has d_model = {d_model} and h = {h} heads of width d_model / h, and no biases. "
        "How many trained numbers does it have, W_O included?",
        right,
        wrong=[
            (
                cost.parameters(d_model, h, d_k=d_model, d_v=d_model),
                "Each head at full width",
                f"You counted {h} heads that are each {d_model} wide. The width is split: a head has d_model / h.",
            ),
            (
                3 * d_model**2,
                "W_O left out",
                "That is W_Q, W_K and W_V. The output projection W_O has as many numbers again as one of them.",
            ),
            (
                right // h,
                "Cost divided by the heads",
                "One head is that cheap in its own columns, but there are h of them: the total stays.",
            ),
        ],
        why="Four matrices of d_model × d_model; h only says how they are cut.",
    )


@ask(
    "06_cost",
    see="06_cost#from-the-shapes-to-the-formula",
    trap=2,
    over={"n": (10, 20), "d_model": (8, 16), "h": (2, 4)},
)
def multiply_adds_of_a_layer(n, d_model, h):
    right = cost.multiply_adds(n, n, d_model, h)
    steps = cost.breakdown(n, n, d_model, h)
    return number(
        f"A layer with d_model = {d_model} and h = {h} heads of width d_model / h reads {n} tokens. "
        "How many multiply-adds do its projections, scores and weighted sums take?",
        right,
        wrong=[
            (
                cost.multiply_adds(n, n, d_model, h, d_k=d_model),
                "Each head at full width",
                f"You counted {h} heads that are each {d_model} wide. Each has only d_model / h.",
            ),
            (
                steps["projections"],
                "Only the matrices counted",
                "Scores and weighted sums multiply too: each pair of tokens, twice.",
            ),
            (
                steps["projections"] + h * (steps["scores"] + steps["weighted sums"]),
                "Heads on top of the split",
                "There are h maps, but each dot product is shorter by the same factor.",
            ),
        ],
        why="4 · n · d_model² + 2 · n² · d_model: the number of heads cancels.",
    )


MORE_HEADS = {
    "the count of trained numbers": (
        lambda d, h: cost.parameters(d, h),
        "The heads share matrices of d_model columns, and h only says where they are cut.",
    ),
    "the number of multiply-adds": (
        lambda d, h: cost.multiply_adds(10, 10, d, h),
        "There are more products, and each is shorter by the same factor.",
    ),
    "the number of weights that softmax makes": (
        lambda d, h: cost.softmax_entries(10, 10, h),
        "Each head has a map of its own, and a map has n · n entries however wide the head is.",
    ),
    "the width of a head": (lambda d, h: examples.layer(d, h).d_k, "The heads share d_model columns."),
    "the width of Concat": (
        lambda d, h: traced(d, h, 4).concat.shape[-1],
        "There are more slices, and each is narrower by the same factor.",
    ),
    "the memory for keys and values": (
        lambda d, h: cost.kv_cache_bytes(10, d, h),
        "All heads' keys together are d_model wide, and so are their values.",
    ),
}


@ask("06_cost", see="06_cost#what-does-grow", trap=2, over={"what": tuple(MORE_HEADS), "factor": (2, 4)})
def what_more_heads_change(what, factor):
    measured, truth = MORE_HEADS[what]
    d_model, h = 64, 4
    ratio = measured(d_model, factor * h) / measured(d_model, h)
    times = {2: "twice", 4: "four times"}[factor]
    return one(
        f"You go from h = {h} to h = {factor * h} at d_model = {d_model}, with heads of width d_model / h. "
        f"What happens to {what}?",
        option("It stays as it is", ratio == 1, "Everything taken to stay", truth),
        option(f"It becomes {times} as large", ratio == factor, "Everything taken to grow with h", truth),
        option(f"It becomes 1/{factor} as large", ratio == 1 / factor, "Split taken for a saving", truth),
        option(f"It becomes {factor**2} times as large", ratio == factor**2, "Pairs of heads counted", truth),
    )


@ask("06_cost", see="06_cost#what-goes-wrong", trap=2, over={"d_model": (64, 256), "h": (4, 8, 16)})
def price_of_full_width_heads(d_model, h):
    split, full = cost.parameters(d_model, h), cost.parameters(d_model, h, d_k=d_model)
    return number(
        f"By mistake each of h = {h} heads is made d_model = {d_model} wide, in queries, keys and values. "
        "How many times as many trained numbers does the layer have as one with heads of width d_model / h?",
        full // split,
        wrong=[
            (1, "Split taken for granted", "Here nothing is split: h · d_k is not d_model any more."),
            (h**2, "Both sides widened", "Each matrix is longer on one side only. The other side stays d_model."),
            (2, "W_O taken to stay", "All four matrices have h · d_k on one side, W_O as its height."),
        ],
        why="Each of the four matrices has a side of h · d_k, which has become h times as long.",
    )


@ask("12_exam_traps", see="06_cost#what-goes-wrong", trap=2, over={"w": (32, 48, 64)})
def layers_by_trained_numbers(w):
    layers = {
        f"d_model = {w}, h = 16, heads of width d_model / h": cost.parameters(w, 16),
        f"d_model = {2 * w}, h = 1": cost.parameters(2 * w, 1),
        f"d_model = {3 * w // 2}, h = 2, heads of width d_model / h": cost.parameters(3 * w // 2, 2),
        f"d_model = {w}, h = 8, each head {w} wide": cost.parameters(w, 8, d_k=w),
    }
    many_heads, one_head, _, full = layers
    return order(
        f"Four layers, the narrowest with d_model = {w}. Put the one with the fewest trained numbers first.",
        sorted(layers, key=layers.get),
        [
            (
                many_heads,
                one_head,
                "Heads counted as size",
                "Sixteen heads share the same matrices. What counts is d_model, and it counts as a square.",
            ),
            (
                one_head,
                full,
                "Full-width heads taken for split ones",
                "Where each head keeps the full width, every matrix is h times as large.",
            ),
        ],
    )


@ask("06_cost", see="06_cost#what-does-grow", trap=2, over={"n": (10, 20), "h": (2, 4, 8)})
def weights_that_a_layer_makes(n, h):
    d_model = 64
    return number(
        f"A layer with d_model = {d_model} and h = {h} heads reads {n} tokens. How many weights does its softmax make?",
        cost.softmax_entries(n, n, h),
        wrong=[
            (
                n * n,
                "Maps shared out",
                "The width is split among the heads, the map is not: each has all pairs of tokens.",
            ),
            (h * n, "A weight for each token", "A weight belongs to a pair, a query and a key."),
            (
                h * n * (d_model // h),
                "Queries counted",
                "Those are the numbers in the queries. A weight is one a pair.",
            ),
        ],
        why="A full map for each head: this is what grows with h.",
    )


@ask("04_heads", see="04_heads#the-same-numbers-cut-or-uncut", trap=2, over={"d_model": (16, 24), "h": (2, 4, 8)})
def one_matrix_two_cuts(d_model, h):
    n = 5
    one_head, cut = examples.layer(d_model, 1), examples.layer(d_model, h)
    a, b = traced(d_model, 1, n), traced(d_model, h, n)
    price = "Heads share the columns, so sizes and counts of all heads together stay."
    return many(
        f"Two layers have the same four matrices, d_model = {d_model}. One uses them with one head, the other cuts "
        f"them for {h}. Both read the same tokens. What is equal?",
        option(
            "the count of trained numbers",
            cost.parameters(d_model, 1) == cost.parameters(d_model, h),
            "Heads taken for more numbers",
            price,
        ),
        option(
            "the number of multiply-adds",
            cost.multiply_adds(n, n, d_model, 1) == cost.multiply_adds(n, n, d_model, h),
            "Heads taken for more work",
            price,
        ),
        option("the shape of W_Q", one_head.W_q.shape == cut.W_q.shape, "Heads taken for more columns", price),
        option(
            "the shape of the weights",
            a.weights.shape == b.weights.shape,
            "Maps shared out",
            "One head makes one map, several heads make a map each.",
        ),
        option(
            "the values of the output",
            same(a.output, b.output),
            "Cut taken for bookkeeping",
            "A softmax of summed scores is not the same as a softmax for each part.",
        ),
    )


@ask(
    "12_exam_traps",
    see="12_exam_traps#trap-2-the-dimension-is-split-compute-is-not-multiplied",
    trap=2,
    over={"d_model": (24, 64), "h": (2, 4, 8)},
)
def share_of_one_head(d_model, h):
    layer = examples.layer(d_model, h)
    matrices = {name: getattr(layer, f"W_{name}") for name in "qkvo"}
    mine = {name: W[band(layer, name, 0)].size for name, W in matrices.items()}
    return number(
        f"A layer has d_model = {d_model} and h = {h}. How many of its trained numbers belong to one head: "
        "its columns of W_Q, W_K and W_V, and its rows of W_O?",
        sum(mine.values()),
        wrong=[
            (
                sum(W.size for W in matrices.values()),
                "Each head a whole layer",
                f"That is the whole layer. Its {h} heads share it.",
            ),
            (sum(mine.values()) - mine["o"], "W_O left out", "A head has rows of its own in W_O, too."),
            (
                4 * layer.d_k**2,
                "Input cut as well",
                "A head's matrix is narrow on one side only: it reads all d_model features of a token.",
            ),
        ],
        why="Four thin matrices of d_model by d_model / h: the h-th part of the layer.",
    )
