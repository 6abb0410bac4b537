"""Questions on masks: chapter 10."""

import numpy as np

from .. import causal_mask, examples, scaled_dot_product_attention, softmax
from .engine import ask, many, number, one, option, order, shape
from .toys import same, tokens


@ask("10_masks", see="10_masks#one-row-by-hand", over={"n": (2, 4, 5), "m": (2, 3)})
def weight_beside_forbidden_keys(n, m):
    scores, seen = np.array([1.0] * n + [3.0] * m), np.arange(n + m) < n
    right = softmax(np.where(seen, scores, -np.inf))[0]
    return number(
        f"A query has the score 1 with each of {n} allowed keys, and the score 3 with {m} forbidden ones. "
        "Which weight does an allowed key get, to two decimals?",
        float(right),
        digits=2,
        wrong=[
            (
                float(softmax(scores)[0]),
                "Mask after the softmax",
                "There the forbidden keys have taken their share of the sum already.",
            ),
            (
                float(softmax(np.where(seen, scores, 0))[0]),
                "Zero for minus infinity",
                "A score of 0 is a score like others: e to the power of it is 1.",
            ),
            (0.0, "Largest score takes all", "The largest scores are forbidden, so they are not in the sum."),
        ],
        why="Equal scores among the allowed keys, which share the sum of 1.",
    )


@ask("10_masks", see="10_masks#fills-that-leak", over={"n": (4, 6, 10), "m": (1, 2)})
def leak_of_an_added_mask(n, m):
    seen = np.arange(n) >= m
    leaked = softmax(seen.astype(float))[:m].sum()
    return number(
        f"A query has the score 0 with all of {n} keys and may not see {m} of them. A program adds 1 to the scores of "
        "allowed keys, and 0 to the others. Which share of the weight is on forbidden keys, to two decimals?",
        float(leaked),
        digits=2,
        wrong=[
            (0.0, "Mask taken to forbid", "A power of e is 0 only for minus infinity. Here it is 1."),
            (m / n, "Mask taken to do nothing", "The allowed keys gain something: a factor of e on their powers."),
            (
                float(m / (2 * (n - m) + m)),
                "Lead of 1 taken for twice",
                "A lead of 1 multiplies by e, which is 2.72, and not by 2.",
            ),
        ],
        why="Forbidden keys have the power 1, allowed keys 2.72.",
    )


@ask("10_masks", see="10_masks#sentences-of-different-lengths", over={"B": (2, 3), "n": (5, 7), "h": (4,)})
def shape_of_causal_and_padding(B, n, h):
    real = np.ones((B, n), bool)
    right = (causal_mask(n) & real[:, None, None, :]).shape
    return shape(
        f"`real` has the shape ({B}, {n}): {B} sentences, padded to {n} tokens. The layer has {h} heads. "
        f"Which shape has `causal_mask({n}) & real[:, None, None, :]`?",
        right,
        wrong=[
            (
                (B, n, n),
                "Axis of the heads lost",
                "That is `real[:, None, :]`. Its first axis would stand under the heads.",
            ),
            ((B, h, n, n), "A copy for each head", "That axis has size 1 in both. It is stretched when it is used."),
            ((B, 1, 1, n), "Padding alone", "The causal mask has a row for each query, so the rows differ."),
        ],
        why="The sizes of 1 are stretched to the causal mask's rows. The axis of the heads stays 1.",
    )


@ask("10_masks", see="10_masks#one-mask-five-libraries", over={"B": (2, 5), "h": (4, 8), "kv_len": (6,)})
def shape_for_the_layer_of_pytorch(B, h, kv_len):
    tables = np.zeros((B, 3, kv_len), bool)  # one a sentence
    return shape(
        f"`torch.nn.MultiheadAttention` with {h} heads gets {B} sentences, with 3 queries and {kv_len} keys each. "
        "Every sentence has its own table of allowed pairs. Which shape must `attn_mask` have?",
        tables.repeat(h, axis=0).shape,
        wrong=[
            (tables.shape, "Keras's shape", "Keras puts in the axis of the heads. PyTorch's layer wants it in front."),
            (
                tables[:, None].shape,
                "The function's shape",
                "`scaled_dot_product_attention` takes four axes. The layer takes two or three.",
            ),
            (
                (h, *tables.shape[1:]),
                "Sentences forgotten",
                "Each sentence and each head has a table of its own in that array.",
            ),
        ],
        why="A table for each sentence and head, the heads of a sentence side by side.",
    )


