"""Trap 1: heads have no assigned roles."""

import inspect
from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np

from .. import MultiHeadAttention, examples, merge_heads
from .engine import ask, many, number, one, option
from .toys import band, same, tokens, traced, with_bands

TOLD = {
    "num_heads": ("how many heads there are", "Number of heads unknown", "The layer has to know where to cut."),
    "d_model": ("how wide its tokens are", "Width unknown", "The matrices get their sizes from it."),
    "head_roles": (
        "what each head should look for",
        "Roles given by hand",
        "No argument says so. Heads get numbers from the same random draw.",
    ),
    "relations": (
        "which words belong together",
        "Grammar built in",
        "The layer sees vectors. What belongs together has to be learned, if it is.",
    ),
    "num_layers": (
        "at which depth it will stand",
        "Depth taken for a role",
        "A layer is made the same way wherever it stands.",
    ),
    "rng": ("a source of random numbers", "Heads made by a rule", "The matrices are drawn, so the draw has a source."),
}


@ask("04_heads", see="12_exam_traps#trap-1-heads-have-no-assigned-roles", trap=1)
def what_a_new_layer_is_told():
    arguments = inspect.signature(MultiHeadAttention.init).parameters
    return many(
        "`MultiHeadAttention.init` makes a layer. What can you tell it?",
        *(option(text, argument in arguments, name, why) for argument, (text, name, why) in TOLD.items()),
    )


COPIED = {
    "W_Q and W_K": ("qk", "The maps come from queries and keys, and these are the same now. Values differ."),
    "W_V": ("v", "The heads read the same values, each under weights of its own."),
    "W_Q": ("q", "The queries are the same, but each head compares them with keys of its own."),
    "W_Q, W_K and W_V": ("qkv", "A head is its numbers. With the same numbers it does the same."),
}


@ask("04_heads", see="04_heads#what-goes-wrong", trap=1, over={"matrices": tuple(COPIED), "h": (2, 4)})
def heads_with_the_same_columns(matrices, h):
    names, truth = COPIED[matrices]
    t = with_bands(examples.layer(8, h), [0] * h, names).trace(tokens(5, 8))
    maps = all(same(w, t.weights[0]) for w in t.weights)
    outputs = all(same(o, t.heads[0]) for o in t.heads)
    return one(
        f"A layer has h = {h} heads. You give all heads the columns of head 1 in {matrices}, "
        "and leave the rest as drawn. How do the heads compare?",
        option("Same maps, same outputs", maps and outputs, "Copies taken for complete", truth),
        option("Same maps, different outputs", maps and not outputs, "Place taken for a role", truth),
        option("Different maps, same outputs", outputs and not maps, "Maps taken for decoration", truth),
        option("Different maps, different outputs", not outputs and not maps, "Head number taken for a role", truth),
    )


MOVED = {
    "W_Q, W_K, W_V and W_O": ("qkvo", "Each head moved with all that is its own, and a sum has no order."),
    "W_Q, W_K and W_V": ("qkv", "The heads moved, but their rows of W_O did not: each meets the other's rows."),
    "W_Q and W_K": ("qk", "The maps moved, but each meets the values of the other head."),
    "W_Q": ("q", "Each head's queries meet the keys of the other: these scores did not exist before."),
    "W_V and W_O": ("vo", "The maps stayed, but each weighs the values of the other head."),
}


@ask(
    "05_concat_and_output",
    see="05_concat_and_output#head-numbers-are-only-names",
    trap=1,
    over={"matrices": tuple(MOVED), "pair": ((1, 2), (1, 4), (2, 3))},
)
def heads_that_exchange_places(matrices, pair):
    names, truth = MOVED[matrices]
    n, swap, (a, b) = 5, list(range(4)), pair
    swap[a - 1], swap[b - 1] = b - 1, a - 1
    before, after = traced(8, 4, n), with_bands(examples.layer(8, 4), swap, names).trace(tokens(n, 8))
    stays = same(before.output, after.output)
    still, swapped = same(before.weights, after.weights), same(before.weights[swap], after.weights)
    return one(
        f"In a layer of four heads you exchange the parts of heads {a} and {b} in {matrices}. What do you find?",
        option("The output stays; the two maps change places", stays and swapped, "W_O taken for blind", truth),
        option(
            "The output changes; the two maps change places", swapped and not stays, "Place taken for a role", truth
        ),
        option(
            "The output changes; both maps stay in place", still and not stays, "Map tied to the head's number", truth
        ),
        option(
            "The output changes; the two maps are new ones",
            not still and not swapped and not stays,
            "Head taken for one whole",
            truth,
        ),
    )


