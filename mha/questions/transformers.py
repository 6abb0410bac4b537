"""Questions on the layer inside models: chapter 11."""

from dataclasses import replace

import numpy as np

from .. import MultiHeadAttention, causal_mask, cost, examples
from .engine import ask, many, number, one, option, order, shape
from .toys import accepted, same, tokens

PLACE = "11_in_transformers"
WHO, CROSS = f"{PLACE}#who-asks-who-is-asked", f"{PLACE}#cross-attention-two-lengths-two-widths"
SHARED, CACHE = f"{PLACE}#shared-key-and-value-heads", f"{PLACE}#decode-with-a-cache"

SEES = {
    "BERT": lambda n, source: np.ones((n, n), bool),
    "GPT-2": lambda n, source: causal_mask(n),
    "the cross-attention of T5's decoder": lambda n, source: np.ones((n, source), bool),
}


@ask(PLACE, see=WHO, over={"where": tuple(SEES), "n": (6, 8)})
def keys_that_a_token_sees(where, n):
    place, source = 4, 10
    masks = {name: mask(n, source) for name, mask in SEES.items()}
    right = int(masks[where][place - 1].sum())
    given = f"The decoder has {n} tokens so far, the source {source}" if "cross" in where else f"A text has {n} tokens"
    wrong = [
        (n, "Whole text seen", "Here a mask, or another sequence, decides which keys there are."),
        (place, "Causal taken for the rule", "Only attention that writes a text hides its later tokens."),
        (place - 1, "Self left out", "A token may look at itself."),
        (n - place, "Later tokens counted", "These are the ones that a causal mask hides."),
        (
            source + n,
            "Both sequences",
            "Cross-attention asks the source alone; the decoder's own tokens had their turn.",
        ),
        (source, "Source taken for the text", "There is no second sequence here."),
    ]
    return number(
        f"{given}, none of it padding. How many keys does the fourth token's query see in {where}?",
        right,
        wrong=[row for i, row in enumerate(wrong) if row[0] != right and row[0] not in [w[0] for w in wrong[:i]]],
        why="What the token may see is what the mask allows, in the sequence that is asked.",
    )


@ask(PLACE, see=CROSS, over={"q_len": (3, 5), "kv_len": (7, 8), "h": (2, 4)})
def shape_of_cross_weights(q_len, kv_len, h):
    weights = examples.layer(8, h).trace(tokens(q_len, 8), tokens(kv_len, 8)).weights
    return shape(
        f"A decoder of {q_len} tokens asks a source of {kv_len} tokens, with h = {h} heads. "
        "Which shape do the weights have, heads first?",
        weights.shape,
        wrong=[
            ((h, kv_len, q_len), "Axes exchanged", "A row belongs to a query, and queries come from the decoder."),
            ((h, q_len, q_len), "Self-attention", "That is the decoder asking itself. Here the keys are the source's."),
            ((h, kv_len, kv_len), "Attention of the encoder", "That is the source asking itself."),
            ((q_len, kv_len), "One map for all heads", "Each head has a map of its own."),
        ],
        why="A row for each token that asks, a column for each that is asked.",
    )


@ask(PLACE, see=CROSS, over={"q_len": (3, 5), "kv_len": (7, 9), "widths": ((12, 8), (16, 24))})
def shape_of_a_cross_output(q_len, kv_len, widths):
    own, theirs = widths
    W = {name: np.ones((rows, 4)) for name, rows in (("W_q", own), ("W_k", theirs), ("W_v", theirs))}
    layer = MultiHeadAttention(**W, W_o=np.ones((4, own)), num_heads=2)
    output = layer(tokens(q_len, own), tokens(kv_len, theirs))
    return shape(
        f"Cross-attention: {q_len} decoder tokens of {own} features ask {kv_len} source tokens of {theirs} features. "
        f"W_O has {own} columns. Which shape has the output?",
        output.shape,
        wrong=[
            ((kv_len, own), "A row for each key", "The average over the keys leaves a row for each query."),
            ((q_len, theirs), "Width of the source", "The last product is with W_O, so its columns count."),
            ((kv_len, theirs), "Source handed through", "Who asks gets the answer: one row a query."),
            ((q_len, kv_len), "Weights taken for output", "The weights still have to average the values."),
        ],
        why="As many rows as queries, as many columns as W_O.",
    )


SHUFFLES = {
    "the source tokens": lambda x, y, new: (x, y[new], y[new]),
    "the decoder's tokens": lambda x, y, new: (x[new], y, y),
    "the keys, and not the values,": lambda x, y, new: (x, y[new], y),
}