READS = {  # argument -> whether True means may attend there
    "`attn_mask` of torch's `scaled_dot_product_attention`": True,
    "`attn_mask` of torch's `nn.MultiheadAttention`": False,
    "`key_padding_mask` of torch's `nn.MultiheadAttention`": False,
    "`attention_mask` of Keras's `MultiHeadAttention`": True,
    "`mask` of JAX's `nn.dot_product_attention`": True,
    "`attn_mask` of ONNX's `Attention`": True,
}


@ask("10_masks", see="10_masks#one-mask-five-libraries", over={"true": (True, False)})
def who_reads_true_so(true):
    meaning = "may attend" if true else "may NOT attend"
    return many(
        f"You have booleans in which True = {meaning}. Which arguments read them so, without turning them round?",
        *(
            option(
                argument,
                reads == true,
                "One library, one meaning" if "torch" in argument else "Polarity guessed",
                f"There True means that a pair is {'allowed' if reads else 'forbidden'}.",
            )
            for argument, reads in READS.items()
        ),
    )


def outputs(mask, x):
    return examples.layer(8, 2)(x, mask=mask)


SIGHTS = {
    "a causal mask": lambda n: causal_mask(n),
    "a causal mask with its booleans inverted": lambda n: ~causal_mask(n),
    "no mask": lambda n: None,
}


@ask("10_masks", see="10_masks#what-an-inverted-mask-looks-like", over={"sight": tuple(SIGHTS), "t": (2, 3)})
def outputs_that_a_token_moves(sight, t):
    n, mask = 5, SIGHTS[sight](5)
    x = tokens(n, 8)
    changed = x.copy()
    changed[t - 1] += 1
    moved = np.abs(outputs(mask, changed) - outputs(mask, x)).max(axis=-1) > 1e-9
    place = np.arange(1, n + 1)
    truth = f"Under {sight}, a token is read by " + {
        "a causal mask": "itself and by those after it.",
        "no mask": "all tokens.",
    }.get(sight, "those before it, and its own output has another query.")
    return one(
        f"A layer gets {n} tokens and {sight}. You change token {t}. Which outputs move?",
        option(f"That of token {t} alone", same(moved, place == t), "Tokens taken for separate", truth),
        option(f"Those of tokens {t} to {n}", same(moved, place >= t), "Polarity taken for right", truth),
        option(f"Those of tokens 1 to {t}", same(moved, place <= t), "Past and future exchanged", truth),
        option(f"Those of all {n} tokens", moved.all(), "Mask taken for no mask", truth),
    )


def past_stays(mask, x):
    """Do the other outputs stay when the last token changes?"""
    changed = x.copy()
    changed[-1] += 1
    return same(outputs(mask, changed)[:-1], outputs(mask, x)[:-1])


CHECKS = {
    "The weights have the shape (h, n, n)": (
        lambda weights, mask, x: weights.shape == (2, len(x), len(x)),
        "Shape taken for proof",
        "An inverted mask has the shape of the right one.",
    ),
    "No weight is below 0 or above 1": (
        lambda weights, mask, x: weights.min() >= 0 and weights.max() <= 1,
        "Range taken for proof",
        "Softmax gives such weights under any mask.",
    ),
    "The first row is 1, followed by zeros": (
        lambda weights, mask, x: same(weights[:, 0], np.eye(len(x))[:1].repeat(2, axis=0)),
        "First row overlooked",
        "The first token may see only itself. Under the inverted mask it sees all but itself.",
    ),
    "A change of the last token leaves the other outputs alone": (
        lambda weights, mask, x: past_stays(mask, x),
        "Law overlooked",
        "Under the inverted mask the last token is what the others read.",
    ),
    "The first row of weights sums to 1": (
        lambda weights, mask, x: same(weights[:, 0].sum(axis=-1), np.ones(2)),
        "Sum taken for proof",
        "The first query has allowed keys under both masks, and they share 1.",
    ),
}


@ask("10_masks", see="10_masks#what-an-inverted-mask-looks-like", over={"n": (4, 6)})
def checks_that_catch_an_inverted_mask(n):
    x, mask = tokens(n, 8), ~causal_mask(n)
    weights = examples.layer(8, 2).trace(x, mask=mask).weights
    return many(
        f"A causal layer on {n} tokens was given the inverted mask by mistake. Which checks fail, and so catch it?",
        *(option(text, not check(weights, mask, x), name, why) for text, (check, name, why) in CHECKS.items()),
    )


