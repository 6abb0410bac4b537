"""The questions answered by hand, from the formulas and without the package.

A function of a question's parameters gives the number, the shape, the places of the right options, or the order.
"""

from math import e, factorial, sqrt

# mistakes-that-a-test-misses, from chapter 13: scale, split, merge, axis, no W_O
MISSED = {
    "with one head only": [0, 1, 2],
    "with one token only": [0, 1, 2, 3],
    "with W_O set to the identity": [4],
    "with the same vector for all tokens": [0, 3],
}
CHANGED = {"add {} to": [0], "multiply by {}": [2], "divide by {}": [3]}
MAPS = {  # (query whose row is read, or key whose column is read): where the largest weight stands, counted from 1
    ("A", "Which token looks most at"): {1: 2, 2: 4},
    ("A", "Where looks most"): {1: 3, 2: 1},
    ("B", "Which token looks most at"): {1: 3, 2: 4},
    ("B", "Where looks most"): {1: 1, 2: 4},
}
EXCHANGED = {
    "W_Q, W_K, W_V and W_O": [0],
    "W_Q, W_K and W_V": [1],
    "W_Q and W_K": [1],
    "W_Q": [3],
    "W_V and W_O": [2],
}
SAME_COLUMNS = {"W_Q and W_K": [1], "W_V": [3], "W_Q": [3], "W_Q, W_K and W_V": [0]}
MORE_HEADS = {
    "the count of trained numbers": [0],
    "the number of multiply-adds": [0],
    "the number of weights that softmax makes": [1],
    "the width of a head": [2],
    "the width of Concat": [0],
    "the memory for keys and values": [0],
}
WIDER = {
    "the count of trained numbers": [2],
    "d_k": [1],
    "the number of weights that softmax makes": [0],
    "the number of entries of the keys": [1],
}
MASKED = {
    "softmax(np.where(mask, scores, -np.inf))": [0],
    "softmax(scores + mask)": [2],
    "softmax(scores * mask)": [2],
    "softmax(scores) * mask": [1],
}
SEEN = {"itself and those before it": [0], "itself and those after it": [1], "every token": [3]}

# Chapter 8: accuracy with h heads, and of 24 heads with one thing changed, as the stored table prints them
LEARNED = {1: 0.41, 2: 0.62, 3: 0.80, 4: 0.98, 8: 1.00, 12: 0.87, 24: 0.58}
CHANGED_24 = [1.00, 0.77, 0.67, 0.98, 0.41]  # d_k = 6, d_v = 6, 4,000 steps, h = 4, h = 1

# Chapter 10: where the right option stands
TRUE_IS = {True: [0, 3, 4, 5], False: [1, 2]}
MOVES = {"a causal mask": [1], "a causal mask with its booleans inverted": [2], "no mask": [3]}
EMPTY_ROW = {"takes": [0], "replaces": [1], "adds": [2], "calls": [3]}

SHUFFLED = {"the source tokens": [0], "the decoder's tokens": [1], "the keys, and not the values,": [2]}


def dividing(d_model, numbers):
    """The places of the numbers that divide d_model."""
    return [i for i, h in enumerate(numbers) if d_model % h == 0]


