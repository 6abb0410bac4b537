"""The checker: every mistake is named as itself, every right answer passes, and nothing an answer does hurts."""

import _thread
import dataclasses
import re
import signal
import sys
import threading
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from chapters import BOOK

import mha
from mha.traps import MISTAKES, catalogue, check, exercise, exercises, kill_matrix, recognised_pairs, wrong
from mha.traps.compare import TOLERANCE, gap
from mha.traps.diagnosis import diagnose
from mha.traps.matrix import KillMatrix, Row
from mha.traps.mistakes import THEMES
from mha.traps.results import Raised

NAMES = list(exercises())
SEEDS = (0, 1, 2026)


def told(exercise, seed, known):
    """What the checker would name, given a known program's outcomes."""
    return tuple(entry.number for entry in diagnose(exercise, seed, outcomes(exercise, seed, known), known.program))


def outcomes(exercise, seed, known):
    return [known.outcome(i) for i in range(len(exercise.inputs(seed)))]


def right_programs(exercise):
    return [exercise.reference, *exercise.variants, *(exercise.build(**style) for style in exercise.styles)]


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def split(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)


# ---- the two laws ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_form_of_every_mistake_is_named_as_itself(name, seed):
    e = exercise(name)
    for known in e.known(seed, "forms"):
        assert told(e, seed, known) == known.numbers, known.entries[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_right_program_passes(name, seed):
    for program in right_programs(exercise(name)):
        verdict = check(name, program, seed=seed)
        assert verdict.ok and str(verdict).startswith("✓"), (program, verdict)


@pytest.mark.parametrize("name", NAMES)
def test_check_names_each_listed_mistake(name):
    e, seen = exercise(name), set()
    for known in e.known(0, "forms"):
        if known.numbers[0] and known.numbers[0] not in seen:
            seen.add(known.numbers[0])
            verdict = check(name, known.program)
            assert (verdict.kind, verdict.numbers) == ("mistake", known.numbers)
            assert str(verdict).startswith("✗") and MISTAKES[known.numbers[0]].look in str(verdict)
    assert tuple(sorted(seen)) == e.mistakes


@pytest.mark.parametrize("name", NAMES)
def test_no_mistake_is_near_the_tolerance(name):
    """Each wrong program is off by at least ten tolerances on some probe: float32 is never taken for a mistake."""
    e = exercise(name)
    expected = e.expected(0)
    for known in e.known(0, "forms"):
        assert max(map(gap, outcomes(e, 0, known), expected)) > 10 * TOLERANCE, known.entries[0]


# ---- the table ------------------------------------------------------------------------------


def test_mistakes_are_counted_from_1_and_each_is_listed_by_an_exercise():
    assert len(MISTAKES) >= 35 and sorted(MISTAKES) == list(range(1, len(MISTAKES) + 1))
    lost = set(MISTAKES) - {number for name in NAMES for number in exercise(name).mistakes}
    assert not lost, f"no exercise has a wrong program that shows mistake {lost}"
    assert len({m.name for m in MISTAKES.values()}) == len(MISTAKES)
    assert all(m.did and m.shows and m.look and m.chapter for m in MISTAKES.values())


def test_every_mistake_has_one_theme():
    assert sorted(number for numbers in THEMES.values() for number in numbers) == sorted(MISTAKES)


@pytest.mark.parametrize("entry", [*MISTAKES.values(), *map(exercise, NAMES)], ids=lambda e: str(e.name))
def test_chapter_of_a_mistake_or_an_exercise_exists(entry):
    assert (BOOK / f"{entry.chapter}.ipynb").is_file(), entry.chapter


def test_exercises_of_masks_and_models_stand_in_their_chapters():
    for name in ("causal", "masked", "empty_rows", "padding"):
        assert exercise(name).chapter == "10_masks"
    for name in ("decode", "grouped"):
        assert exercise(name).chapter == "11_in_transformers"


def test_catalogue_lists_every_mistake_with_the_exercises_that_name_it():
    table = ET.fromstring(f"<div>{catalogue()._repr_html_()}</div>")
    rows = [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
    rows = {int(number): (name, where) for number, name, where in (r for r in rows if len(r) == 3 and r[0].isdigit())}
    assert rows.keys() == MISTAKES.keys()
    for number, (name, where) in rows.items():
        assert name == MISTAKES[number].name and name in repr(catalogue())
        assert all((n in where.split(", ")) == (number in exercise(n).mistakes) for n in NAMES)


@pytest.mark.parametrize("theme", THEMES)
def test_theme_says_how_the_values_show_each_mistake(theme):
    said = "".join(ET.fromstring(f"<div>{catalogue().theme(theme)}</div>").itertext())
    assert all(MISTAKES[number].shows in said for number in THEMES[theme])


@pytest.mark.parametrize("name", NAMES)
def test_example_is_a_wrong_program_of_the_mistake(name):
    e = exercise(name)
    for number in e.mistakes:
        assert check(name, e.example(number)).number == number
    with pytest.raises(ValueError, match=f"{name} doesn't list mistake 99; it lists {e.mistakes[0]}"):
        e.example(99)


def test_exercises_are_listed_with_a_line_each():
    lines = repr(exercises()).splitlines()
    assert len(lines) == len(NAMES) and all(line.startswith(name) for line, name in zip(lines, NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_stub_is_python_and_not_answered_yet(name):
    e, cell = exercise(name), {}
    exec(e.stub, cell)
    assert check(name, cell[e.call.split("(")[0]]).kind == "unanswered"
    assert e.stub in repr(e) and e.prompt in " ".join(repr(e).split())


def test_unknown_exercise_names_the_nearest():
    with pytest.raises(ValueError, match="no exercise 'splitt'; there is split"):
        check("splitt", split)


def test_a_mistake_and_an_exercise_are_one_entry_each():
    """A variant of an exercise that knows one more wrong program; check takes it like a name."""

    def halved(q, k):
        return q @ k.swapaxes(-1, -2) / 2

    base = exercise("scores")
    more = dataclasses.replace(base, name="scores_2", wrong=(*base.wrong, wrong(5, "You divided by 2.", scale=by_two)))
    assert check("scores", halved).kind == "unknown"
    assert check(more, halved).number == 5 and "You divided by 2." in str(check(more, halved))
    assert check(more, base.reference).ok


def by_two(q, widths):
    return 0.5


def run_example(file, words, capsys, monkeypatch):
    """The names that the file's code block with these words makes; what it prints must be the text block behind it."""
    monkeypatch.delenv("MHA_SEED", raising=False)
    text = (BOOK.parent / file).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n([^`]*)```\n+```text\n([^`]*)```", text)
    ((code, printed),) = [block for block in blocks if words in block[0]]
    names = {}
    exec(compile(code, file, "exec"), names)
    assert capsys.readouterr().out == printed
    return names


def test_the_example_of_contributing_names_its_mistake(capsys, monkeypatch):
    names = run_example("CONTRIBUTING.md", "wrong(", capsys, monkeypatch)
    verdict = check(names["new"], names["answer"])
    assert (verdict.kind, verdict.number) == ("mistake", 5) and "You divided by 2." in str(verdict)
    assert check(names["old"], names["answer"]).kind == "unknown"
    assert check(names["new"], names["new"].reference).ok


def test_the_example_of_the_readme_shows_a_true_verdict(capsys, monkeypatch):
    names = run_example("README.md", "check(", capsys, monkeypatch)
    assert check("scores", names["scores"]).number == 5


# ---- references beside the core ---------------------------------------------------------------


def layer_of(args, W_o):
    x, context, W_q, W_k, W_v, num_heads = args
    return mha.MultiHeadAttention(W_q, W_k, W_v, W_o, num_heads)(x, context)


CORE = {
    "attention": mha.scaled_dot_product_attention,
    "causal": mha.causal_mask,
    "empty_rows": lambda q, k, v, mask: mha.scaled_dot_product_attention(q, k, v, mask)[0],
    "decode": lambda q, k, v: mha.scaled_dot_product_attention(q, k, v, mha.causal_mask(q.shape[2], k.shape[2]))[0],
    "many_heads": lambda *args: layer_of(args, np.eye(args[4].shape[1])),
    "layer": lambda *args: layer_of((*args[:5], args[6]), args[5]),
    "parameters": mha.parameters,
    "multiply_adds": lambda n, d_model, num_heads: mha.multiply_adds(n, n, d_model, num_heads),
}


@pytest.mark.parametrize("name", CORE)
def test_references_agree_with_the_core(name):
    e = exercise(name)
    for args in e.inputs(0).values():
        found, expected = e.reference(*args), CORE[name](*args)
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected))):
            np.testing.assert_allclose(a, b, atol=1e-12)


# ---- probes ---------------------------------------------------------------------------------


def test_a_seed_makes_the_same_probes_and_another_seed_others():
    def draw(seed):
        exercise("attention")._kept.clear()
        return [a for args in exercise("attention").inputs(seed).values() for a in args]

    first, again, other = draw(1), draw(1), draw(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other))


def test_seed_can_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("MHA_SEED", "77")
    check("scores", lambda q, k: None)
    assert 77 in exercise("scores")._kept


@pytest.mark.parametrize("name", ["attention", "decode", "grouped"])
def test_softmax_is_not_saturated(name):
    """No mistake of scale can hide: on the first probe the largest weight is well below 1 on average."""
    q, k = next(iter(exercise(name).inputs(0).values()))[:2]
    k = k.repeat(q.shape[1] // k.shape[1], axis=1)
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    assert 0.3 < weights.max(axis=-1).mean() < 0.8


# ---- kill matrix and pairs --------------------------------------------------------------------


@pytest.mark.slow  # every wrong program on every input
def test_kill_matrix_has_no_survivor_and_no_confusion():
    matrix = kill_matrix(seed=3)
    assert not matrix.survivors and not matrix.confusions
    caught = {
        check: matrix.caught(check)[0]
        for check in ("all probes", "first probe alone", "shapes alone", "all-ones input")
    }
    assert (
        matrix.caught("all probes")[1] == caught["all probes"] > caught["first probe alone"] > caught["all-ones input"]
    )
    assert caught["shapes alone"] < caught["all probes"] / 3
    assert "0 survive, 0 are confused" in repr(matrix)


def test_kill_matrix_table_shows_where_a_mistake_hides():
    assert kill_matrix("output").table("output")[16]["one head"] < 1


def cells(html):
    """The rows of the tables in some HTML, each a list of (tag, scope, text, what is read out)."""
    rows = ET.fromstring(f"<div>{html}</div>").iter("tr")
    return [
        [
            (c.tag, c.get("scope"), "".join(c.itertext()), c[0].get("aria-label") if len(c) else "".join(c.itertext()))
            for c in row
        ]
        for row in rows
    ]


def test_kill_matrix_as_html_has_header_cells_and_marks_that_are_read_out():
    matrix = kill_matrix("causal", "head_width")
    head, *rows = cells(matrix.html("causal"))
    assert [c[:2] for c in head] == [("th", "col")] * len(head)
    assert [c[2] for c in head[2:]] == list(exercise("causal").inputs(0))
    assert all(row[0][:2] == ("th", "row") for row in rows)
    assert [row[0][2].split()[0] for row in rows] == [str(number) for number in exercise("causal").mistakes]
    told = {row[0][2].split()[0]: [c[2:] for c in row[2:]] for row in rows}
    assert told["25"] == [("–", "no form")] + [("✓", "all forms")] * 3  # both corners are one where lengths are equal
    assert told["24"][2] == ("1 of 2", "1 of 2")
    page = matrix._repr_html_()
    assert page.count("<details") == 2 and "✗" not in page and page.count("<style>") == 1
    assert "head_width: 2 mistakes in 5 forms, 8 probes" in page


def test_survivor_and_confusion_show_and_text_is_escaped():
    seen = Row("<b>split</b>", 1, {"<i>x</i> & y": True}, False, True, (1,))
    survivor = dataclasses.replace(seen, number=35, kills={"<i>x</i> & y": False}, named=(35,))
    taken = dataclasses.replace(seen, number=2, named=(3,))
    matrix = KillMatrix((seen, survivor, taken))
    assert (matrix.survivors, matrix.confusions) == ([survivor], [taken])
    assert (matrix.caught("all probes"), matrix.programs_caught("all probes")) == ((2, 3), 2)
    html = matrix._repr_html_()
    assert "<b>" not in html and "<i>" not in html and "&lt;i&gt;x&lt;/i&gt; &amp; y" in html
    assert "✗ &lt;b&gt;split&lt;/b&gt;: a form of mistake 35 survives" in html
    assert "✗ &lt;b&gt;split&lt;/b&gt;: a form of mistake 2 is not named as itself" in html
    assert ("td", None, "–", "no form") in cells(html)[3]
    assert "3 wrong programs, 1 survive, 1 are confused" in repr(matrix)


def test_pairs_are_computed_and_named():
    pairs = recognised_pairs("grouped")
    assert pairs[7, 26] == 1 and (4, 5) not in pairs

    def tiled_and_not_scaled(q, k, v):
        k, v = (np.tile(a, (1, q.shape[1] // k.shape[1], 1, 1)) for a in (k, v))
        return softmax(q @ k.swapaxes(-1, -2)) @ v

    verdict = check("grouped", tiled_and_not_scaled)
    assert (verdict.kind, verdict.numbers) == ("pair", (7, 26))
    assert "mistake 7" in str(verdict) and "mistake 26" in str(verdict)


@pytest.mark.slow  # every pair of mistakes
@pytest.mark.parametrize("name", ["attention", "grouped", "packed", "project", "padding", "parameters"])
def test_a_pair_is_never_named_as_something_else(name):
    """Two mistakes are named as both, as one of them where it hides the other, or not at all.

    Mistake 20 alone leaves nothing but NaN, so two others that do the same are taken for it.
    """
    e = exercise(name)
    for known in e.known(0, "pairs"):
        assert set(told(e, 0, known)) <= {*known.numbers, None} or told(e, 0, known) == (20,), known.entries


# ---- verdicts -------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, ..., NotImplemented, lambda x, num_heads: None, lambda x, num_heads: ...])
def test_not_answered_yet(answer):
    verdict = check("split", answer)
    assert verdict.kind == "unanswered" and not verdict.ok and verdict.mistake is None
    assert str(verdict).startswith("… not answered yet")


def test_a_forgotten_return_is_hinted_at_and_a_stub_is_not():
    def answer(x, num_heads):
        x.reshape(x.shape[0], -1)

    assert "is its return missing?" in str(check("split", answer))
    assert str(check("split", lambda x, num_heads: None)) == "… not answered yet"


def test_not_implemented_is_not_answered_yet():
    def answer(x, num_heads):
        raise NotImplementedError

    assert check("split", answer).kind == "unanswered"


def test_correct():
    verdict = check("split", split)
    assert verdict.ok and str(verdict) == repr(verdict) == "✓ correct"


def test_named_mistake_says_what_how_and_where_and_shows_the_first_difference():
    verdict = check("split", lambda x, num_heads: x.reshape(x.shape[0], num_heads, x.shape[1], -1))
    assert (verdict.kind, verdict.number, verdict.mistake, verdict.name) == (
        "mistake",
        1,
        MISTAKES[1],
        MISTAKES[1].name,
    )
    for part in (MISTAKES[1].did, MISTAKES[1].shows, MISTAKES[1].look, "At index [0, 0, 1, 0] yours is 0, expected 1"):
        assert part in str(verdict)


def test_unknown_mistake_shows_the_first_difference_and_the_broken_law():
    def answer(scores):
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum()

    verdict = check("softmax", answer)
    assert verdict.kind == "unknown" and verdict.mistake is None
    assert "At index [0, 0, 0, 0] yours is" in str(verdict) and "rows don't add up to 1" in str(verdict)


def test_unknown_mistake_says_what_the_result_ignores():
    verdict = check(
        "one_head", lambda x, context, W_q, W_k, W_v: np.tile((context @ W_v).mean(1)[:, None], (1, x.shape[1], 1))
    )
    assert verdict.kind == "unknown" and "doesn't depend on x" in str(verdict)


def test_unknown_mistake_says_that_the_future_moves_the_past():
    def answer(q, k, v):
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        return softmax(scores + np.triu(np.full(scores.shape[-2:], -0.5), 1 + k.shape[2] - q.shape[2])) @ v

    verdict = check("decode", answer)
    assert verdict.kind == "unknown" and "a later token moves an earlier one's output" in str(verdict)


def test_a_mask_without_effect_is_described_and_not_taken_for_a_fill():
    verdict = check("masked", lambda scores, mask: softmax(scores))
    assert verdict.kind == "unknown" and "no effect" in str(verdict)
    assert check("masked", lambda scores, mask: softmax(scores + ~mask * -1e-9)).number == 19


@pytest.mark.parametrize(
    "result, found",
    [
        ({"a": 1}, "a dict"),
        ("text", "a str"),
        ([[1, 2], [3]], "different shapes"),
        ([None, 1], "a list"),
        (1j, "complex"),
    ],
)
def test_wrong_type(result, found):
    verdict = check("split", lambda x, num_heads: result)
    assert verdict.kind == "type" and found in str(verdict)


def test_wrong_type_of_answer_and_of_arguments():
    assert check("split", 5).kind == check("split", lambda x: x).kind == "type"
    assert "split(x, num_heads)" in str(check("split", lambda x: x))


@pytest.mark.parametrize("said", ["", "seven", "-1", "1e3", "9" * 5000])
def test_a_seed_that_is_none_is_named(monkeypatch, said):
    monkeypatch.setenv("MHA_SEED", said)
    with pytest.raises(ValueError, match=rf"^MHA_SEED='{said}' must be a whole number"):
        check("split", lambda x, num_heads: x)


class Fails:
    """All that it is asked for fails: to be shown, its signature, its attributes."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __getattr__(self, name):
        raise RuntimeError(name)


class FailsWhenCalled(Fails):
    def __call__(self, *args):
        raise RuntimeError("no call")


def test_what_cannot_be_shown_has_a_verdict_too():
    assert "not Fails (it cannot be shown)" in str(check("split", Fails()))
    assert check("split", FailsWhenCalled()).kind == "raised"
    fails = Fails()
    assert "yours takes (it cannot be shown)" in str(check("split", lambda x, *, k=fails: x))
    assert len(str(check("split", lambda x, *, k="long" * 1000: x))) < 400


def test_one_array_where_two_are_asked_for():
    verdict = check("attention", lambda q, k, v: q)
    assert verdict.kind == "type" and "1 array" in str(verdict)


def test_wrong_shape_names_the_axis():
    verdict = check("split", lambda x, num_heads: split(x, num_heads).swapaxes(2, 3))
    assert verdict.kind == "shape" and "axis 2 (seq) has 5 entries instead of 4" in str(verdict)
    assert "3 axes instead of 4" in str(check("split", lambda x, num_heads: x))
    assert "one number" in str(check("parameters", lambda d_model, num_heads: np.ones(3)))


def test_raised_shows_message_and_own_line():
    def answer(x, num_heads):
        return np.concatenate([x, x[0]])  # here

    verdict = check("split", answer)
    assert verdict.kind == "raised" and "number of dimensions" in str(verdict)
    assert f"Your line {answer.__code__.co_firstlineno + 1}: return np.concatenate([x, x[0]])  # here" in str(verdict)


def test_changed_input():
    def answer(scores):
        scores -= scores.max(axis=-1, keepdims=True)
        return softmax(scores)

    verdict = check("softmax", answer)
    assert verdict.kind == "changed input" and "scores" in str(verdict)


def test_random():
    assert check("split", lambda x, num_heads: split(x, num_heads) + np.random.rand()).kind == "random"
    kept = []

    def answer(heads):
        kept.extend(heads.swapaxes(0, 1))
        return np.concatenate(kept, axis=-1)

    assert check("merge", answer).kind == "random"


def test_an_answer_that_calls_mha_is_told_so():
    verdict = check("split", lambda x, num_heads: mha.split_heads(x, num_heads))
    assert verdict.kind == "calls mha" and not verdict.ok and "mha.multihead.split_heads" in str(verdict)
    assert check("split", mha.split_heads).kind == "calls mha"
    assert check("split", lambda *args: exercise("split").reference(*args)).kind == "calls mha"
    wrong = check("scores", lambda q, k: q @ k.swapaxes(2, 3) * mha.softmax(np.zeros(1))[0])
    assert wrong.number == 7 and "mha.attention.softmax" in str(wrong)


def test_printing_is_no_call_of_mha():
    def answer(x, num_heads):
        print("shape", x.shape)
        return split(x, num_heads)

    verdict = check("split", answer)
    assert verdict.ok and "shape (2, 4, 15)" in str(verdict)


def test_missing_error():
    assert check("head_width", lambda d_model, num_heads: d_model / num_heads).kind == "unknown"

    def silent(d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("does not divide")
        return d_model // num_heads

    verdict = check("head_width", silent)
    assert verdict.kind == "raised" and "doesn't name 11, 4" in str(verdict)


# ---- fair comparison --------------------------------------------------------------------------


class Tensor:
    """What a tensor of another library looks like from outside."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.array


@pytest.mark.parametrize("wrap", [np.float32, np.float16, np.ndarray.tolist, Tensor, list, np.asfortranarray], ids=str)
def test_softmax_in_any_container_and_precision(wrap):
    def answer(scores):
        return wrap(softmax(scores))

    assert check("softmax", answer).ok


NUMBERS = {
    "int": int,
    "float": float,
    "int64": np.int64,
    "float64": np.float64,
    "array": np.array,
    "tensor": lambda n: Tensor(np.array(n)),
}


@pytest.mark.parametrize("wrap", NUMBERS.values(), ids=NUMBERS)
def test_numbers_in_any_container(wrap):
    assert check("parameters", lambda d_model, num_heads: wrap(4 * d_model**2)).ok
    assert check("parameters", lambda d_model, num_heads: wrap(4 * d_model**2 + 1)).kind == "unknown"


def test_several_arrays_as_tuple_list_or_one_array():
    def answer(x, W_qkv, num_heads):
        B, n, _ = x.shape
        return (x @ W_qkv).reshape(B, n, 3, num_heads, -1).transpose(2, 0, 3, 1, 4)

    for wrap in (tuple, list, np.array, np.ndarray.tolist):
        assert check("packed", lambda *args, wrap=wrap: wrap(answer(*args))).ok


@pytest.mark.slow  # every exercise in torch
def test_tensors_of_torch():
    torch = pytest.importorskip("torch")

    def answer(q, k, v):
        q, k, v = (torch.from_numpy(a).requires_grad_() for a in (q, k, v))
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return (weights @ v).float(), weights.bfloat16()

    assert check("attention", answer).ok


def test_the_sum_over_heads_is_no_mistake():
    def answer(heads, W_o):
        d_v = heads.shape[-1]
        return sum(heads[:, i] @ W_o[i * d_v : (i + 1) * d_v] for i in range(heads.shape[1]))

    assert check("output", answer).ok


@pytest.mark.parametrize("name", ["attention", "layer", "decode", "masked", "merge", "softmax"])
def test_small_deviations_that_are_no_listed_mistake_are_never_named(name):
    e = exercise(name)

    def answer(*args):
        result = e.reference(*args)
        return tuple(r * 1.01 for r in result) if isinstance(result, tuple) else result * 1.01

    assert check(name, answer).kind == "unknown"


def test_an_error_of_another_kind_is_not_taken_for_a_mistake_that_raises():
    def typo(x, context, W_q, W_k, W_v, num_heads):
        if num_heads > 1:
            return x @ W_q.T  # fails as `weight used as (out, in)` does, but on no probe shows its values
        return exercise("many_heads").reference(x, context, W_q, W_k, W_v, num_heads)

    assert check("many_heads", typo).mistake is None


# ---- hostile answers --------------------------------------------------------------------------


def endless(x, num_heads):
    while True:
        pass


def endless_and_deaf(x, num_heads):
    while True:
        try:
            while True:
                pass
        except:  # noqa: E722 what a student may write
            pass


def asleep(x, num_heads):
    time.sleep(60)


def chatty(x, num_heads):
    while True:
        print("all work and no play " * 100)


@pytest.mark.parametrize("answer", [endless, endless_and_deaf, asleep, chatty])
def test_endless_answers_are_stopped_within_seconds(answer, capsys):
    start = time.monotonic()
    assert check("split", answer, seconds=0.5).kind == "slow"
    assert time.monotonic() - start < 10
    assert capsys.readouterr().out == ""
    assert check("split", split).ok  # and the checker still works


def test_endless_recursion_after_a_thread_was_left_behind():
    def recursion(x, num_heads):
        return recursion(x, num_heads)

    check("split", asleep, seconds=0.2)
    verdict = check("split", recursion)
    assert verdict.kind == "raised" and "RecursionError" in str(verdict)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError, Warning])
def test_errors_of_the_answers_own_making(error):
    def answer(x, num_heads):
        raise error("mine")

    verdict = check("split", answer)
    assert verdict.kind == "raised" and error.__name__ in verdict.title


def test_exit_and_input():
    assert check("split", lambda x, num_heads: sys.exit(1)).kind == "raised"
    assert "cannot ask for input" in str(check("split", lambda x, num_heads: input("?")))


def test_an_error_that_cannot_be_read():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def answer(x, num_heads):
        raise Mute

    assert check("split", answer).kind == "raised"


def test_results_that_misbehave():
    class Trap:
        def __array__(self, *args, **kwargs):
            raise KeyError("no")

    assert check("split", lambda x, num_heads: Trap()).kind in ("type", "raised")
    loop = []
    loop.append(loop)
    assert check("split", lambda x, num_heads: loop).kind == "type"


def test_html_is_escaped_and_announced():
    def answer(x, num_heads):
        raise ValueError("<script>alert(1)</script> & more")

    html = check("split", answer)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html
    assert 'role="status"' in html and "currentColor" in html


def test_numpy_random_state_output_and_recursion_limit_are_put_back():
    exp, state, stdout, limit = np.exp, np.random.get_state()[1].copy(), sys.stdout, sys.getrecursionlimit()

    def answer(x, num_heads):
        np.exp, sys.stdout = None, None
        np.random.seed(1)
        sys.setrecursionlimit(500)
        return split(x, num_heads)

    assert check("split", answer).ok
    assert np.exp is exp and sys.stdout is stdout and sys.getrecursionlimit() == limit
    assert np.array_equal(np.random.get_state()[1], state)


def test_warnings_of_an_answer_stay_inside(recwarn):
    check("softmax", lambda scores: np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True))
    assert not recwarn.list


@pytest.fixture
def interruptible():
    """The interrupt at work: a shell that started the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_readers_own_interrupt_is_obeyed(interruptible):
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        check("split", endless, seconds=60)
    assert time.monotonic() - start < 10
    assert check("split", split).ok


def test_works_off_the_main_thread():
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(check("split", endless, seconds=0.3)))
    thread.start()
    thread.join()
    assert verdicts[0].kind == "slow"


def test_works_without_threads(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert check("split", split).ok


def test_no_reference_to_the_answers_arrays_is_kept():
    assert Raised.__dataclass_fields__.keys() == {"error", "message", "line", "source", "empty"}
