"""Questions on a real model's heads: chapter 9. What was measured is read from the stored results."""

import itertools
from functools import cache

import numpy as np

from .. import pretrained
from .engine import ask, number, one, option

HEADS = 72
measured = cache(pretrained.results)


@ask("09_real_heads", see="09_real_heads#a-test-by-hand", trap=1, over={"sentences": (2, 3)})
def heads_right_by_chance(sentences):
    tosses = list(itertools.product((True, False), repeat=sentences))
    right = HEADS * sum(all(toss) for toss in tosses) // len(tosses)
    wrong = [
        (0, "Best of many taken for one", "For one head it would be unlikely. You look at 72 and keep the best."),
        (1, "The best taken for the only one", "Count them: 72 times one half, once for each sentence."),
        (HEADS // 2, "One sentence counted", "Half of them are right on one sentence. Each further one halves again."),
        (HEADS // (2 * sentences), "Chances added", "Chances of independent tosses multiply."),
    ]
    return number(
        f"Suppose that each of {HEADS} heads knows nothing, and prefers one of two nouns as a coin falls. "
        f"You test all of them on {sentences} sentences. How many heads do you expect to be right every time?",
        right,
        wrong=[row for row in wrong if row[0] != right],
        why="Each sentence halves the number. So a best head has to be tested on other sentences.",
    )


def right_in_both(prefers, meant=("first", "second")):
    """Percent of minimal pairs in which a head with fixed preferences is right in both sentences."""
    pairs = [(prefers[noun], prefers[other]) for noun, other in (meant, meant[::-1])]
    return 100 * sum(p == m for p, m in zip(pairs, (meant, meant[::-1]))) // len(pairs)


@ask("09_real_heads", see="09_real_heads#a-test-by-hand", trap=1, over={"noun": ("first", "second")})
def a_head_that_ignores_the_pronoun(noun):
    prefers = {"first": noun, "second": noun}  # whichever noun the pronoun means
    return number(
        "The two sentences of a minimal pair differ in the pronoun alone, and each means another noun. "
        f"A head puts more weight on the {noun} noun in every sentence, whatever the pronoun. "
        "In how many percent of the pairs is it right in both sentences?",
        right_in_both(prefers),
        wrong=[
            (50, "Sentences counted, not pairs", "It is right in half of the sentences: in one of each pair."),
            (25, "Fixed taken for random", "A coin would reach 25. This head never changes its mind."),
            (100, "Being sure taken for being right", "It is as sure where the pronoun means the other noun."),
        ],
        why="In each pair it is right once and wrong once. That is why pairs are counted, not sentences.",
    )


PLACES = {
    "[CLS]": "at the mark [CLS]",
    "dog": "at “dog”, the animal",
    "ball": "at “ball”, the nearest noun",
    "fast": "at “fast”, the last word",
}


@ask("09_real_heads", see="09_real_heads#the-dog-sentence", trap=1)
def where_it_looks_in_most_heads():
    counts = measured()["dog"]["most"]
    truth = "A row has to sum to 1, and many heads rest on the mark in front."
    names = {
        "[CLS]": "Rest overlooked",
        "dog": "Meaning read into the maps",
        "ball": "Nearness taken for the rule",
        "fast": "Property taken for the reference",
    }
    return one(
        "“The dog chased the ball because it was fast.” In all-MiniLM-L6-v2, where is the largest weight of “it” "
        "in more than half of the 72 heads?",
        *(option(text, counts.get(token, 0) > HEADS / 2, names[token], truth) for token, text in PLACES.items()),
    )


@ask("09_real_heads", see="09_real_heads#a-baseline-takes-a-head-down", trap=1)
def what_the_verb_and_subject_test_says():
    found = measured()["verb_subject"]
    head, rule = found["best_right"]["held_out"], found["offset_right"]["held_out"]
    low, _ = found["best_interval"]
    rule_share = rule / len(found["distances"]["held_out"])
    truth = "Without the rule beside it, the number of the head would have looked like grammar."
    return one(
        f"Of 72 heads, one was chosen as the best at finding a verb's subject. On new sentences it is right in {head} "
        f"of 20, and the rule “the word before the verb” in {rule} of 20. What follows?",
        option("The head has learned what a subject is", low > rule_share, "Score without a baseline", truth),
        option(
            "The head is not shown to be better than the rule",
            head <= rule and low <= rule_share,
            "Map believed",
            truth,
        ),
        option(
            "The head must follow the rule, word for word",
            False,
            "Same score taken for same rule",
            "Two answers can be right equally often and in different sentences.",
        ),
        option(
            "No head of the model can hold any grammar",
            max(np.max(measured()[name]["both_right"]["held_out"]) for name in ("he_she", "it_they")) < 0.25,
            "One failure taken for all",
            "Heads that follow gender and number are measured in the same chapter.",
        ),
    )


@ask("09_real_heads", see="09_real_heads#take-heads-away", trap=1, over={"head": ("0.2", "1.8")})
def a_clear_map_and_its_effect(head):
    role = {"0.2": "the token before", "1.8": "the token after"}[head]
    effect = np.array(measured()["ablation"]["held_out"])
    here = effect[tuple(int(i) for i in head.split("."))]
    place = int((effect > here).sum()) + 1
    truth = "What a map shows is where a head reads. What the model would miss is another measurement."
    return one(
        f"Head {head} has one of the clearest maps of the model: it looks at {role}. You take away each of the 72 "
        "heads in turn, and rank them by how much the sentence's vector changes. Where does this head stand?",
        option("Among the first ten, as its role suggests", place <= 10, "Clear map taken for large effect", truth),
        option("Among the last ten, as others do its work", place > 62, "Clear map taken for decoration", truth),
        option("Somewhere between, like most other heads", 10 < place <= 62, "Map taken for need", truth),
        option(
            "Nowhere: without it there is no vector",
            False,
            "Role taken for a part of a machine",
            "The output is a sum over heads. With one term less there is still a sum.",
        ),
    )