def ways_out(d_model, h):
    up = d_model + h - d_model % h
    pairs = [(d_model, h - 1), (d_model, h // 2), (d_model, 2 * h), (up, h), (d_model + 1, h)]
    return [i for i, (d, heads) in enumerate(pairs) if d % heads == 0] + [5]


def one_feature(feature, x):
    column = {1: (2, 1, 0, 3), 2: (0, 2, 1, -1), 3: (2, 1, 0, 2), 4: (1, 1, -1, 0)}[feature]
    return 1 * column[0] + x * column[1] + 3 * column[2] + 4 * column[3]


def exchange(position, content):
    return [0] if position == content else [1]


def winner(a, b, turned):
    if 2 * b > a:
        return [1]
    return [2] if turned else [0]


def widths(widths):
    def choices(d_model):
        return sum(d_model % h == 0 for h in range(1, 13))

    return [f"d_model = {w}" for w in sorted(widths, key=choices)]


BY_HAND = {
    "shape-of-the-weights-of-one-head": lambda q_len, kv_len, d_k: (q_len, kv_len),
    "scores-all-changed-alike": lambda change, amount: CHANGED[change],
    "weight-of-equal-scores": lambda score, n: 1 / n,
    "sum-of-all-weights": lambda q_len, kv_len: q_len,
    "outputs-in-reach": lambda low, step: [0, 1],
    "budget-of-many-signals": lambda m, n: 1 / m,
    "winner-of-two-signals": winner,
    "two-keys-exchange-places": exchange,
    "the-right-key-is-second": lambda factor, lead: [3] if factor < 1 else [2],
    "what-the-mean-of-two-maps-tells": lambda n: [0, 1],
    "columns-of-a-head": lambda h, head: [0],
    "shape-of-split-queries": lambda B, n, h: (B, h, n, 16 // h),
    "shape-of-the-weights": lambda B, n, h: (B, h, n, n),
    "divisor-of-the-scores": lambda d_model, h: sqrt(d_model / h),
    "one-head-silenced": lambda matrix, head: [1, 4] if matrix == "W_V" else [0, 1, 4],
    "weight-under-a-causal-mask": lambda t, n: 1 / t,
    "rows-that-sum-to-one": lambda B, n, h: B * n * h,
    "steps-of-a-layer": lambda: [
        "project X to queries, keys and values",
        "multiply queries with keys and scale",
        "softmax over the keys",
        "weighted average of the values, in each head",
        "put the heads side by side",
        "multiply by W_O",
    ],
    "shape-of-concat": lambda q_len, kv_len, h: (q_len, 7 * h),
    "length-where-attention-overtakes": lambda d_model: 2 * d_model,
    "what-a-wider-layer-changes": lambda what, d_model: WIDER[what],
    "heads-right-by-chance": lambda sentences: 72 / 2**sentences,
    "a-head-that-ignores-the-pronoun": lambda noun: 0,
    "where-it-looks-in-most-heads": lambda: [0],
    "what-the-verb-and-subject-test-says": lambda: [1],
    "a-clear-map-and-its-effect": lambda head: [2],
    "reading-a-map": lambda which, token, way: [MAPS[which, way][token] - 1],
    "row-that-is-always-the-same": lambda mask, n: SEEN[mask.removeprefix("lets each token see ")],
    "zeros-under-a-causal-mask": lambda n, h: h * n * (n - 1) / 2,
    "what-a-new-layer-is-told": lambda: [0, 1, 5],
    "heads-with-the-same-columns": lambda matrices, h: SAME_COLUMNS[matrices],
    "heads-that-exchange-places": lambda matrices, pair: EXCHANGED[matrices],
    "orders-that-keep-the-output": lambda h, rows: factorial(h) if rows == "moving along" else 1,
    "a-map-of-an-untrained-layer": lambda head: [2],
    "what-makes-one-head-look-like-another": lambda a, b: [0, 1],
    "a-head-switched-off": lambda head, h: [0, 1, 2],
    "parameters-of-a-layer": lambda d_model, h: 4 * d_model**2,
    "multiply-adds-of-a-layer": lambda n, d_model, h: 4 * n * d_model**2 + 2 * n**2 * d_model,
    "what-more-heads-change": lambda what, factor: MORE_HEADS[what],
    "price-of-full-width-heads": lambda d_model, h: h,
    "layers-by-trained-numbers": lambda w: [
        f"d_model = {w}, h = 16, heads of width d_model / h",  # 4 w²
        f"d_model = {3 * w // 2}, h = 2, heads of width d_model / h",  # 9 w²
        f"d_model = {2 * w}, h = 1",  # 16 w²
        f"d_model = {w}, h = 8, each head {w} wide",  # 32 w²
    ],
    "weights-that-a-layer-makes": lambda n, h: h * n**2,
    "one-matrix-two-cuts": lambda d_model, h: [0, 1, 2],
    "share-of-one-head": lambda d_model, h: 4 * d_model * d_model / h,
    "features-that-hear-a-head": lambda d_model, h, W_O: d_model if W_O else d_model / h,
    "one-feature-by-hand": one_feature,
    "shape-of-the-output-matrix": lambda d_model, h, d_v: (h * d_v, d_model),
    "equal-to-concat-times-the-matrix": lambda h: [0, 3, 4],
    "rank-of-a-folded-matrix": lambda d_model, h: d_model / h,
    "what-gives-a-missing-matrix-away": lambda d_v, h: [0, 3] if d_v == 4 else [0, 1, 3],
    "matrices-that-do-not-mix": lambda h: [0, 1, 3],
    "numbers-of-heads-that-work": lambda d_model: dividing(d_model, (3, 4, 5, 6, 7, 8)),
    "columns-that-reach-no-head": lambda d_model, h: d_model % h,
    "largest-number-of-heads": lambda d_model, limit: max(h for h in range(1, limit) if d_model % h == 0),
    "layers-that-are-refused": lambda d_model: [0, 5],
    "ways-out-of-a-refusal": ways_out,
    "widths-by-their-choices": widths,
    "a-careless-cut": lambda how, d_model, h: [1] if how == "slices" else [0],
    "shape-of-one-heads-matrix": lambda d_model, h: (d_model, d_model // h),
    "rank-of-one-heads-scores": lambda d_model, h: d_model / h,
    "tables-that-one-head-can-make": lambda d_model, rank: [i for i in range(4) if d_model / 2**i >= rank],
    "what-more-heads-bring": lambda d_model, h: [0, 5],
    "one-score-of-many": lambda d_model, h: [0],
    "layers-by-the-width-of-a-head": lambda sizes: [
        f"d_model = {d}, h = {h}" for d, h in sorted(sizes, key=lambda pair: pair[0] / pair[1])
    ],
    "rankings-in-a-head-of-width-one": lambda n: 2,
    "row-sum-after-a-late-scale": lambda d_k: 1 / sqrt(d_k),
    "token-in-a-bare-reshape": lambda h, n, head, row: ((head - 1) * n + row - 1) // h + 1,
    "mistakes-that-a-test-misses": lambda probe: MISSED[probe],
    "what-a-mask-does": lambda way: MASKED[way],
    "where-the-mask-goes": lambda: [
        "cut the projections into heads",
        "multiply queries with keys and divide by √d_k",
        "put minus infinity where the mask forbids",
        "softmax of each row",
        "multiply by the values",
        "put the heads side by side",
    ],
    "a-relations-head-in-ten-layers": lambda relation: [2],
    "relations-that-a-silent-head-takes-along": lambda relation: [0],
    "accuracy-with-one-relation-a-head": lambda h: (h + (4 - h) * 0.2) / 4,
    "layers-by-accuracy": lambda heads: [f"h = {h}, d_k = {24 // h}" for h in sorted(heads, key=LEARNED.get)],
    "what-helps-a-layer-of-many-heads": lambda target: [i for i, x in enumerate(CHANGED_24) if x > target],
    "weight-beside-forbidden-keys": lambda n, m: 1 / n,
    "leak-of-an-added-mask": lambda n, m: m / (m + (n - m) * e),
    "shape-of-causal-and-padding": lambda B, n, h: (B, 1, n, n),
    "shape-for-the-layer-of-pytorch": lambda B, h, kv_len: (B * h, 3, kv_len),
    "who-reads-true-so": lambda true: TRUE_IS[true],
    "outputs-that-a-token-moves": lambda sight, t: MOVES[sight],
    "checks-that-catch-an-inverted-mask": lambda n: [2, 3],
    "keys-of-the-first-new-token": lambda q_len, kv_len, start: 1 if start else kv_len - q_len + 1,
    "fate-of-an-empty-row": lambda program: EMPTY_ROW[program.split()[0]],
    "fills-that-hold": lambda below: [i for i, fill in enumerate((1, 50, 100, 1e4, 1e9, 2e9)) if fill > below],
    "ways-by-their-leak": lambda below: [
        "forbidden scores become minus infinity",
        "forbidden scores become -203",
        "1 is added to allowed scores",
        "the scores are used as they are",
    ],
    "rank-of-the-right-colour": lambda relation: [0] if relation in ("ahead", "behind") else [2],
    "keys-that-a-token-sees": lambda where, n: {"BERT": n, "GPT-2": 4}.get(where, 10),
    "shape-of-cross-weights": lambda q_len, kv_len, h: (h, q_len, kv_len),
    "shape-of-a-cross-output": lambda q_len, kv_len, widths: (q_len, widths[0]),
    "what-a-shuffle-does": lambda what: SHUFFLED[what],
    "head-that-is-read": lambda h, kv, head: (head - 1) * kv // h + 1,
    "bytes-of-a-cache": lambda h, kv, layers: 100 * layers * kv * 64 * 2 * 2,
    "what-sharing-changes": lambda what, kv: [1] if what == "the size of W_K" else [0],
    "what-a-new-token-leaves-alone": lambda mask: [0, 1, 2, 3, 4] if mask == "a causal mask" else [0, 1, 2],
    "scores-in-a-step": lambda t, h, cache: h * t if cache == "with a cache" else h * t * t,
    "steps-of-decoding": lambda: [
        "project the new token to query, key and value",
        "put its key and value at the end of the cache",
        "multiply the query with all keys of the cache",
        "softmax of the row of scores in each head",
        "average all values of the cache by the weights",
        "put the heads side by side and multiply by W_O",
    ],
    "unscaled-layer-that-is-scaled": lambda d_k: [0],
    "head-counts-that-load": lambda d_model: dividing(d_model, (2, 3, 4, 5, 6, 8)),
}