@ask(PLACE, see=CROSS, over={"what": tuple(SHUFFLES)})
def what_a_shuffle_does(what):
    layer, x, y, new = examples.layer(8, 2), tokens(4, 8), tokens(5, 8)[:4], [2, 0, 3, 1]
    before, after = layer(x, y), layer(*SHUFFLES[what](x, y, new))
    stays, rows = same(after, before), same(after, before[new])
    truth = "A row of the output is one query's average over pairs of key and value. An average has no order."
    return one(
        f"In cross-attention without a mask, {what} are shuffled before they enter the layer. What does the output do?",
        option("It stays exactly as it was", stays, "Order taken to be ignored everywhere", truth),
        option("Its rows are shuffled in the same way", rows, "Keys taken for queries", truth),
        option("Other numbers come out", not (stays or rows), "Order taken to matter as in a list", truth),
        option(
            "Nothing comes out: the shapes do not fit",
            after.shape != before.shape,
            "Shuffle taken for a change of shape",
            "No shape changes when rows change places.",
        ),
    )


@ask(PLACE, see=f"{PLACE}#what-goes-wrong", over={"h": (6, 12), "kv": (2, 3), "head": (2, 5)})
def head_that_is_read(h, kv, head):
    layer = MultiHeadAttention.init(h, h, rng=0, num_kv_heads=kv)
    trace = layer.trace(tokens(1, h))  # one token: each head hands over its value
    right = 1 + int(np.abs(trace.v[:, 0] - trace.heads[head - 1, 0]).argmin())
    wrong = [
        ((head - 1) % kv + 1, "Tiled", "That is 1, 2, 1, 2. Neighbours share: the first group comes first."),
        (head, "Each head its own", "Then there would be as many key/value heads as query heads."),
        (right - 1, "Counted from 0", "Heads are counted from 1 here."),
        (h // kv, "Size of a group", "So many query heads share one. The question is which one."),
    ]
    seen = {right}
    return number(
        f"A layer has {h} query heads and {kv} key/value heads. Heads are counted from 1. "
        f"Which key/value head does query head {head} use?",
        right,
        wrong=[row for row in wrong if row[0] not in seen and not seen.add(row[0])],
        why=f"Each key/value head serves {h // kv} neighbouring query heads.",
    )


@ask(PLACE, see=SHARED, over={"h": (8, 16), "kv": (2, 4), "layers": (10, 20)})
def bytes_of_a_cache(h, kv, layers):
    n, d_k = 100, 64
    d_model = h * d_k
    right = layers * cost.kv_cache_bytes(n, d_model, h, num_kv_heads=kv)
    return number(
        f"A model has {layers} layers of {h} query heads and {kv} key/value heads, d_k = d_v = {d_k}. How many bytes "
        f"does its cache take for {n} tokens, at two bytes a number?",
        right,
        wrong=[
            (layers * cost.kv_cache_bytes(n, d_model, h), "Every query head counted", "Only key/value heads are kept."),
            (right // 2, "Keys alone", "Values are kept as well."),
            (right // layers, "One layer", "Each layer has keys and values of its own."),
            (right * 3 // 2, "Queries kept", "No later token needs an earlier one's query."),
        ],
        why="Tokens times layers times key/value heads, twice d_k numbers each, two bytes a number.",
    )


@ask(PLACE, see=SHARED, over={"what": ("the size of W_Q", "the size of W_K", "the size of the weights"), "kv": (2, 4)})
def what_sharing_changes(what, kv):
    h, x = 8, tokens(5, 32)
    full, shared = (MultiHeadAttention.init(32, h, rng=0, num_kv_heads=heads) for heads in (h, kv))
    sizes = {
        "the size of W_Q": lambda layer: layer.W_q.size,
        "the size of W_K": lambda layer: layer.W_k.size,
        "the size of the weights": lambda layer: layer.trace(x).weights.size,
    }
    ratio = sizes[what](full) / sizes[what](shared)
    truth = f"Every query head keeps its question and its map. Keys and values are made {kv} times instead of {h}."
    return one(
        f"A layer of {h} heads gets {kv} key/value heads instead of {h}. What happens to {what}?",
        option("It stays as it is", ratio == 1, "Sharing overlooked", truth),
        option(f"It becomes {h // kv} times smaller", ratio == h / kv, "Query heads taken to be shared", truth),
        option(f"It becomes {(h // kv) ** 2} times smaller", ratio == (h / kv) ** 2, "Saved on both sides", truth),
        option(f"It becomes {h} times smaller", ratio == h, "One head taken to be left", truth),
    )


STAYS = {
    "Their queries": lambda t: t.q[:, :5],
    "Their keys": lambda t: t.k[:, :5],
    "Their values": lambda t: t.v[:, :5],
    "Their weights on each other": lambda t: t.weights[:, :5, :5],
    "Their outputs": lambda t: t.output[:5],
    "The number of weights": lambda t: np.array(t.weights.size),
}


@ask(PLACE, see=CACHE, over={"mask": ("a causal mask", "no mask")})
def what_a_new_token_leaves_alone(mask):
    layer, x = examples.layer(8, 2), tokens(6, 8)
    make = causal_mask if mask == "a causal mask" else lambda n: None
    before, after = layer.trace(x[:5], mask=make(5)), layer.trace(x, mask=make(6))
    truth = {
        "Their queries": "A query is made of its own token alone.",
        "Their keys": "A key is made of its own token alone.",
        "Their values": "A value is made of its own token alone.",
        "Their weights on each other": "They change if the new token takes a share of the row, and only then.",
        "Their outputs": "An output changes if its token sees the new one.",
        "The number of weights": "There is a row and a column more.",
    }
    return many(
        f"A layer with {mask} has read five tokens. A sixth is put at the end. What stays as it was for the five?",
        *(
            option(name, same(part(before), part(after)), "Change overlooked", truth[name])
            for name, part in STAYS.items()
        ),
    )


@ask(PLACE, see=CACHE, over={"t": (10, 50), "h": (4, 8), "cache": ("with a cache", "without a cache")})
def scores_in_a_step(t, h, cache):
    q_len = 1 if cache == "with a cache" else t
    right, other = cost.softmax_entries(q_len, t, h), cost.softmax_entries(t + 1 - q_len, t, h)
    how = "keeps keys and values" if q_len == 1 else "runs the whole text through the layer, hidden pairs included"
    return number(
        f"A model writes its token number {t}. The layer has h = {h} heads and {how}. "
        "How many scores does it compute in this step, in all heads?",
        right,
        wrong=[
            (
                other,
                "With and without a cache confused",
                "With a cache there is one row a head; without, a row a token.",
            ),
            (right // h, "One head", "Each head has scores of its own."),
            (h, "New key alone", "The new query meets every key, and not only its own."),
        ],
        why="Heads times queries times keys.",
    )


@ask(PLACE, see=CACHE)
def steps_of_decoding():
    steps = [
        "project the new token to query, key and value",
        "put its key and value at the end of the cache",
        "multiply the query with all keys of the cache",
        "softmax of the row of scores in each head",
        "average all values of the cache by the weights",
        "put the heads side by side and multiply by W_O",
    ]
    return order(
        "One step of decoding with a cache. Put it in order.",
        steps,
        [
            (steps[0], steps[1], "Token itself kept", "The cache holds keys and values, so these must be there."),
            (steps[1], steps[2], "New token left out", "It would miss its own key: a token may look at itself."),
            (steps[2], steps[3], "Softmax without scores", "Softmax makes weights of scores."),
            (steps[3], steps[4], "Scores used as weights", "Scores do not sum to 1. Values are averaged by weights."),
            (steps[4], steps[5], "Mixed too early", "W_O mixes the heads' averages."),
        ],
    )


@ask(PLACE, see=f"{PLACE}#t5-a-number-for-the-distance", over={"d_k": (16, 64)})
def unscaled_layer_that_is_scaled(d_k):
    layer = replace(examples.layer(d_k, 1), scale=1.0)
    x = tokens(6, d_k)
    meant, made = layer.trace(x).weights, replace(layer, scale=None).trace(x).weights
    truth = f"Scores that were meant as they are get divided by {d_k**0.5:.0f}, so their differences shrink."
    return one(
        f"You load a T5 layer with d_k = {d_k} and forget `scale=1.0`. What becomes of its weights?",
        option("They are too even", made.max() < meant.max(), "Scale taken to sharpen", truth),
        option("They are too sharp", made.max() > meant.max(), "Direction of the scale", truth),
        option("They stay as they were", same(made, meant), "Scale taken for decoration", truth),
        option(
            "They no longer sum to 1",
            not np.allclose(made.sum(axis=-1), 1),
            "Scale applied after the softmax",
            "Softmax comes after the scale, and makes any row sum to 1.",
        ),
    )


@ask(PLACE, see=f"{PLACE}#a-layer-of-another-library", trap=4, over={"d_model": (12, 18, 20)})
def head_counts_that_load(d_model):
    return many(
        f"The state dict of a `torch.nn.MultiheadAttention` with d_model = {d_model} and h = 2 is loaded. "
        "With which `num_heads` is there no error, though the numbers may be wrong?",
        *(
            option(
                str(h),
                accepted(d_model, h),
                "Divisor overlooked",
                f"The matrices have one shape for every h that divides {d_model}, and no layer exists for another.",
            )
            for h in (2, 3, 4, 5, 6, 8)
        ),
    )
