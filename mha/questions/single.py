"""Questions on one head: chapters 1 and 2."""

import numpy as np

from .. import scaled_dot_product_attention, softmax
from .engine import ask, many, number, one, option, shape
from .toys import same


@ask(
    "01_single_head",
    see="01_single_head#from-the-sum-to-the-formula",
    over={"q_len": (3, 5), "kv_len": (4, 7), "d_k": (2, 8)},
)
def shape_of_the_weights_of_one_head(q_len, kv_len, d_k):
    q, k = np.zeros((q_len, d_k)), np.zeros((kv_len, d_k))
    output, weights = scaled_dot_product_attention(q, k, k)
    return shape(
        f"One head gets {q_len} queries and {kv_len} keys, all of width {d_k}. Which shape do its weights have?",
        weights.shape,
        wrong=[
            (weights.T.shape, "Keys taken for rows", "A row belongs to a query: it says how that query divides its 1."),
            (output.shape, "Output taken for weights", f"That is one average of width {d_k} for each query."),
            ((d_k, d_k), "Features compared", "A score belongs to a query and a key, not to two features."),
        ],
        why="A row for each query, a column for each key. The width is summed away in the dot product.",
    )


CHANGES = {
    "add {} to": (np.add, "Softmax sees only differences of scores, and these are what they were."),
    "multiply by {}": (np.multiply, "All differences of scores have grown, so the largest score leads by more."),
    "divide by {}": (np.divide, "All differences of scores have shrunk, so the largest score leads by less."),
}


@ask("01_single_head", see="01_single_head#what-goes-wrong", over={"change": tuple(CHANGES), "amount": (2, 3)})
def scores_all_changed_alike(change, amount):
    scores = np.array([2.0, 1.0, -1.0])
    how, truth = CHANGES[change]
    before, after = softmax(scores), softmax(how(scores, amount))
    apart = np.ptp(after) - np.ptp(before)
    verb, _, rest = change.format(amount).partition(" ")
    said = f"{verb} {amount} to all scores of one query" if verb == "add" else f"{verb} all scores of one query {rest}"
    return one(
        f"You {said}. They were not all equal. What happens to its weights?",
        option("They stay as they were", same(before, after), "Scores taken for weights", truth),
        option(
            "Each of them grows",
            (after > before).all(),
            "Budget forgotten",
            "The weights of one query sum to 1, so they cannot all grow.",
        ),
        option("The largest one grows", after.max() > before.max() + 1e-9, "Softmax made sharper", truth),
        option("They come closer together", apart < -1e-9, "Softmax made softer", truth),
    )


@ask("01_single_head", see="01_single_head#from-the-sum-to-the-formula", over={"score": (0, 1, 2), "n": (4, 5, 10)})
def weight_of_equal_scores(score, n):
    right = softmax(np.full(n, float(score)))[0]
    return number(
        f"A query has the same score, {score}, with each of {n} keys. Which weight does it give to each, "
        "to two decimals?",
        float(right),
        digits=2,
        wrong=[
            (float(score), "Score taken for weight", "A score is only compared with the other scores of its row."),
            (
                float(np.exp(score)),
                "Not divided by the sum",
                "You stopped after the power of e. Softmax then divides by the sum of all powers.",
            ),
            (1 / (n - 1), "The token itself left out", "No key is left out without a mask, the token's own included."),
        ],
        why="Equal scores are equal weights, and they sum to 1.",
    )


@ask("01_single_head", see="01_single_head#from-the-sum-to-the-formula", over={"q_len": (3, 5, 6), "kv_len": (4, 7)})
def sum_of_all_weights(q_len, kv_len):
    q, k = np.ones((q_len, 2)), np.ones((kv_len, 2))
    weights = scaled_dot_product_attention(q, k, k)[1]
    return number(
        f"One head, {q_len} queries, {kv_len} keys, no mask. What do all its weights sum to?",
        round(float(weights.sum())),
        wrong=[
            (
                kv_len,
                "A budget for each key",
                "It is the query that divides 1 among the keys, not the other way round.",
            ),
            (1, "One budget for the whole map", "Softmax runs along each row alone, so each row has a sum of its own."),
            (weights.size, "Each weight taken for 1", "Those are the entries. Their sum is less: a row shares 1."),
        ],
        why="Each row sums to 1, and there is a row for each query.",
    )


@ask("01_single_head", see="01_single_head#four-tokens-by-hand", over={"low": (10, 30), "step": (10, 20)})
def outputs_in_reach(low, step):
    values = low + step * np.arange(4.0)
    ends = [softmax(sign * 5 * np.arange(4.0)) @ values for sign in (-1, 1)]
    shown = ", ".join(f"{v:.0f}" for v in values)
    average = "The output is an average of the values under positive weights, so it lies between the smallest"
    average += " value and the largest."

    def reached(output, name):
        return option(f"{output:.0f}", min(ends) < output < max(ends), name, average)

    return many(
        f"The values of four keys are single numbers: {shown}. Which outputs can the head give, "
        "with the right queries and keys?",
        reached(values[0] + 1, "Extremes taken for out of reach"),
        reached(values[2] + 2, "Only plain averages allowed"),
        reached(values.sum(), "Values summed"),
        reached(values[-1] + step, "Weights taken for factors of any size"),
        reached(values[0] - step / 2, "Negative weights"),
    )


