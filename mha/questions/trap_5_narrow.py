"""Trap 5: more heads are narrower views, not more capacity."""

from itertools import pairwise, permutations

import numpy as np

from .. import cost, examples, softmax
from .engine import ask, many, number, one, option, order, shape
from .toys import band, same, traced


@ask(
    "03_projections",
    see="03_projections#one-product-for-all-heads",
    trap=5,
    over={"d_model": (24, 48), "h": (2, 3, 4, 6)},
)
def shape_of_one_heads_matrix(d_model, h):
    layer = examples.layer(d_model, h)
    own = layer.W_q[band(layer, "q", 0)].shape
    return shape(
        f"d_model = {d_model}, h = {h}. One matrix makes one head's queries from the tokens. "
        "Which shape does it have, with rows as inputs?",
        own,
        wrong=[
            ((d_model, d_model), "Each head at full width", f"That is the packed matrix of all {h} heads."),
            (
                (own[1], own[1]),
                "Input cut as well",
                "A head reads all features of a token. Only what it makes is narrow.",
            ),
            (own[::-1], "In and out exchanged", "Rows are inputs: a token brings d_model numbers."),
        ],
        why="It reads the whole token and makes d_model / h numbers of it.",
    )


@ask(
    "04_heads",
    see="12_exam_traps#trap-5-more-heads-are-narrower-views-not-more-capacity",
    trap=5,
    over={"d_model": (16, 24), "h": (2, 4, 8)},
    where=lambda d_model, h: h * h != d_model,
)
def rank_of_one_heads_scores(d_model, h):
    n = 14
    scores = traced(d_model, h, n).scores[0]
    return number(
        f"d_model = {d_model}, h = {h}, random matrices. One head's scores for {n} tokens are a table of "
        f"{n} by {n}. What is its rank, the number of independent directions in it?",
        int(np.linalg.matrix_rank(scores)),
        wrong=[
            (n, "Each pair free", "Scores are products of queries and keys, and these have only d_k numbers a token."),
            (d_model, "Each head at full width", f"A head compares d_model / h features, not all {d_model}."),
            (
                h,
                "More heads, higher rank",
                "With more heads at the same d_model a head gets narrower, and its rank falls.",
            ),
        ],
        why="The product of two tables that are d_k = d_model / h wide.",
    )


def reached(table, d_model, h):
    """Can one head make this table of scores, from tokens that are all independent? Tried with the best of its rank."""
    u, s, vt = np.linalg.svd(table)
    d_k = examples.layer(d_model, h).d_k
    q, k = (u * s)[:, :d_k], vt[:d_k].T
    return same(q @ k.T, table)


@ask(
    "12_exam_traps",
    see="12_exam_traps#trap-5-more-heads-are-narrower-views-not-more-capacity",
    trap=5,
    over={"d_model": (16, 24), "rank": (3, 5, 7)},
    where=lambda d_model, rank: rank > d_model / 8,
)
def tables_that_one_head_can_make(d_model, rank):
    rng = np.random.RandomState(rank)
    table = rng.standard_normal((10, rank)) @ rng.standard_normal((rank, 10))
    return many(
        f"You want a head whose scores for 10 tokens are exactly a given table of rank {rank}. The tokens' vectors are "
        f"independent, d_model = {d_model}, all matrices are free. In which layers can one head do it?",
        *(
            option(
                f"h = {h}",
                reached(table, d_model, h),
                "More heads taken for more power in each",
                f"A head of this layer is {d_model // h} wide, and so is the largest rank of its scores.",
            )
            for h in (1, 2, 4, 8)
        ),
    )