@ask(
    "10_masks",
    see="10_masks#fewer-queries-than-keys",
    over={"q_len": (2, 3), "kv_len": (6, 9), "start": (False, True)},
)
def keys_of_the_first_new_token(q_len, kv_len, start):
    mask = np.tri(q_len, kv_len, dtype=bool) if start else causal_mask(q_len, kv_len)
    right, other = int(mask[0].sum()), kv_len - q_len + 1 if start else 1
    return number(
        f"{q_len} new tokens are the last of {kv_len}. The causal mask is aligned at the "
        f"{'start' if start else 'end'}. How many keys does the first new token see?",
        right,
        wrong=[
            (other, "The other corner", "Ask which place in the sentence the mask gives to the first query."),
            (kv_len, "All keys", "The new tokens after it have keys too, and these come later."),
            (
                kv_len - q_len,
                "Itself left out",
                "Those are the tokens before the new ones. A token sees itself as well.",
            ),
        ],
        why="At the start, the first query counts as the first token." if start else "All earlier tokens, and itself.",
    )


@np.errstate(invalid="ignore")
def bare(scores, mask):
    powers = np.exp(np.where(mask, scores, -np.inf))
    return powers / powers.sum(axis=-1, keepdims=True)


FATES = {
    "takes the powers of e and divides by their sum, after minus infinity": (
        bare,
        "All powers are 0, and 0 divided by 0 is not a number.",
    ),
    "replaces forbidden scores by -1e9, then takes softmax": (
        lambda scores, mask: softmax(np.where(mask, scores, -1e9)),
        "All scores of the row are the same number, so all weights are.",
    ),
    "adds -1e9 to forbidden scores in `float64`, then takes softmax": (
        lambda scores, mask: softmax(scores + np.where(mask, 0, -1e9)),
        "A constant added to a whole row is not seen by softmax.",
    ),
    "calls `mha.scaled_dot_product_attention` with the boolean mask": (
        lambda scores, mask: scaled_dot_product_attention(2 * np.eye(4), scores.T, np.eye(4), mask=mask)[1],
        "There a query that may see nothing has weights 0 and output 0.",
    ),
}


@ask("10_masks", see="10_masks#a-row-that-may-see-nothing", over={"program": tuple(FATES)})
def fate_of_an_empty_row(program):
    scores, mask = tokens(4, 4), causal_mask(4) & np.array([False, True, True, True])
    apply, truth = FATES[program]
    row = apply(scores, mask)[0]
    return one(
        f"A query may see none of four keys, and its scores differ. A program {program}. What is its row of weights?",
        option("Not a number, in all places", np.isnan(row).all(), "NaN expected", truth),
        option("A quarter in each place", same(row, np.full(4, 0.25)), "Uniform expected", truth),
        option("The row that it would be without a mask", same(row, softmax(scores)[0]), "Mask taken to vanish", truth),
        option("Zero in all places", same(row, np.zeros(4)), "Zeros expected", truth),
    )


FILLS = {"-1": -1, "-50": -50, "-100": -100, "-1e4": -1e4, "-1e9": -1e9, "minus infinity": -np.inf}


def leak(fill, below):
    """Weight on two forbidden keys beside two allowed ones that score -below."""
    return softmax(np.array([-below, -below, fill, fill], float))[2:].sum()


@ask("10_masks", see="10_masks#fills-that-leak", over={"below": (30, 80, 5000)})
def fills_that_hold(below):
    return many(
        f"A query's allowed keys score about -{below:,}. Which fills leave less than 0.01 of its weight to the "
        "forbidden keys?",
        *(
            option(
                name,
                leak(fill, below) < 0.01,
                "Fill taken for low enough" if leak(fill, below) > 0.01 else "Fill taken for too high",
                f"Compare it with -{below:,}: what counts is how far it lies below the allowed scores.",
            )
            for name, fill in FILLS.items()
        ),
    )


@ask("10_masks", see="10_masks#fills-that-leak", over={"below": (0, 210)})
def ways_by_their_leak(below):
    scores, seen = np.array([-below, -below, 0.0, 0.0]), np.array([True, True, False, False])
    ways = {
        "forbidden scores become minus infinity": np.where(seen, scores, -np.inf),
        "forbidden scores become -203": np.where(seen, scores, -203),
        "1 is added to allowed scores": scores + seen,
        "the scores are used as they are": scores,
    }
    # The logarithm of the ratio tells apart what would both print as 0.
    steps = sorted(ways, key=lambda name: ways[name][2] - ways[name][0])
    fill, added, raw = steps[1:]
    return order(
        f"Two allowed keys score {-below}, two forbidden ones 0. Order the ways by the weight that forbidden keys "
        "get, the least first.",
        steps,
        [
            (steps[0], fill, "Low taken for minus infinity", "Any finite score has a power of e above 0."),
            (
                fill,
                added,
                "A lead of 1 taken for a mask",
                "A lead of 1 is a factor of 2.72. Compare -203 with the allowed scores.",
            ),
            (added, raw, "Mask taken to do nothing", "The allowed keys gain a factor of 2.72 on the others."),
        ],
    )