@ask("02_one_view", see="02_one_view#four-people-by-hand", over={"m": (2, 3, 4), "n": (10, 12)})
def budget_of_many_signals(m, n):
    scores = np.zeros(n)
    scores[:m] = 40
    return number(
        f"One head adds up {m} signals. Each gives a score of 40 to one of {n} keys, to a different one "
        "each time, and 0 to the others. Which weight do the keys that were meant get, to two decimals?",
        float(softmax(scores)[0]),
        digits=2,
        wrong=[
            (1.0, "A budget for each signal", "One head has one softmax, so all its signals share one sum of 1."),
            (1 / n, "Scores without effect", "The other keys have much smaller scores, and get next to nothing."),
            (
                1 / (m + 1),
                "A share kept back",
                "Next to nothing is left for the other keys: their scores lie too far below.",
            ),
        ],
        why=f"{m} keys tie for the largest score, and share the budget among them.",
    )


@ask(
    "02_one_view",
    see="02_one_view#what-goes-wrong",
    over={"a": (5, 7), "b": (2, 3, 4), "turned": (False, True)},
    where=lambda a, b, turned: b < a - 1,
)
def winner_of_two_signals(a, b, turned):
    first, second = np.array([a, b, 0]), np.array([0, b, a - 1])
    if turned:
        first, second = second[::-1], first[::-1]
    shown = [f"({', '.join(map(str, signal))})" for signal in (first, second)]
    weights = softmax((first + second).astype(float))
    top, tie = weights.argmax(), np.isclose(weights[0], weights[2])
    truth = f"One head adds the two scores of a key before its softmax: {', '.join(map(str, first + second))}."
    return one(
        f"Signal 1 scores three keys with {shown[0]}, signal 2 with {shown[1]}. "
        "One head adds them. Which key gets the largest weight?",
        option("Key 1, which signal 1 likes best", top == 0 and not tie, "Each signal on its own", truth),
        option("Key 2, which neither likes best", top == 1, "Agreement taken to win", truth),
        option("Key 3, which signal 2 likes best", top == 2 and not tie, "Each signal on its own", truth),
        option("Keys 1 and 3, by the same amount", tie and top != 1, "Each signal taken to get half", truth),
    )


@ask(
    "02_one_view",
    see="02_one_view#exchange-the-two-and-nothing-changes",
    over={"position": (2, 3, 4), "content": (2, 3, 4)},
)
def two_keys_exchange_places(position, content):
    before, after = softmax([position, content, 0.0, 0.0]), softmax([content, position, 0.0, 0.0])
    unchanged = same(before, after)
    swapped = same(before[[1, 0, 2, 3]], after)
    lead = "Key by key, the sum of the two scores is what it was."
    moved = "The two signals differ in strength, so the exchange moves the larger weight to the other key."
    truth = lead if unchanged else moved
    return one(
        f"One head adds two signals. Position gives key A the score {position}, content gives key B the score "
        f"{content}; all else is 0. Now position points at B and content at A, each as strongly as before. "
        "What does the head read?",
        option("The same as before", unchanged, "Amount taken for its label", truth),
        option("A and B with their weights exchanged", swapped and not unchanged, "Signals kept apart", truth),
        option(
            "A and B, both with less weight",
            after[0] < before[0] - 1e-9 and after[1] < before[1] - 1e-9,
            "Exchange costs budget",
            "The scores are the same four numbers, so the two keys together get what they got.",
        ),
        option(
            "All four keys alike",
            same(after, np.full(4, 0.25)),
            "Signals cancel",
            "Both signals still raise A or B above the other keys.",
        ),
    )


@ask("02_one_view", see="02_one_view#sharper-does-not-help", over={"factor": (0.5, 2, 4, 8), "lead": (0.25, 0.5)})
def the_right_key_is_second(factor, lead):
    scores = np.array([2.0, 2.0 + lead, 0, 0, 0, 0])
    before, after = softmax(scores), softmax(factor * scores)
    gained = (after[1] - after[0]) - (before[1] - before[0])
    truth = "A common factor keeps the order of scores, and softmax keeps it too. " + (
        "Smaller differences of scores are smaller differences of weights."
        if factor < 1
        else "Larger differences of scores let the leader take more."
    )
    return one(
        f"In one head key A has the score 2, key B has {2 + lead}, four others have 0. A is the key that was wanted. "
        f"You multiply all scores by {factor}. What becomes of A and B?",
        option("A overtakes B", after[0] > after[1], "Sharper is righter", truth),
        option("A and B get equal weights", same(after[0], after[1]), "Factor taken for a referee", truth),
        option("B stays ahead, by more than before", after[1] > after[0] and gained > 0, "More is sharper", truth),
        option("B stays ahead, by less than before", after[1] > after[0] and gained < 0, "Sharper is fairer", truth),
    )


@ask("02_one_view", see="02_one_view#what-goes-wrong", over={"n": (4, 6)})
def what_the_mean_of_two_maps_tells(n):
    heads = softmax(np.random.RandomState(n).uniform(0, 3, (2, n, n)))
    mean = heads.mean(axis=0)
    alike = (heads, heads[::-1], np.array([mean, mean]))  # three layers, one mean

    def told(what):
        """Is it the same in all layers with this mean?"""
        return all(same(what(other), what(heads)) for other in alike)

    lost = "Exchange the two heads, or give both the mean: the picture is the same, and this is not."
    kept = "The mean is half the sum of the two maps, so it tells every sum over both heads."
    return many(
        f"A program draws one map of {n} by {n} for a layer of two heads: their mean. What can you tell from it?",
        option("the weight that both heads together give to a key", told(lambda w: w.sum(axis=0)), "Sum lost", kept),
        option("what a key receives from all queries and heads", told(lambda w: w.sum(axis=(0, 1))), "Sum lost", kept),
        option(
            "which of the two heads gives a key more of its weight", told(lambda w: w[0] > w[1]), "Labels read in", lost
        ),
        option("the largest weight that a head gives to a key", told(lambda w: w.max(axis=0)), "Mean for peak", lost),
        option("the key at which head 1 looks most", told(lambda w: w[0].argmax(axis=-1)), "Mean for head 1", lost),
    )
