"""The questions: each variant is sound, there are enough of each sort, and exams are drawn as promised."""

import itertools
import re
from collections import Counter
from functools import cache

import pytest
from by_hand import BY_HAND
from chapters import NOTEBOOKS, notebook

from mha import questions
from mha.questions import KINDS, QUESTIONS, TRAPS, Asked, Option, Question, exam, many, number, one, option, order

NAMES = [q.name for q in QUESTIONS]
each = pytest.mark.parametrize("question", QUESTIONS, ids=NAMES)
ASKED = [asked for q in QUESTIONS for asked in q.variants]


@cache
def sections(chapter):
    """The anchors of a notebook's headings that hold no formula; None if there is no such notebook."""
    path = {p.stem: p for p in NOTEBOOKS}.get(chapter)
    if path is None:
        return None
    texts = (c.source for c in notebook(path).cells if c.cell_type == "markdown")
    headings = [h for text in texts for h in re.findall(r"^##+ (.+)$", text, flags=re.M)]
    return {re.sub(r"[^a-z0-9]+", "-", h.lower()).strip("-") for h in headings if "$" not in h}


@each
def test_variants_are_sound(question):
    variants = question.variants
    assert 1 <= len(variants) <= 16
    assert {a.kind for a in variants} == {question.kind} <= set(KINDS)
    assert len({a.text for a in variants}) == len(variants), "two variants with one text"
    for asked in variants:
        assert len(asked.options) >= 3, f"{question.name} needs two wrong options or more"
        said = [asked.text, asked.answer, *(words for o in asked.options for words in (o.text, o.name, o.why))]
        said += [words for rule in asked.rules for words in rule[2:]]
        for words in said:
            assert words == words.strip() and "  " not in words
            assert words.count("`") % 2 == 0
            assert not re.search(r"<\w|\$|\\", words), words  # no HTML, no LaTeX
        for o in asked.options:
            assert len(o.name) <= 60
            if question.kind != "order":
                assert o.why, f"{o.text!r} says nothing when it is chosen"


@each
def test_wrong_values_are_not_within_reach_of_the_right_one(question):
    for asked in question.variants:
        if question.kind == "number":
            (right,) = (o for o in asked.options if o.right)
            for o in asked.options:
                assert type(o.value) in (int, float), f"{o.value!r} would not be stored as a number"
                assert o.right or abs(o.value - right.value) > right.within
                assert abs(float(o.text.replace(",", "")) - o.value) <= o.within  # what is shown counts as given
        if question.kind == "shape":
            values = [tuple(o.value) for o in asked.options]
            assert len(set(values)) == len(values)
            assert all(type(n) is int for value in values for n in value)


@each
def test_see_leads_to_a_heading(question):
    links = {question.see, *(o.see for asked in question.variants for o in asked.options if o.see)}
    for see in links:
        chapter, _, anchor = see.partition("#")
        assert sections(chapter) is not None, f"{see}: no such notebook"
        assert anchor in sections(chapter), f"{see}: not among {sorted(sections(chapter))}"
    assert sections(question.chapter) is not None


@each
def test_answered_by_hand(question):
    assert question.name in BY_HAND, f"answer {question.name} in tests/by_hand.py"
    rows = [dict(zip(question.over, values)) for values in itertools.product(*question.over.values())]
    for row, asked in zip((row for row in rows if question.where(**row)), question.variants, strict=True):
        expected = BY_HAND[question.name](**row)
        rights = [i for i, o in enumerate(asked.options) if o.right]
        if question.kind in ("one", "many"):
            assert rights == expected, asked.text
        elif question.kind == "order":
            assert [o.text for o in asked.options] == expected
        else:
            value = asked.options[rights[0]].value
            assert tuple(value) == expected if question.kind == "shape" else abs(value - expected) < 1e-9, asked.text


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES)


def test_there_are_enough_of_each_sort():
    assert len(QUESTIONS) >= 48
    traps, chapters = Counter(q.trap for q in QUESTIONS), Counter(q.chapter for q in QUESTIONS)
    kinds = Counter(q.kind for q in QUESTIONS)
    assert set(traps) == set(TRAPS)
    assert all(traps[trap] >= 6 for trap in range(1, 6)), traps
    assert all(count >= 4 for count in chapters.values()), f"four questions a chapter: {chapters}"
    assert len(chapters) >= 9
    assert all(kinds[kind] >= 5 for kind in ("one", "many", "number", "shape")) and kinds["order"] >= 3, kinds


def right_share(options):
    return sum(o.right for o in options) / len(options)


def longest(options):
    return [o for o in options if len(o.text) == max(len(p.text) for p in options)]