@ask(
    "12_exam_traps",
    see="12_exam_traps#trap-1-heads-have-no-assigned-roles",
    trap=1,
    over={"h": (3, 4), "rows": ("moving along", "staying in place")},
)
def orders_that_keep_the_output(h, rows):
    t, bands = traced(12, h, 4), examples.layer(12, h).W_o.reshape(h, 12 // h, 12)
    orders = [list(o) for o in permutations(range(h))]
    kept = [
        same(merge_heads(t.heads[o]) @ bands[o if rows == "moving along" else slice(None)].reshape(12, 12), t.output)
        for o in orders
    ]
    right = sum(kept)
    wrong = [
        (1, "A place for each head", "A head and its rows of W_O can stand anywhere: contributions add up."),
        (len(orders), "Concat taken for a sum", "Concat has an order, and the rows of W_O must fit it."),
        (h, "Turning in a circle only", f"There are more orders of {h} things than shifts, and no shift is special."),
    ]
    return number(
        f"The outputs of h = {h} heads are put side by side in another order, the rows of W_O {rows}. "
        "How many of all orders, the old one included, give the old output?",
        right,
        wrong=[row for row in wrong if row[0] != right],
        why="The output is a sum over heads, each with its own rows of W_O.",
    )


@ask("07_explorer", see="07_explorer#what-the-toy-shows-and-what-it-does-not", trap=1, over={"head": (1, 2, 3, 4)})
def a_map_of_an_untrained_layer(head):
    words = examples.tokens(examples.SENTENCES[3])
    x, like = examples.embed(words, 16), words.index("like")
    draws = [MultiHeadAttention.init(16, 4, rng=seed).trace(x).weights[:, like] for seed in range(24)]
    looks = [row.argmax(axis=-1) for row in draws]  # (num_heads,) in each draw
    found = looks[0][head - 1]
    own = Counter(int(look[head - 1]) for look in looks)
    often = own[found] > len(draws) / 2
    truth = "All heads are drawn from one source, and none has a task before training."
    return one(
        f"In an untrained layer of four heads, head {head} gives the token “like” its largest weight on "
        f"“{words[found]}”. You draw all matrices anew, many times. What do you find?",
        option(f"Head {head} looks at “{words[found]}” in most draws", often, "Role in the head's number", truth),
        option(
            f"Some head looks at “{words[found]}” in each draw",
            all(found in look for look in looks),
            "Role shared out in each layer",
            truth,
        ),
        option(f"Head {head} looks elsewhere in most draws", not often, "Draw taken for training", truth),
        option(
            f"Head {head} has even weights in most draws",
            np.median([row[head - 1].max() for row in draws]) < 1.2 / len(words),
            "Random taken for even",
            "Random matrices give unequal scores, so a row has a clear largest weight, wherever that falls.",
        ),
    )


@ask("12_exam_traps", see="04_heads#heads-see-nothing-of-each-other", trap=1, over={"a": (1, 2), "b": (3, 4)})
def what_makes_one_head_look_like_another(a, b):
    layer, x, i, j = examples.layer(8, 4), tokens(5, 8), a - 1, b - 1
    wanted = traced(8, 4, 5).weights[j]

    def copied(names):
        changed = {}
        for name in names:
            W = getattr(layer, f"W_{name}").copy()
            W[band(layer, name, i)] = W[band(layer, name, j)]
            changed[f"W_{name}"] = W
        return same(replace(layer, **changed).trace(x).weights[i], wanted)

    swap = list(range(4))
    swap[i], swap[j] = j, i
    exchanged = same(with_bands(layer, swap, "qk").trace(x).weights[i], wanted)
    truth = "Where a head looks is made by its queries and keys together, and by nothing else."
    return many(
        f"You want head {a} to look where head {b} looked. Which of these does it?",
        option("copying the columns of W_Q and W_K", copied("qk"), "Place taken for a role", truth),
        option("exchanging the columns of W_Q and W_K", exchanged, "Place taken for a role", truth),
        option("copying the columns of W_Q", copied("q"), "Query taken for the whole question", truth),
        option("copying the columns of W_V", copied("v"), "Values taken for a role", truth),
        option("exchanging the rows of W_O", copied("o"), "W_O taken for a role", truth),
    )


@ask("05_concat_and_output", see="05_concat_and_output#predict-then-look", trap=1, over={"head": (1, 2), "h": (4, 8)})
def a_head_switched_off(head, h):
    layer, x, i = examples.layer(8, h), tokens(5, 8), head - 1
    W_o = layer.W_o.copy()
    W_o[band(layer, "o", i)] = 0
    before, after = traced(8, h, 5), replace(layer, W_o=W_o).trace(x)
    others = [k for k in range(h) if k != i]
    parts = before.heads @ layer.W_o.reshape(h, -1, 8)
    truth = "The output is a sum of contributions, each made by its own head alone."
    return many(
        f"In a layer of h = {h} heads you set the rows of head {head} in W_O to 0. What holds?",
        option(
            "the maps of the other heads stay",
            same(before.weights[others], after.weights[others]),
            "Heads in touch",
            truth,
        ),
        option(f"the map of head {head} stays", same(before.weights[i], after.weights[i]), "Map made by W_O", truth),
        option(
            "the output is the sum over the other heads",
            same(after.output, parts[others].sum(axis=0)),
            "Output as one whole",
            truth,
        ),
        option(
            "another head takes over its part",
            same(after.output, before.output),
            "Heads with a common task",
            "Without training, no other head's numbers move, so the contribution is gone.",
        ),
        option(
            "its own features become 0 in the output",
            np.allclose(after.output[:, band(layer, "o", i)], 0),
            "Output features owned by heads",
            "After W_O each output feature hears all heads, so none falls silent with one of them.",
        ),
    )