@ask(
    "12_exam_traps",
    see="12_exam_traps#trap-5-more-heads-are-narrower-views-not-more-capacity",
    trap=5,
    over={"d_model": (16, 32), "h": (2, 4)},
)
def what_more_heads_bring(d_model, h):
    few, more = traced(d_model, h, 5), traced(d_model, 2 * h, 5)
    a, b = examples.layer(d_model, h), examples.layer(d_model, 2 * h)
    shared = "All heads together have d_model columns in each matrix, before and after."
    return many(
        f"You go from h = {h} to h = {2 * h} at d_model = {d_model}. What does the layer have more of?",
        option(
            "rows of weights for each token",
            more.weights[:, 0].shape[0] > few.weights[:, 0].shape[0],
            "Budgets taken to be shared",
            "Each head has a softmax of its own, so a token gets one budget a head.",
        ),
        option(
            "features that one head compares",
            b.d_k > a.d_k,
            "More heads, wider heads",
            "Each head gets d_model / h of them.",
        ),
        option(
            "trained numbers in all",
            cost.parameters(d_model, 2 * h) > cost.parameters(d_model, h),
            "Heads taken for capacity",
            shared,
        ),
        option("numbers in a token's output", more.output.size > few.output.size, "Heads taken for width", shared),
        option(
            "numbers in a token's slice of Concat, head by head",
            more.heads.shape[-1] > few.heads.shape[-1],
            "Slices taken to stay",
            "Concat keeps its width, so with more slices each is narrower.",
        ),
        option(
            "scores in all",
            more.scores.size > few.scores.size,
            "Maps shared out",
            "Each head scores all pairs of tokens, with shorter dot products.",
        ),
    )


@ask("04_heads", see="04_heads#the-same-numbers-cut-or-uncut", trap=5, over={"d_model": (16, 24), "h": (2, 4, 8)})
def one_score_of_many(d_model, h):
    whole, parts = traced(d_model, 1, 5), traced(d_model, h, 5)
    one_head = whole.q[0] @ whole.k[0].T
    heads = parts.q @ parts.k.swapaxes(-1, -2)
    truth = "A dot product over all features is the sum of the dot products over its pieces."
    return one(
        f"The same matrices, d_model = {d_model}, once for a single head and once cut for h = {h}. Take a query and a "
        f"key, before any scale. What is the single head's dot product to those of the {h} heads?",
        option("their sum", same(one_head, heads.sum(axis=0)), "Sum taken for mean", truth),
        option("their mean", same(one_head, heads.mean(axis=0)), "A head taken for the average head", truth),
        option("the largest of them", same(one_head, heads.max(axis=0)), "The strongest head taken to win", truth),
        option("their product", same(one_head, heads.prod(axis=0)), "Weights taken for scores", truth),
    )


SIZES = (((512, 16), (256, 4), (96, 2)), ((1024, 64), (128, 4), (192, 2)), ((768, 48), (64, 2), (48, 1)))


@ask("07_explorer", see="07_explorer#predict-then-look-shape-and-price", trap=5, over={"sizes": SIZES})
def layers_by_the_width_of_a_head(sizes):
    widths = {f"d_model = {d}, h = {h}": d // h for d, h in sizes}
    ordered = sorted(widths, key=widths.get)
    names = list(widths)
    rules = [
        (
            a,
            b,
            "Large layer taken for wide heads" if names.index(a) < names.index(b) else "More heads, wider heads",
            f"What counts is d_model / h: {widths[a]} before {widths[b]}.",
        )
        for a, b in pairwise(ordered)
    ]
    return order(
        f"Layers of width {', '.join(str(d) for d, _ in sizes)} are cut for different numbers of heads. "
        "Put the layer with the narrowest heads first.",
        ordered,
        rules,
    )


@ask("07_explorer", see="07_explorer#predict-then-look-shape-and-price", trap=5, over={"n": (3, 4, 5)})
def rankings_in_a_head_of_width_one(n):
    keys = np.arange(1.0, n + 1) ** 2
    queries = np.linspace(-3, 3, 40)  # none is 0
    rankings = {tuple(row.argsort()) for row in softmax(queries[:, None] * keys)}
    return number(
        f"With h = d_model a head is one number wide. Its {n} keys are {n} different numbers. "
        "Queries may be any number but 0. In how many different orders can such queries rank the keys by weight?",
        len(rankings),
        wrong=[
            (1, "Keys taken to decide alone", "A negative query turns the order round."),
            (
                n,
                "Each key can be the first",
                "A score is query times key: only the largest or the smallest key can lead.",
            ),
            (
                len(list(permutations(range(n)))),
                "Any order taken to be possible",
                "With one number a query can prefer large keys or small ones, and nothing in between.",
            ),
        ],
        why="From the largest key to the smallest, or the other way round.",
    )
