"""The layer on the weights of live Keras, Flax, BERT and GPT-2 layers gives what these libraries give."""

import json

import make_peer_values as peers
import numpy as np
import pytest
from conftest import LARGEST
from plain import assert_allclose, assert_refused

from mha import interop

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:keras"),
    pytest.mark.filterwarnings("ignore:Using 'Module.sow:DeprecationWarning:flax"),
]
NEAR = {"float32": 1e-5, "float64": 1e-12}


def read(case):
    return getattr(interop, case["reader"])(case["weights"], **case["arguments"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("name", peers.CASES)
def test_same_numbers_as_the_live_layer(name, dtype, seed):
    case = peers.make(name, seed, dtype)
    trace = read(case).trace(*case["given"], mask=case["mask"])
    assert trace.output.dtype == case["output"].dtype == dtype
    for found, theirs in ((trace.output, case["output"]), (trace.weights, case["attention"])):
        assert found.shape == theirs.shape
        LARGEST[name, dtype] = max(LARGEST.get((name, dtype), 0), float(abs(found - theirs).max()))
        assert_allclose(found, theirs, rtol=0, atol=NEAR[dtype])


@pytest.mark.parametrize("library", peers.VERSIONS)
def test_the_stored_values_are_what_these_versions_give(library):
    stored = json.loads((peers.DATA / f"{library}_values.json").read_text(encoding="utf-8"))
    fresh = json.loads(json.dumps(peers.stored(library)))
    assert {key: stored[key] for key in peers.VERSIONS[library]} == peers.VERSIONS[library]
    assert list(stored["cases"]) == list(fresh["cases"])
    for name, case in stored["cases"].items():
        again = fresh["cases"][name]
        assert case["arguments"] == again["arguments"] and list(case["weights"]) == list(again["weights"])
        for key in ("output", "attention"):
            assert_allclose(np.array(case[key]), np.array(again[key]), rtol=0, atol=2e-9)


# What each library hands out, besides plain arrays


def test_keras_variables_of_a_model():
    """One attention between other layers, with its dropout's seed among the variables."""
    given = peers.keras.Input((5, 6))
    layer = peers.MHA(num_heads=3, key_dim=2, dropout=0.1)
    x = peers.keras.layers.Dense(6)(given)
    model = peers.keras.Model(given, peers.keras.layers.Dense(4)(layer(x, x)))
    found = interop.from_keras({v.path: v for v in model.variables})
    assert (found.W_o == layer.weights[-2].numpy().reshape(6, 6)).all()
    two = peers.keras.Model(given, peers.MHA(3, 2)(layer(x, x), x))
    assert_refused(lambda: interop.from_keras({v.path: v for v in two.weights}), ValueError, ["more than one key"])


def test_keras_settings_with_weights_of_their_own_are_refused():
    for kind, keywords in ((peers.MHA, peers.SMALL), (peers.GQA, peers.GROUPED)):
        layer = kind(**keywords, use_gate=True)
        layer(np.ones((1, 3, 6)), np.ones((1, 3, 6)))
        weights = {v.path: v.numpy() for v in layer.weights}
        assert_refused(lambda w=weights: interop.from_keras(w), ValueError, ["use_gate=True"])


def test_flax_states_of_every_kind():
    """A state of nnx, flat or not, with its dropout's key and its cache; linen's variables, within a module."""
    nnx, linen = peers.nnx, peers.linen
    layer = nnx.MultiHeadAttention(3, 6, dropout_rate=0.1, decode=False, rngs=nnx.Rngs(0))
    layer.init_cache((1, 4, 6))
    state = nnx.state(layer)
    for held in (state, nnx.to_pure_dict(state), dict(nnx.to_flat_state(state))):
        assert (interop.from_flax(held).W_q == np.asarray(layer.query.kernel[...]).reshape(6, 6)).all()

    class Block(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(4)(linen.MultiHeadDotProductAttention(num_heads=3)(x))

    variables = Block().init(peers.jax.random.key(0), np.ones((1, 4, 6)))
    kernel = variables["params"]["MultiHeadDotProductAttention_0"]["query"]["kernel"]
    assert (interop.from_flax(variables).W_q == np.asarray(kernel).reshape(6, 6)).all()


def test_flax_settings_with_weights_of_their_own_are_refused():
    layer = peers.nnx.MultiHeadAttention(3, 6, normalize_qk=True, decode=False, rngs=peers.nnx.Rngs(0))
    assert_refused(lambda: interop.from_flax(peers.nnx.state(layer)), ValueError, ["normalize_qk=True"])


def test_bfloat16_becomes_float32():
    layer = peers.nnx.MultiHeadAttention(3, 6, decode=False, param_dtype=peers.jnp.bfloat16, rngs=peers.nnx.Rngs(0))
    assert interop.from_flax(peers.nnx.state(layer)).W_q.dtype == np.float32
    layer = peers.MHA(num_heads=3, key_dim=2, dtype="bfloat16")
    layer(np.ones((1, 3, 6)), np.ones((1, 3, 6)))
    assert interop.from_keras({v.path: v for v in layer.weights}).W_q.dtype == np.float32
