"""The Explorer's data: every number and message is Python's, and the page gets all of it."""

import base64
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mha
from mha import cost, examples
from mha.printing import fixed
from mha.widgets import Explorer, View, explorer, toy_explorer

DOG = examples.SENTENCES[0]


@pytest.fixture(scope="module")
def toy():
    return toy_explorer()


def state_of(data, *places):
    at = 0
    for place, control in zip(places, data["controls"]):
        at = at * len(control["labels"]) + place
    return data["states"][at]


def weights_of(data, state):
    return np.frombuffer(base64.b64decode(state["weights"]), "<u2").reshape(state["shape"]) / data["full"]


def test_states_hold_the_layers_weights(toy):
    state = state_of(toy.data, 0, 1, 3, 1)  # the dog, d_model 32, h 4, causal
    words = examples.tokens(DOG)
    trace = examples.layer(32, 4).trace(examples.embed(words, 32), mask=mha.causal_mask(len(words)))
    weights = weights_of(toy.data, state)
    np.testing.assert_allclose(weights, trace.weights, atol=2e-5)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)
    assert toy.data["pool"][state["queries"]] == words
    assert toy.data["pool"][state["heads"]] == [f"Head {i} of 4" for i in (1, 2, 3, 4)]


def test_two_decimals_are_those_of_the_weight_itself():
    weights = np.random.RandomState(0).dirichlet(np.ones(7), 5000)
    back = explorer.quantised(weights) / explorer.FULL_WEIGHT
    assert [fixed(w) for w in back.ravel()] == [fixed(w) for w in weights.ravel()]


def test_most_looked_at_by_row_and_by_column(toy):
    state = state_of(toy.data, 1, 0, 1, 0)
    weights = weights_of(toy.data, state)
    most = np.frombuffer(base64.b64decode(state["most"]), np.uint8).reshape(2, -1)
    np.testing.assert_array_equal(most[:, : weights.shape[1]], weights.argmax(2))
    np.testing.assert_array_equal(most[:, weights.shape[1] :], weights.argmax(1))


def test_counters_are_the_packages_and_some_stay_put(toy):
    seen = {}
    for place, h in enumerate([1, 2, 4, 8]):
        state = state_of(toy.data, 0, 1, [0, 1, 3, 5][place], 0)
        seen[h] = {what: int(number.replace(",", "")) for what, number, _ in toy.data["pool"][state["counts"]]}
    assert {s["parameters"] for s in seen.values()} == {cost.parameters(32, 1)}
    assert {s["multiply-adds"] for s in seen.values()} == {cost.multiply_adds(10, 10, 32, 1)}
    assert [s["softmax entries"] for s in seen.values()] == [100, 200, 400, 800]
    assert seen[8]["parameters, h full-width heads"] == 8 * seen[1]["parameters"]


def test_impossible_state_has_the_packages_error_and_the_nearest_h(toy):
    state = state_of(toy.data, 0, 1, 2, 0)  # d_model 32, h 3
    with pytest.raises(ValueError) as error:
        examples.layer(32, 3)
    assert state["error"] == str(error.value)
    assert [toy.data["controls"][c]["labels"][v] for c, v in state["near"]] == ["2", "4"]
    over = toy.data["pool"][state["blocks"]][1]
    assert over[2] - sum(over[3]) == 2  # columns that belong to no head


def test_blocks_keep_their_total_width(toy):
    for place in (0, 1, 3, 5):
        for name, rows, columns, bands, across, _ in toy.data["pool"][state_of(toy.data, 0, 1, place, 0)["blocks"]]:
            assert not bands or sum(bands) == (columns if across else rows), name


def test_data_is_plain_small_and_versioned(toy):
    text = json.dumps(toy.data)
    assert len(gzip.compress(text.encode())) < 150_000
    assert toy.data["version"] == explorer.VERSION == 1
    assert "format version 1" in explorer.pack.__doc__


