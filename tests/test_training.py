"""Training: gradients against finite differences and torch, Adam by hand, the queue, and the stored table."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from plain import assert_allclose, assert_refused

from mha import MultiHeadAttention, causal_mask, softmax, training
from mha.stored import digest
from mha.training import RELATIONS, Adam, Model

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import train_heads

# batch axes, seq_len, d_model, num_heads, d_k, d_v; None is d_model / num_heads
SHAPES = [((), 5, 3, 1, None, None), ((2,), 7, 15, 3, None, None), ((2, 3), 5, 7, 2, 3, 5), ((), 2, 11, 11, None, None)]
by_shape = pytest.mark.parametrize("lead, n, d_model, h, d_k, d_v", SHAPES)
MATRICES = ("W_q", "W_k", "W_v", "W_o")
BIASES = ("b_q", "b_k", "b_v", "b_o")
NEAR = {"rtol": 1e-6, "atol": 1e-9}


def drawn(lead, n, d_model, h, d_k, d_v, *, seed=0):
    """A layer with biases, an input, and the gradient by its output: all at random in float64."""
    rng = np.random.default_rng(seed)
    layer = MultiHeadAttention.init(d_model, h, rng=rng, d_k=d_k, d_v=d_v, bias=True)
    fields = {name: rng.standard_normal(getattr(layer, name).shape) for name in MATRICES + BIASES}
    X = rng.standard_normal((*lead, n, d_model))
    return MultiHeadAttention(**fields, num_heads=h), X, rng.standard_normal(X.shape)


def moved(layer, **fields):
    old = {name: getattr(layer, name) for name in MATRICES + BIASES}
    return MultiHeadAttention(**(old | fields), num_heads=layer.num_heads)


def slopes(loss, array, eps=1e-5):
    """The gradient of loss(array) by central differences, one number at a time."""
    found = np.zeros_like(array)
    for i in np.ndindex(array.shape):
        step = np.zeros_like(array)
        step[i] = eps
        found[i] = (loss(array + step) - loss(array - step)) / (2 * eps)
    return found


def assert_near(found, expected):
    """Equal to 1e-6 of the largest number: finite differences of a sum lose more on its small numbers."""
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-6 * max(np.abs(expected).max(), 1e-3)


@by_shape
@pytest.mark.parametrize("name", ("X", *MATRICES, *BIASES))
def test_gradient_is_the_slope(lead, n, d_model, h, d_k, d_v, name):
    layer, X, d_output = drawn(lead, n, d_model, h, d_k, d_v)
    found = training.gradients(layer, X, d_output)[name]
    if name == "X":
        expected = slopes(lambda x: (layer(x) * d_output).sum(), X)
    else:
        expected = slopes(lambda W: (moved(layer, **{name: W})(X) * d_output).sum(), getattr(layer, name))
    if name == "b_k":  # a number added to all keys adds the same to all scores of a row, and softmax leaves it out
        assert np.abs(found).max() < 1e-12 and np.abs(expected).max() < 1e-8
    else:
        assert_near(found, expected)


@by_shape
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_torchs(lead, n, d_model, h, d_k, d_v, masked):
    torch = pytest.importorskip("torch")
    layer, X, d_output = drawn(lead, n, d_model, h, d_k, d_v, seed=1)
    mask = causal_mask(n) if masked else None
    found = training.gradients(layer, X, d_output, mask=mask)
    t = {name: torch.tensor(getattr(layer, name), requires_grad=True) for name in MATRICES + BIASES}
    t["X"] = torch.tensor(X, requires_grad=True)
    q, k, v = (
        (t["X"] @ t[f"W_{x}"] + t[f"b_{x}"]).unflatten(-1, (h, -1)).transpose(-2, -3) for x in "qkv"
    )  # (..., num_heads, seq_len, width)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if masked:
        scores = scores.masked_fill(~torch.tensor(mask), -torch.inf)
    heads = torch.softmax(scores, dim=-1) @ v
    output = heads.transpose(-2, -3).flatten(-2) @ t["W_o"] + t["b_o"]
    output.backward(torch.tensor(d_output))
    assert set(found) == set(t)
    for name, tensor in t.items():
        assert_allclose(found[name], tensor.grad.numpy(), **NEAR, err_msg=name)


def test_softmax_gradient_is_the_jacobian_applied():
    rng = np.random.default_rng(0)
    scores, d_weights = rng.standard_normal((2, 5))
    w = softmax(scores)
    jacobian = np.diag(w) - np.outer(w, w)
    assert_allclose(training.softmax_gradient(w, d_weights), jacobian @ d_weights, rtol=1e-12)


def test_what_a_mask_hides_gets_no_gradient():
    layer, X, _ = drawn((), 5, 6, 2, None, None)
    d_output = np.zeros_like(X)
    d_output[1] = 1  # the loss reads the second token alone
    found = training.gradients(layer, X, d_output, mask=causal_mask(5))
    assert (found["X"][2:] == 0).all() and (found["X"][:2] != 0).any()


def test_a_trace_at_hand_saves_the_forward_pass_and_changes_nothing():
    layer, X, d_output = drawn((2,), 5, 6, 3, None, None)
    one, other = training.gradients(layer, X, d_output), training.gradients(layer, X, d_output, trace=layer.trace(X))
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_gradients_refuse_what_does_not_fit():
    layer, X, d_output = drawn((), 5, 6, 2, None, None)
    shared = MultiHeadAttention.init(6, 2, rng=0, num_kv_heads=1)
    assert_refused(lambda: training.gradients(shared, X, d_output), ValueError, ["num_kv_heads=1", "num_heads=2"])
    assert_refused(lambda: training.gradients(layer, X, d_output[:4]), ValueError, ["d_output (4, 6)", "(5, 6)"])


# ---- Adam ----


def test_adam_by_hand():
    adam, p = Adam(beta1=0.5, beta2=0.75, eps=0.0), {"a": np.array([1.0, 1.0])}
    p = adam.step(p, {"a": np.array([2.0, -0.001])}, lr=0.1)
    assert_allclose(p["a"], [0.9, 1.1])  # the first step is lr, whatever the gradient's size
    p = adam.step(p, {"a": np.array([0.0, -0.001])}, lr=0.1)
    m, v = 0.5 * 1.0 / (1 - 0.25), 0.75 * 1.0 / (1 - 0.5625)  # of 2.0 and then 0.0
    assert_allclose(p["a"], [0.9 - 0.1 * m / np.sqrt(v), 1.2])


def test_adam_leaves_what_has_no_gradient_and_what_it_was_given():
    p = {"a": np.ones(2), "b": np.ones(3)}
    moved_ = Adam().step(p, {"a": np.ones(2)}, lr=1.0)
    assert moved_["b"] is p["b"] and (p["a"] == 1).all() and (moved_["a"] < 1).all()


def test_adam_is_torchs():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    p = {"a": rng.standard_normal((3, 5))}
    tensor = torch.tensor(p["a"], requires_grad=True)
    theirs, ours = torch.optim.Adam([tensor], lr=0.03, betas=(0.9, 0.99)), Adam()
    for _ in range(20):
        g = rng.standard_normal((3, 5))
        p, tensor.grad = ours.step(p, {"a": g}, lr=0.03), torch.tensor(g)
        theirs.step()
        assert_allclose(p["a"], tensor.detach().numpy(), rtol=1e-12)


def test_adam_refuses_what_does_not_fit():
    assert_refused(lambda: Adam(beta1=1.0), ValueError, ["beta1=1.0", "below 1"])
    assert_refused(lambda: Adam().step({"a": np.ones(2)}, {"b": np.ones(2)}, 1.0), ValueError, ["'b' (2,)"])
    assert_refused(lambda: Adam().step({"a": np.ones(2)}, {"a": np.ones(3)}, 1.0), ValueError, ["'a' (3,)"])


# ---- the queue ----


def test_each_answer_is_the_hat_of_the_person_meant():
    batch, n = 3, 7
    q = training.queues(0, batch, n=n, colours=5)
    assert q.X.shape == (batch, n, 4 * n + 5) and set(np.unique(q.X)) == {0, 1} and (q.X.sum(axis=-1) == 5).all()
    for b in range(batch):
        assert sorted(q.name[b]) == list(range(n))
        for i in range(n):
            friend, boss = (list(q.name[b]).index(note) for note in q.notes[:, b, i])
            meant = [i - 1, friend, i + 1 if i + 1 < n else -1, boss]
            assert list(q.place[:, b, i]) == meant
            for r, place in enumerate(meant):
                assert q.asked[r, b, i] == (place >= 0)
                assert place < 0 or q.colour[r, b, i] == q.hat[b, place]


def test_a_tokens_features_say_who_it_is():
    q = training.queues(1, 2, n=5, colours=3)
    place, name, hat, friend, boss = np.split(q.X, np.cumsum([5, 5, 3, 5]), axis=-1)
    assert (place.argmax(-1) == np.arange(5)).all()
    for part, told in ((name, q.name), (hat, q.hat), (friend, q.notes[0]), (boss, q.notes[1])):
        np.testing.assert_array_equal(part.argmax(-1), told)


def test_relations_by_place_need_no_notes():
    q = training.queues(0, 2, relations=("behind", "ahead"))
    assert q.notes.shape == (0, 2, 12) and q.X.shape[-1] == 32
    assert (q.place[0, :, :-1] == np.arange(1, 12)).all() and (q.place[1, :, 0] == -1).all()


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: training.queues(0, 0), ValueError, ["batch=0"]),
        (lambda: training.queues(0, 1, n=1), ValueError, ["n=1", "at least 2"]),
        (lambda: training.queues(0, 1, relations=("uncle",)), ValueError, ["uncle", "ahead, friend, behind, boss"]),
        (lambda: training.queues(0, 1, relations=("boss", "boss")), ValueError, ["each once"]),
        (lambda: training.queues(-1, 1), ValueError, ["rng=-1"]),
        (lambda: next(training.train(5, 0)), ValueError, ["d_model=24", "num_heads=5"]),
        (lambda: next(training.train(4, 0.5)), TypeError, ["seed", "0.5"]),
        (lambda: next(training.train(4, 0, lr=0)), ValueError, ["lr=0"]),
        (lambda: next(training.train(4, 0, steps=-1)), ValueError, ["steps=-1"]),
        (lambda: training.without_head(Model.init(4, rng=0), 4), ValueError, ["i=4", "no head of 4"]),
    ],
)
def test_bad_arguments_are_named(call, kind, words):
    assert_refused(call, kind, words)


@pytest.mark.parametrize("name", ["E", "U", *MATRICES])
def test_gradient_of_the_models_loss_is_the_slope(name):
    model, q = Model.init(2, rng=0, d_model=6, n=5, colours=3), training.queues(1, 2, n=5, colours=3)
    loss, found = model.loss_and_gradients(q)
    assert set(found) == set(model.parameters) and 0.5 < loss < 3
    expected = slopes(
        lambda W: model.having({**model.parameters, name: W}).loss_and_gradients(q)[0], model.parameters[name]
    )
    assert_near(found[name], expected)


def test_loss_is_minus_log_of_the_right_answers_share():
    q = training.queues(0, 2, n=3, colours=4)
    logits = np.zeros((4, 2, 3, 4))
    assert training.cross_entropy(logits, q)[0] == pytest.approx(np.log(4))
    np.put_along_axis(logits, q.colour[..., None], 50.0, axis=-1)
    loss, d_logits = training.cross_entropy(logits, q)
    assert loss < 1e-12 and np.abs(d_logits).max() < 1e-12


def test_accuracy_counts_only_what_is_asked():
    q = training.queues(0, 3, n=5, colours=4)
    right = np.eye(4)[q.colour]
    right[0, :, 0] = right[2, :, -1] = 0  # nobody is there
    assert (training.accuracy(lambda X: right, q) == 1).all() and (training.accuracy(lambda X: -right, q) == 0).all()
    second = right + 2 * np.eye(4)[(q.colour + 1) % 4]
    assert (training.among_best(lambda X: second, q, 2) == 1).all()
    assert (training.among_best(lambda X: second, q, 1) == 0).all()


def test_mass_is_the_mean_weight_on_the_person_meant():
    model, q = Model.init(3, rng=0), training.queues(1, 2)
    weights = model.trace(q.X).weights
    found = training.mass(model, q)
    for r in range(4):
        at = [(b, i, q.place[r, b, i]) for b in range(2) for i in range(12) if q.place[r, b, i] >= 0]
        for head in range(3):
            assert found[head, r] == pytest.approx(np.mean([weights[b, head, i, j] for b, i, j in at]))


def test_a_silent_head_adds_nothing():
    model, q = Model.init(3, rng=0), training.queues(1, 2)
    whole, part = model.trace(q.X), training.without_head(model, 1).trace(q.X)
    d_v = model.layer.d_v
    assert_allclose(whole.output - part.output, whole.heads[:, 1] @ model.layer.W_o[d_v : 2 * d_v], atol=1e-12)
    assert training.ablation(model, q).shape == (3, 4)


def test_every_number_of_heads_trains_as_many_numbers():
    sizes = {h: sum(a.size for a in Model.init(h, rng=0).parameters.values()) for h in train_heads.HEADS}
    assert set(sizes.values()) == {4416}


def test_training_follows_from_its_seed():
    def after(seed):
        *_, model = training.train(2, seed, steps=5)
        return model.parameters

    one, same, other = after(3), after(3), after(4)
    assert all((one[name] == same[name]).all() for name in one)
    assert all((one[name] != other[name]).any() for name in one)


def test_training_yields_the_start_and_each_step():
    models = list(training.train(2, 0, steps=3))
    assert len(models) == 4
    assert all((models[0].parameters[n] == a).all() for n, a in Model.init(2, rng=0).parameters.items())


def test_rate_rises_and_falls():
    rates = [training.rate(step, 500, 0.03) for step in range(1, 501)]
    top = int(np.argmax(rates))
    assert 40 <= top <= 55 and max(rates) <= 0.03 and rates[-1] == pytest.approx(0.003)
    assert (np.diff(rates[:top]) > 0).all() and (np.diff(rates[top:]) < 0).all()


# ---- what chapter 8 reads ----


@pytest.mark.parametrize("extra", [{"layers": 1}, {"hidden": 7}, {"layers": 2}, {"layers": 2, "hidden": 5}])
def test_gradients_of_deeper_models_are_slopes(extra):
    model = train_heads.Deep.init(2, np.random.default_rng(0), RELATIONS, **extra)
    q = training.queues(1, 2)
    _, found = model.loss_and_gradients(q)
    assert set(found) == set(model.parameters)
    for name, array in model.parameters.items():
        i = np.unravel_index(np.abs(found[name]).argmax(), array.shape)

        def loss(x, name=name, i=i):
            changed = model.parameters[name].copy()
            changed[i] += x
            return model.having({**model.parameters, name: changed}).loss_and_gradients(q)[0]

        assert (loss(1e-5) - loss(-1e-5)) / 2e-5 == pytest.approx(found[name][i], rel=1e-5)


def test_a_deep_model_of_one_layer_is_the_model():
    deep = train_heads.Deep.init(3, np.random.default_rng(0), RELATIONS)
    q = training.queues(1, 2)
    np.testing.assert_array_equal(deep(q.X), Model.init(3, rng=0)(q.X))


def test_stored_table_is_whole():
    stored = training.stored()
    assert stored["made_by"] == "tools/train_heads.py" and stored["setting"]["relations"] == list(RELATIONS)
    assert {"system", "threads", "python", "numpy", "date", "jobs", "seconds"} <= set(stored["machine"])
    assert training.STORED.read_text(encoding="utf-8") == train_heads.text_of(stored)
    assert [line["h"] for line in stored["table"]] == list(train_heads.HEADS)
    assert not set(stored["setting"]["tuning_seeds"]) & set(train_heads.SEEDS)
    for line in stored["table"]:
        assert line["seeds"] == list(train_heads.SEEDS) and len(line["seeds"]) >= 10
    for part, lines in train_heads.settings().items():
        assert len(stored[part]) == len(lines)
        for line, (_, spec, seeds, steps) in zip(stored[part], lines):
            assert {k: line[k] for k in spec} == spec and line["seeds"] == list(seeds) and line["steps"] == steps
            assert np.shape(line["accuracy"])[0] == len(seeds)
            means = np.mean(line["accuracy"], axis=1)
            assert line["mean"] == pytest.approx(means.mean(), abs=1e-6)
            assert line["sd"] == pytest.approx(means.std(ddof=1), abs=1e-6)
            # accuracy first, to three decimals, then loss
            best = max(line["tuning"].items(), key=lambda item: (round(item[1][0], 3), -item[1][1]))
            assert str(line["lr"]) == best[0]


@pytest.mark.slow  # trains as long as the stored run did
@pytest.mark.parametrize(("h", "seed"), [(1, 0), (4, 7)])
def test_a_stored_run_comes_out_again(h, seed):
    line = next(line for line in training.stored()["table"] if line["h"] == h)
    found = train_heads.run({"h": h, "seed": seed, "lr": line["lr"], "steps": line["steps"]})
    at = line["seeds"].index(seed)
    for name in ("accuracy", "mass", "top_two"):
        assert_allclose(found[name], line[name][at], atol=0.02, err_msg=name)


def test_measuring_tunes_on_other_seeds_and_keeps_the_best_rate():
    asked = []

    def run_all(specs):
        asked.extend(specs)
        return [train_heads.run({**spec, "steps": 3 if spec["lr"] == 0.01 else 12}) for spec in specs]

    found = train_heads.measure({"table": [({}, {"h": 2}, (0, 1), 12)]}, run_all, rates=(0.01, 0.1))["table"][0]
    tuned = [spec for spec in asked if spec.get("tuning")]
    assert {spec["seed"] for spec in tuned} == {100, 101} and {spec["seed"] for spec in asked} == {0, 1, 100, 101}
    assert found["lr"] in (0.01, 0.1) and set(found["tuning"]) == {"0.01", "0.1"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:-100], "no whole JSON file"),
        (lambda text: text.replace('"h": 3', '"h": 5'), "SHA-256 differs"),
        (lambda text: "[]", r"trained_heads\.json is cut short or altered: it holds a list"),
        (lambda text: "[" * 200_000, r"trained_heads\.json is cut short or altered, no whole JSON file"),
    ],
)
def test_a_stored_table_cut_short_or_altered_is_refused(tmp_path, change, words):
    path = tmp_path / "trained_heads.json"
    path.write_text(change(training.STORED.read_text(encoding="utf-8")))
    with pytest.raises(ValueError, match=words):
        training.stored(path)


def test_a_stored_table_that_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"CONTRIBUTING\.md"):
        training.stored(tmp_path / "nothing.json")


def test_the_digest_is_of_the_content_in_any_order():
    stored = training.stored()
    assert digest(json.loads(json.dumps(dict(reversed(stored.items()))))) == stored["sha256"]
