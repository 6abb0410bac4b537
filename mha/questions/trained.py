"""Questions on trained heads: chapter 8. Every answer is read from the stored table."""

from functools import cache
from itertools import pairwise

import numpy as np

from .. import training
from ..training import RELATIONS
from .engine import ask, many, number, one, option, order


@cache
def line(part, **wanted):
    """The line of the stored table whose entries are as wanted, lists as arrays."""
    (found,) = (row for row in training.stored()[part] if all(row.get(k) == v for k, v in wanted.items()))
    return {k: np.array(v) if isinstance(v, list) else v for k, v in found.items()}


MEANT = {
    "ahead": "the person ahead",
    "friend": "the friend on the note",
    "behind": "the person behind",
    "boss": "the boss on the note",
}
TABLE = "08_trained_heads#the-same-task-for-every-number-of-heads"


@ask("08_trained_heads", see="08_trained_heads#which-head-does-what", trap=1, over={"relation": RELATIONS})
def a_relations_head_in_ten_layers(relation):
    mass = line("table", h=4)["mass"][:, :, RELATIONS.index(relation)]  # (seeds, num_heads)
    owner, largest = mass.argmax(axis=1), mass.max(axis=1)
    most = np.bincount(owner, minlength=4).max()
    truth = "The heads start from random numbers, and which of them ends up with a relation follows from these."
    return one(
        "Ten layers of four heads learn the queue, each from a seed of its own. "
        f"Which of their heads looks at {MEANT[relation]}?",
        option("The same head in all ten", most == 10, "Role in the head's number", truth),
        option("The same head in more than half of them", 5 < most < 10, "A favoured head number", truth),
        option("No head in more than half of them", most <= 5, "Seed without effect", truth),
        option(
            "In most of them no head does",
            (largest > 0.5).mean() < 0.5,
            "Roles taken for imagined altogether",
            "In at least nine of them one head gives this person most of its weight. It is measured, not assigned.",
        ),
    )


@ask("08_trained_heads", see="08_trained_heads#take-a-head-away", trap=1, over={"relation": RELATIONS})
def relations_that_a_silent_head_takes_along(relation):
    found, r = line("table", h=4), RELATIONS.index(relation)
    owner = found["mass"][:, :, r].argmax(axis=1)
    knows = found["accuracy"].mean(axis=1) > 0.99  # the seeds that have learned all four relations
    drop = np.array([seed[head] for seed, head in zip(found["ablation"], owner)])[knows].mean(axis=0)  # (relations,)
    own, others = drop[r], np.delete(drop, r)
    truth = "Each relation has one head here, and no other head has learned to read the same person."
    return one(
        f"A layer of four heads answers all four relations. The head that looks at {MEANT[relation]} is silenced, "
        "without further training. What happens to the four relations?",
        option(f"Only “{relation}” gets worse", own > 0.5 and others.max() < 0.05, "Heads taken for a team", truth),
        option("All four get worse alike", np.ptp(drop) < 0.1, "Output taken for one whole", truth),
        option(f"“{relation}” suffers most, the others half as much", others.min() > 0.2, "Shared work", truth),
        option("None gets much worse", drop.max() < 0.05, "Spare heads in every layer", truth),
    )


@ask("08_trained_heads", see=TABLE, trap=5, over={"h": (1, 2, 3)})
def accuracy_with_one_relation_a_head(h):
    queue = training.held_out()
    same = queue.colour[0] == queue.colour[1]  # is the friend's colour that of the person ahead?
    guess = same[queue.asked[0]].mean()
    expected = round(float(h + (4 - h) * guess) / 4, 1)
    if abs(expected - line("table", h=h)["mean"]) > 0.05:
        raise ValueError(f"the stored table has {line('table', h=h)['mean']} for h={h}, not about {expected}")
    wrong = [
        (
            round(h / 4, 2),
            "A relation without a head taken for hopeless",
            "Guesses are right too, in a fifth of cases.",
        ),
        (1.0, "One head taken for enough", "A head has one distribution a token, so it singles out one person."),
        (0.2, "Guesses everywhere", "A relation that has a head is answered, not guessed."),
    ]
    return number(
        "The queue asks each token for four relations. A layer has as many answered relations as heads, always right; "
        f"the other relations are guessed, right in 0.2 of the cases. What mean accuracy do you expect for h = {h}?",
        expected,
        [row for i, row in enumerate(wrong) if row[0] not in (expected, *(w for w, *_ in wrong[:i]))],
        why="h relations count 1 each, the other 4 − h count 0.2 each; divide by 4. Training comes out near this.",
        digits=2,
    )


SETS = ((1, 4, 24), (1, 2, 3), (2, 12, 4), (3, 8, 24), (1, 3, 24))


@ask("08_trained_heads", see=TABLE, trap=5, over={"heads": SETS})
def layers_by_accuracy(heads):
    found = {h: float(line("table", h=h)["mean"]) for h in heads}
    ordered = sorted(found, key=found.get)
    rules = [
        (
            f"h = {a}, d_k = {24 // a}",
            f"h = {b}, d_k = {24 // b}",
            "More heads taken for better" if a > b else "Wider heads taken for better",
            f"Measured: {found[a]:.2f} before {found[b]:.2f}.",
        )
        for a, b in pairwise(ordered)
    ]
    return order(
        f"Layers with d_model = 24 learn the queue's four relations with h = {heads[0]}, {heads[1]} or {heads[2]}. "
        "Put the lowest accuracy first.",
        [f"h = {h}, d_k = {24 // h}" for h in ordered],
        rules,
    )


@ask("08_trained_heads", see="08_trained_heads#too-many-heads", trap=5, over={"target": (0.7, 0.9)})
def what_helps_a_layer_of_many_heads(target):
    base = float(line("table", h=24)["mean"])
    ways = {
        "d_k = 6 in place of 1": float(line("width", h=24, d_k=6, d_v=1)["mean"]),
        "d_v = 6 in place of 1": float(line("width", h=24, d_k=1, d_v=6)["mean"]),
        "4,000 steps in place of 500": float(line("longer", h=24)["mean"]),
        "h = 4 in place of 24": float(line("table", h=4)["mean"]),
        "h = 1 in place of 24": float(line("table", h=1)["mean"]),
    }
    names = ("Number of heads blamed", "Values taken for the narrow place", "Patience taken for width")
    names += ("More heads taken for safe", "One wide head taken for enough")
    return many(
        f"With d_model = 24 and h = 24, so d_k = d_v = 1, the queue is learned to {base:.2f}. "
        f"Which single changes bring it above {target}?",
        *(
            option(text, mean > target, name, f"Measured: {mean:.2f}. What a head of width 1 lacks is room to compare.")
            for (text, mean), name in zip(ways.items(), names)
        ),
    )


@ask("08_trained_heads", see="08_trained_heads#the-blend-inside-one-head", over={"relation": RELATIONS})
def rank_of_the_right_colour(relation):
    share = float(line("table", h=1)["top_two"][:, RELATIONS.index(relation)].mean())
    truth = f"Measured: {share:.2f}. The head's weight lies on the persons ahead and behind, so it sees their two hats."
    return one(
        f"A single head has learned the queue. In what share of cases is the hat of {MEANT[relation]} "
        "one of its two best guesses?",
        option("Nearly all", share > 0.95, "One head taken for four", truth),
        option("About three quarters", 0.65 < share < 0.85, "Weights taken for shares of the cases", truth),
        option("Nearly four in ten", 0.3 < share < 0.45, "Every relation taken for equal", truth),
        option("About one in eight", share < 0.2, "Top two taken for top one", truth),
    )