def test_any_trace_can_be_explored_and_any_valueerror_is_a_state():
    def trace(step):
        if step == 2:
            raise ValueError("step=2 was lost")
        return View(weights=np.eye(2)[None], queries=("a", "b"), keys=("a", "b"), heads=("0.2",))

    data = Explorer({"step": [1, 2]}, trace).data
    assert [state.get("error") for state in data["states"]] == [None, "step=2 was lost"]


@pytest.mark.parametrize(
    ("controls", "options", "words"),
    [({}, {}, "is empty"), ({"a": []}, {}, "has no values"), ({"a": [1]}, {"start": {"a": 2}}, "not one of")],
)
def test_bad_controls_are_named(controls, options, words):
    with pytest.raises(ValueError, match=words):
        Explorer(controls, lambda a: View(), **options)


def test_weights_of_the_wrong_shape_are_refused():
    view = View(weights=np.eye(2), queries=("a", "b"), keys=("a", "b"), heads=("one",))
    with pytest.raises(ValueError, match=r"weights \(2, 2\) need axes \(heads, q_len, kv_len\) = \(1, 2, 2\)"):
        Explorer({"a": [1]}, lambda a: view)
    with pytest.raises(TypeError, match="must return a View"):
        Explorer({"a": [1]}, lambda a: None)


@pytest.mark.slow  # a whole toy Explorer more
def test_own_sentence_is_added_with_all_its_states():
    widget = toy_explorer()
    reply = widget._with_sentence("  Cats   chase mice ")
    assert reply == {"message": "", "place": len(examples.SENTENCES)}
    assert widget.data["controls"][0]["labels"][-1] == "Cats chase mice"
    state = state_of(widget.data, reply["place"], 1, 3, 0)
    trace = examples.layer(32, 4).trace(examples.embed(["Cats", "chase", "mice"], 32))
    np.testing.assert_allclose(weights_of(widget.data, state), trace.weights, atol=2e-5)
    assert widget._with_sentence("Cats chase mice")["place"] == reply["place"]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("", "has no word"),
        ("   ", "has no word"),
        ("a \ud800 b", r"has '\ud800', which is no text"),
        ("a \x1b[31m b", r"has '\x1b', which is no text"),
        ("a " * 17, "17 words and marks: at most 16"),
        ("x" * 21, "more than 20 letters"),
        (None, "must be a string"),
        (7, "must be a string"),
    ],
)
def test_odd_sentences_get_a_clear_message(sentence, words):
    widget = toy_explorer()
    before = widget.data
    assert words in widget._with_sentence(sentence)["message"]
    assert widget.data is before


@pytest.mark.slow  # a whole toy Explorer for each
def test_hostile_sentence_is_only_text():
    hostile = "<img src=x onerror=alert(1)>"
    widget = toy_explorer()
    assert widget._with_sentence(hostile)["message"] == ""
    assert "<img" not in widget.still and "<img" not in explorer.still(explorer.toy_view(hostile, 32, 4, False))


@pytest.mark.slow  # a whole toy Explorer twice
def test_still_and_text_are_the_same_each_time(toy):
    bundle, _ = toy._repr_mimebundle_()
    again, _ = toy_explorer()._repr_mimebundle_()
    assert bundle["text/plain"] == "Explorer(sentence, d_model, h, causal; 144 states)"
    assert bundle["text/html"] == again["text/html"] == toy.still
    assert "Head 1 of 4, d_k = 8" in toy.still


def test_scripts_are_linted_and_short():
    deno = shutil.which("deno") or str(Path(sys.executable).with_name("deno"))
    root = Path(__file__).parents[1]
    scripts = [*(root / "mha/widgets").glob("*.js"), *(root / "book/assets").glob("*.js")]
    done = subprocess.run([deno, "lint", *map(str, scripts)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for script in scripts:
        lines = script.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 400 and max(map(len, lines)) <= 130, script.name