@pytest.mark.parametrize("kind", ["one", "many"])
def test_length_does_not_give_the_right_option_away(kind):
    """Choosing the longest option is hardly better than choosing any, and in "one" no more than half the time right."""
    found = [(right_share(longest(a.options)), right_share(a.options)) for a in ASKED if a.kind == kind]
    by_length, by_chance = (sum(shares) / len(found) for shares in zip(*found))
    assert by_length <= by_chance + 0.1
    if kind == "one":
        assert by_length <= 0.5


def test_no_words_that_give_away():
    for asked in ASKED:
        for o in asked.options:
            assert not re.search(r"\b(always|never|all of the above|none of the above)\b", o.text, flags=re.I), o.text


EXAMS = {seed: exam(seed) for seed in range(1000)}


def test_an_exam_has_twenty_questions_and_three_on_each_trap():
    for drawn in EXAMS.values():
        assert len({d.question.name for d in drawn}) == len(drawn) == 20
        traps = Counter(d.question.trap for d in drawn)
        assert all(traps[trap] >= 3 for trap in range(1, 6))


def test_a_drawn_answer_is_no_distractor():
    for drawn in EXAMS.values():
        for d in drawn:
            options = d.asked.options
            assert sorted(d.places) == list(range(len(options)))
            rights = {o.text for o in options if o.right}
            assert rights and rights.isdisjoint(o.text for o in options if not o.right)


def test_a_seed_is_an_exam():
    def as_data(drawn):
        return tuple((d.question.name, d.variant, d.places) for d in drawn)

    assert as_data(exam(7)) == as_data(EXAMS[7])
    assert len({as_data(drawn) for drawn in EXAMS.values()}) == len(EXAMS)


def test_exams_ask_every_question_and_every_variant_somewhere():
    seen = Counter(d.question.name for drawn in EXAMS.values() for d in drawn)
    assert set(seen) == set(NAMES)
    assert min(seen.values()) > 30
    more = (exam(seed) for seed in range(1000, 4000))  # a question has up to 16 variants
    variants = {(d.question.name, d.variant) for drawn in (*EXAMS.values(), *more) for d in drawn}
    assert variants == {(q.name, i) for q in QUESTIONS for i in range(len(q.variants))}


@pytest.mark.parametrize("seed", [-1, 10**9, 1.0, "7", True, None])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be a whole number"):
        exam(seed)


def test_too_few_questions_are_refused():
    with pytest.raises(ValueError, match="cannot be drawn from 5"):
        questions.draw(QUESTIONS[:5], 1)


RIGHT, WRONG = option("2", True), option("3", False, "A name", "A reason.")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: one("?", RIGHT, WRONG, WRONG), "an option twice"),
        (lambda: one("?", WRONG), "0 right options of 1"),
        (lambda: one("?", RIGHT, option("4", True)), "2 right options of 2"),
        (lambda: many("?", RIGHT, option("4", True)), "2 right options of 2"),
        (lambda: many("?", WRONG), "0 right options of 1"),
        (lambda: option("3", False), "needs a name and a why"),
        (lambda: option("3", False, "A name"), "needs a name and a why"),
        (lambda: Option("3", False, why="A reason."), "needs a name and a why"),
        (lambda: number("?", 2, [(2, "A name", "A reason.")]), "is as good as the right"),
        (lambda: number("?", 0.5, [(0.504, "A name", "A reason.")], digits=2), "is as good as the right"),
        (lambda: questions.shape("?", (2, 3), [((2, 3), "A name", "A reason.")]), "an option twice"),
        (lambda: order("?", ["a", "b"], [("b", "a", "A name", "A reason.")]), "goes against the order"),
        (lambda: order("?", ["a", "a"], []), "an option twice"),
        (lambda: order("?", ["a", "b"], [("a", "c", "A name", "A reason.")]), "not in"),
        (lambda: Asked("one", "?", (RIGHT, RIGHT)), "an option twice"),
    ],
)
def test_an_unsound_question_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("i", range(len(QUESTIONS)), ids=NAMES)
def test_a_mutated_variant_is_refused(i):
    """Turn the right option wrong, or a wrong one right: the question no longer builds."""
    asked = QUESTIONS[i].variants[0]
    none_right = tuple(Option(o.text, False, "A name", "A reason.") for o in asked.options)
    all_right = tuple(Option(o.text, True) for o in asked.options)
    with pytest.raises(ValueError, match="right options"):
        Asked(asked.kind, asked.text, none_right)
    if asked.kind != "order":
        with pytest.raises(ValueError, match="right options"):
            Asked(asked.kind, asked.text, all_right)


def test_a_question_is_data():
    q = QUESTIONS[0]
    assert isinstance(q, Question) and q.variants is q.variants  # computed once
