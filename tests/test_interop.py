"""Weights of other libraries: what goes there and back is the same layer, and what does not fit is told.

Laws first, then torch where it is installed, then values that the other libraries gave (tools/make_peer_values.py).
tests/peers runs those libraries themselves: `make peers`.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import assert_allclose, assert_refused, tagged

from mha import MultiHeadAttention, interop

DATA = Path(__file__).parent / "data"
FILES = [json.loads((DATA / f"{x}_values.json").read_text(encoding="utf-8")) for x in ("keras", "flax", "transformers")]
STORED = {name: case for file in FILES for name, case in file["cases"].items()}
FIELDS = ("W_q", "W_k", "W_v", "W_o", "b_q", "b_k", "b_v", "b_o", "num_heads", "num_kv_heads", "scale")
WIDTHS = st.integers(1, 4)


def make_layer(num_heads, d_k, d_v, widths, d_model, num_kv_heads=None, bias="qkvo", dtype=np.float64):
    """A layer whose numbers all differ; widths are those of query, key and value."""
    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    columns = {"q": num_heads * d_k, "k": kv_heads * d_k, "v": kv_heads * d_v, "o": d_model}
    rows = dict(zip("qkvo", (*widths, num_heads * d_v)))
    fields = {f"W_{x}": tagged(rows[x], columns[x], step=0.3 + 0.1 * i) for i, x in enumerate("qkvo")}
    fields |= {f"b_{x}": tagged(columns[x], step=0.9 + 0.1 * i) for i, x in enumerate(bias)}
    fields = {name: a.astype(dtype) for name, a in fields.items()}
    return MultiHeadAttention(**fields, num_heads=num_heads, num_kv_heads=num_kv_heads)


def assert_same(found, layer):
    """Two layers with the same numbers, to the bit."""
    for name in FIELDS:
        ours, theirs = getattr(found, name), getattr(layer, name)
        assert (ours is None) == (theirs is None), name
        if theirs is not None:
            assert np.array_equal(ours, theirs), name
            assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None), name


# The other libraries' layouts, written here once more: what the readers must turn back.


def as_heads(layer, out):
    """A layer as Keras and Flax hold it: heads on an axis of their own."""
    heads = {"query": ("q", layer.num_heads), "key": ("k", layer.num_kv_heads), "value": ("v", layer.num_kv_heads)}
    held = {
        f"{name}/kernel": getattr(layer, f"W_{x}").reshape(-1, h, getattr(layer, f"W_{x}").shape[1] // h)
        for name, (x, h) in heads.items()
    }
    held[f"{out}/kernel"] = layer.W_o.reshape(layer.num_heads, layer.d_v, layer.d_model)
    if layer.b_o is not None:
        held |= {f"{name}/bias": getattr(layer, f"b_{x}").reshape(h, -1) for name, (x, h) in heads.items()}
        held[f"{out}/bias"] = layer.b_o
    return held


def as_keras(layer):
    return as_heads(layer, "attention_output")


def as_flax(layer):
    return as_heads(layer, "out")


def as_bert(layer, number=0):
    names = {"q": "self.query", "k": "self.key", "v": "self.value", "o": "output.dense"}
    path = f"encoder.layer.{number}.attention"
    held = {f"{path}.{name}.weight": getattr(layer, f"W_{x}").T for x, name in names.items()}
    held |= {f"{path}.{name}.bias": getattr(layer, f"b_{x}") for x, name in names.items()}
    return held | {f"{path}.output.LayerNorm.weight": np.ones(layer.d_model)}


def as_gpt2(layer, number=0):
    path = f"h.{number}.attn"
    return {
        f"{path}.bias": np.ones((1, 1, 4, 4), dtype=bool),  # a buffer: the causal mask
        f"{path}.masked_bias": np.array(-1e4),
        f"{path}.c_attn.weight": np.concatenate([layer.W_q, layer.W_k, layer.W_v], axis=1),
        f"{path}.c_attn.bias": np.concatenate([layer.b_q, layer.b_k, layer.b_v]),
        f"{path}.c_proj.weight": layer.W_o,
        f"{path}.c_proj.bias": layer.b_o,
    }


SQUARE = make_layer(3, 2, 2, (6, 6, 6), 6)
OWN_WIDTHS = make_layer(3, 2, 5, (7, 11, 13), 17)
READERS = {
    "torch": (lambda d: interop.from_torch(d, 3), interop.to_torch(SQUARE), SQUARE, "."),
    "keras": (interop.from_keras, as_keras(OWN_WIDTHS), OWN_WIDTHS, "/"),
    "flax": (interop.from_flax, as_flax(OWN_WIDTHS), OWN_WIDTHS, "/"),
    "bert": (lambda d: interop.from_bert(d, 3), as_bert(SQUARE), SQUARE, "."),
    "gpt2": (lambda d: interop.from_gpt2(d, 3), as_gpt2(SQUARE), SQUARE, "."),
}


# Laws


@settings(deadline=None)
@given(
    num_heads=WIDTHS,
    width=WIDTHS,
    kdim=st.none() | WIDTHS,
    bias=st.booleans(),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
)
def test_to_torch_and_back_is_the_same_layer(num_heads, width, kdim, bias, dtype):
    d_model = num_heads * width
    widths = (d_model, d_model, d_model) if kdim is None else (d_model, kdim, kdim + 1)
    layer = make_layer(num_heads, width, width, widths, d_model, bias="qkvo" if bias else "", dtype=dtype)
    held = interop.to_torch(layer)
    assert ("in_proj_weight" in held) == (widths[1:] == (d_model, d_model))
    assert all(a.flags.c_contiguous and a.flags.owndata and a.flags.writeable for a in held.values())
    assert_same(interop.from_torch(held, num_heads), layer)


@settings(deadline=None)
@given(
    groups=st.integers(1, 3),
    shared=st.integers(1, 3),
    width=WIDTHS,
    bias=st.sets(st.sampled_from("qkvo")),
    scale=st.sampled_from([None, 0.3, -2.0, 0.0]),
)
def test_what_torch_has_no_word_for_is_put_into_its_weights(groups, shared, width, bias, scale):
    """Shared heads, a scale of one's own, some of the biases: another layer, the same output."""
    num_heads, d_model = groups * shared, groups * shared * width
    layer = make_layer(num_heads, width, width, (d_model, 5, 7), d_model, num_kv_heads=groups, bias="".join(bias))
    layer = replace(layer, scale=scale)
    found = interop.from_torch(interop.to_torch(layer), num_heads)
    inputs = tagged(2, 3, d_model), tagged(2, 4, 5), tagged(2, 4, 7)
    ours, theirs = layer.trace(*inputs), found.trace(*inputs)
    assert_allclose(theirs.output, ours.output, rtol=0, atol=1e-12)
    assert_allclose(theirs.weights, ours.weights, rtol=0, atol=1e-12)


@settings(deadline=None)
@given(
    groups=st.integers(1, 3),
    shared=st.integers(1, 3),
    d_k=WIDTHS,
    d_v=WIDTHS,
    d_model=WIDTHS,
    widths=st.tuples(WIDTHS, WIDTHS, WIDTHS),
    bias=st.booleans(),
    dtype=st.sampled_from([np.float16, np.float32]),
)
def test_keras_and_flax_hold_any_layer(groups, shared, d_k, d_v, d_model, widths, bias, dtype):
    layer = make_layer(groups * shared, d_k, d_v, widths, d_model, groups, "qkvo" if bias else "", dtype)
    assert_same(interop.from_keras(as_keras(layer)), layer)
    assert_same(interop.from_flax(as_flax(layer)), layer)


@settings(deadline=None)
@given(num_heads=WIDTHS, width=WIDTHS, number=st.integers(0, 11))
def test_a_layer_of_bert_and_gpt2_is_found_by_its_number(num_heads, width, number):
    d_model = num_heads * width
    layer = make_layer(num_heads, width, width, (d_model,) * 3, d_model)
    other = replace(layer, W_q=layer.W_q + 1, W_o=layer.W_o + 1)
    for write, read in ((as_bert, interop.from_bert), (as_gpt2, interop.from_gpt2)):
        held = write(other, 12) | write(layer, number) | write(other, 1 + number)
        assert_same(read(held, num_heads, layer=number), layer)
        assert_same(read(held, num_heads, layer=1 + number), other)


@pytest.mark.parametrize("name", READERS)
@settings(deadline=None)
@given(seed=st.randoms(use_true_random=False))
def test_the_order_of_the_keys_changes_nothing(name, seed):
    read, held, layer, _ = READERS[name]
    items = list(held.items())
    seed.shuffle(items)
    assert_same(read(dict(items)), layer)


@pytest.mark.parametrize("name", READERS)
def test_what_stands_before_the_names_and_beside_the_module_changes_nothing(name):
    read, held, layer, dot = READERS[name]
    inside = {f"a{dot}model{dot}{key}": a for key, a in held.items()}
    lookalike = {f"not_{key}": a + 1 for key, a in held.items()}  # a name is whole, or follows a dot
    assert_same(read(inside | lookalike | {f"a{dot}mlp{dot}kernel": np.array(["text"]), "step": 3}), layer)


@pytest.mark.parametrize("name", READERS)
def test_the_layer_keeps_its_numbers_when_the_dict_changes(name):
    read, held, layer, _ = READERS[name]
    held = {key: np.array(a) for key, a in held.items()}
    found = read(held)
    for a in held.values():
        a[...] = 0
    assert_same(found, layer)


def test_to_torch_gives_arrays_of_its_own():
    layer = make_layer(2, 2, 2, (4, 4, 4), 4)
    for a in interop.to_torch(layer).values():
        a[...] = 0
    assert_same(layer, make_layer(2, 2, 2, (4, 4, 4), 4))


def test_lists_are_arrays():
    assert_same(interop.from_torch({k: a.tolist() for k, a in interop.to_torch(SQUARE).items()}, 3), SQUARE)


def test_flax_names_may_be_nested_or_tuples():
    flat = as_flax(OWN_WIDTHS)
    tuples = {("params", *key.split("/")): a for key, a in flat.items()}
    nested = {}
    for key, a in flat.items():
        name, kind = key.split("/")
        nested.setdefault(name, {})[kind] = a
    for held in (flat, tuples, nested, {"params": {"MultiHeadAttention_0": nested}}):
        assert_same(interop.from_flax(held), OWN_WIDTHS)


def test_states_that_are_no_weights_are_passed_over():
    seed = {"attention/seed_generator/seed_generator_state": np.array([1, 2], dtype=np.uint32)}
    held = {f"attention/{key}": a for key, a in as_keras(OWN_WIDTHS).items()}
    assert_same(interop.from_keras(held | seed), OWN_WIDTHS)
    states = {"rngs": {"dropout": {"key": object()}}, "cached_key": np.zeros(3), "cache_index": 0}
    assert_same(interop.from_flax(as_flax(OWN_WIDTHS) | states), OWN_WIDTHS)


# Refusals


def changed(name, key, value):
    """A reader on its dict with one entry changed; value None takes the entry out."""
    read, held, _, _ = READERS[name]
    held = held | {key: value}
    return lambda: read({k: a for k, a in held.items() if a is not None})


def torch_refusal(**fields):
    return lambda: interop.to_torch(replace(SQUARE, **fields))


TORCH, TWO = READERS["torch"][1], {"a.in_proj_weight": np.ones((6, 2)), "b.q_proj_weight": np.ones((2, 2))}
B = "encoder.layer.0.attention."
REFUSED = {
    "no dict": (lambda: interop.from_torch([1], 3), TypeError, ["state_dict", "dict", "list"]),
    "no dict, Keras": (lambda: interop.from_keras(np.ones(3)), TypeError, ["weights", "dict", "ndarray"]),
    "no dict, Flax": (lambda: interop.from_flax(None), TypeError, ["params", "dict", "NoneType"]),
    "empty": (lambda: interop.from_torch({}, 3), ValueError, ["in_proj_weight or q_proj_weight", "found nothing"]),
    "another library's": (
        lambda: interop.from_torch(as_keras(OWN_WIDTHS), 3),
        ValueError,
        ["in_proj_weight (3*d_model, d_model)", "k_proj_weight (d_model, kdim)", "query/kernel (7, 3, 2)"],
    ),
    "many keys": (
        lambda: interop.from_gpt2({f"key {i}": 1.0 for i in range(99)}, 3),
        ValueError,
        ["h.0.attn.c_attn.weight", "key 0 float", "and 87 more"],
    ),
    "several modules": (lambda: interop.from_torch(TWO, 1), ValueError, ["a.in_proj_weight, b.q_proj_weight"]),
    "missing": (
        changed("torch", "out_proj.weight", None),
        ValueError,
        ["out_proj.weight is missing", "out_proj.weight (d_model, d_model)", "in_proj_weight (18, 6)"],
    ),
    "one bias missing": (changed("keras", "key/bias", None), ValueError, ["key/bias is missing", "query/bias (3, 2)"]),
    "no bias but one": (
        lambda: interop.from_flax({k: a for k, a in as_flax(OWN_WIDTHS).items() if "bias" not in k or "out" in k}),
        ValueError,
        ["query/bias is missing; key/bias is missing; value/bias is missing"],
    ),
    "misspelt": (changed("torch", "out_proj.offset", np.ones(6)), ValueError, ["out_proj.offset: not known here"]),
    "add_bias_kv": (changed("torch", "bias_k", np.ones((1, 1, 6))), ValueError, ["bias_k: add_bias_kv=True"]),
    "normalised": (changed("flax", "query_ln/scale", np.ones(2)), ValueError, ["normalize_qk=True"]),
    "gated": (changed("keras", "gate/kernel", np.ones((7, 3, 2))), ValueError, ["use_gate=True"]),
    "relative positions": (
        changed("bert", B + "self.distance_embedding.weight", np.ones((5, 2))),
        ValueError,
        ["self.distance_embedding.weight: not known here"],
    ),
    "packed and separate": (
        changed("torch", "q_proj_weight", np.ones((6, 6))),
        ValueError,
        ["more than one key", "in_proj_weight, q_proj_weight"],
    ),
    "transposed": (
        changed("torch", "in_proj_weight", TORCH["in_proj_weight"].T),
        ValueError,
        ["in_proj_weight has shape (6, 18)", "needs in_proj_weight (3*d_model, d_model)"],
    ),
    "not square": (
        changed("torch", "out_proj.weight", np.ones((6, 5))),
        ValueError,
        ["out_proj.weight has shape (6, 5)", "(d_model, d_model) with d_model=6"],
    ),
    "bias shape": (
        changed("torch", "in_proj_bias", np.ones(6)),
        ValueError,
        ["in_proj_bias has shape (6,)", "(3*d_model) with d_model=6"],
    ),
    "axes": (
        changed("keras", "key/kernel", np.ones((11, 6))),
        ValueError,
        ["key/kernel has shape (11, 6)", "(d_key, num_kv_heads, d_k) with d_query=7, num_heads=3, d_k=2"],
    ),
    "d_k": (
        changed("flax", "key/kernel", np.ones((11, 3, 3))),
        ValueError,
        ["key/kernel has shape (11, 3, 3)", "d_k=2"],
    ),
    "no rows": (
        changed("flax", "query/kernel", np.ones((0, 3, 2))),
        ValueError,
        ["query/kernel", "(0, 3, 2)", "at least 1"],
    ),
    "kv heads": (
        lambda: interop.from_keras(
            as_keras(OWN_WIDTHS)
            | {
                "key/kernel": np.ones((11, 2, 2)),
                "value/kernel": np.ones((13, 2, 5)),
                "key/bias": np.ones((2, 2)),
                "value/bias": np.ones((2, 5)),
            }
        ),
        ValueError,
        ["num_kv_heads=2 must divide num_heads=3"],
    ),
    "Linear, not Conv1D": (
        changed("gpt2", "h.0.attn.c_attn.weight", np.ones((18, 6))),
        ValueError,
        ["c_attn.weight has shape (18, 6)", "(d_model, 3*d_model)"],
    ),
    "heads": (lambda: interop.from_torch(TORCH, 4), ValueError, ["=6 does not split into num_heads=4"]),
    "no heads": (lambda: interop.from_bert(as_bert(SQUARE), 0), ValueError, ["num_heads=0"]),
    "half a head": (lambda: interop.from_gpt2(as_gpt2(SQUARE), 1.5), TypeError, ["num_heads", "1.5"]),
    "no such layer": (
        lambda: interop.from_bert(as_bert(SQUARE, 0) | as_bert(SQUARE, 1), 3, layer=2),
        ValueError,
        ["encoder.layer.2.attention.self.query.weight", "found " + B + "self.query.weight (6, 6), encoder.layer.1."],
    ),
    "layer -1": (lambda: interop.from_gpt2(as_gpt2(SQUARE), 3, layer=-1), ValueError, ["layer=-1"]),
    "layer in words": (lambda: interop.from_bert(as_bert(SQUARE), 3, layer="0"), TypeError, ["layer", "'0'"]),
    "integers": (changed("torch", "out_proj.bias", np.arange(6)), TypeError, ["out_proj.bias", "floats", "int64"]),
    "complex": (changed("torch", "out_proj.bias", np.ones(6) * 1j), TypeError, ["out_proj.bias", "complex128"]),
    "text": (changed("flax", "out/kernel", "weights.npz"), TypeError, ["out/kernel", "floats", "<U11"]),
    "ragged": (changed("torch", "out_proj.bias", [[1.0], [1.0, 2.0]]), TypeError, ["out_proj.bias cannot be read"]),
    "NaN": (changed("bert", B + "self.key.bias", np.full(6, np.nan)), ValueError, ["self.key.bias (6,) holds NaN"]),
    "infinity": (changed("gpt2", "h.0.attn.c_proj.bias", np.full(6, -np.inf)), ValueError, ["c_proj.bias (6,)"]),
    "no layer": (lambda: interop.to_torch(TORCH), TypeError, ["layer", "MultiHeadAttention", "dict"]),
    "own d_v": (lambda: interop.to_torch(OWN_WIDTHS), ValueError, ["d_v = d_model / num_heads", "d_k=2", "d_v=5"]),
    "narrow values": (lambda: interop.to_torch(make_layer(3, 2, 1, (6, 6, 6), 6)), ValueError, ["d_k=2, d_v=1"]),
    "narrow heads": (
        lambda: interop.to_torch(make_layer(2, 1, 1, (6, 6, 6), 6)),
        ValueError,
        ["d_k=1, d_v=1, d_model=6, num_heads=2"],
    ),
    "query of another width": (torch_refusal(W_q=np.ones((5, 6))), ValueError, ["the query is 5 wide", "d_model=6"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_was_found_and_what_was_expected(case):
    assert_refused(*REFUSED[case])


# Values that the other libraries gave


@pytest.mark.parametrize("name", STORED)
def test_same_numbers_as_the_stored_layers_of_other_libraries(name):
    case = STORED[name]
    layer = getattr(interop, case["reader"])(case["weights"], **case["arguments"])
    mask = None if case["mask"] is None else np.array(case["mask"])
    trace = layer.trace(*map(np.array, case["given"]), mask=mask)
    assert_allclose(trace.output, np.array(case["output"]), rtol=0, atol=1e-8)
    assert_allclose(trace.weights, np.array(case["attention"]), rtol=0, atol=1e-8)


def test_the_stored_values_cover_every_reader():
    readers = {case["reader"] for case in STORED.values()} | {"from_torch"}  # tests/test_torch.py has torch's
    assert readers == {name for name in vars(interop) if name.startswith("from_")}


# Live torch


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def torch_layer(torch, num_heads=3, **keywords):
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(6, num_heads, batch_first=True, **keywords)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)  # biases too, which torch starts at 0
    return layer


def run_torch(torch, layer, inputs):
    """(output, weights) of a torch layer on numpy arrays."""
    with torch.no_grad():
        found = layer(*(torch.from_numpy(x) for x in inputs), average_attn_weights=False)
    return [a.numpy() for a in found]


def make_inputs(layer, dtype=np.float64):
    """Query, key and value for a layer of mha: batch 2, q_len 5, kv_len 7."""
    shapes = ((2, n, W.shape[0]) for n, W in zip((5, 7, 7), (layer.W_q, layer.W_k, layer.W_v)))
    return [tagged(*shape, step=0.3 + 0.1 * i).astype(dtype) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("dtype, near", [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", [{}, {"kdim": 11}, {"vdim": 13}, {"kdim": 11, "vdim": 13}], ids=str)
def test_from_and_to_a_live_torch_layer(torch, widths, bias, dtype, near):
    theirs = torch_layer(torch, bias=bias, dtype=getattr(torch, dtype), **widths)
    layer = interop.from_torch(theirs.state_dict(), 3)
    inputs = make_inputs(layer, dtype)
    output, weights = run_torch(torch, theirs, inputs)
    trace = layer.trace(*inputs)
    assert trace.output.dtype == dtype and (layer.b_q is not None) == bias
    assert_allclose(trace.output, output, rtol=0, atol=near)
    assert_allclose(trace.weights, weights, rtol=0, atol=near)

    held = interop.to_torch(layer)
    assert set(held) == set(theirs.state_dict())
    for name, a in theirs.state_dict().items():
        assert (held[name] == a.numpy()).all()


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("num_kv_heads", [1, 2, 6])
@pytest.mark.parametrize("widths", [(12, 12, 12), (12, 11, 13)], ids=str)
def test_torch_loads_and_runs_what_to_torch_gives(torch, widths, num_kv_heads, scale):
    layer = replace(make_layer(6, 2, 2, widths, 12, num_kv_heads, bias="qo"), scale=scale)
    theirs = torch.nn.MultiheadAttention(12, 6, kdim=widths[1], vdim=widths[2], batch_first=True, dtype=torch.float64)
    theirs.load_state_dict({name: torch.from_numpy(a) for name, a in interop.to_torch(layer).items()})
    inputs = make_inputs(layer)
    output, weights = run_torch(torch, theirs, inputs)
    trace = layer.trace(*inputs)
    assert_allclose(output, trace.output, rtol=0, atol=1e-12)
    assert_allclose(weights, trace.weights, rtol=0, atol=1e-12)


def test_a_layer_inside_a_torch_module_is_found(torch):
    block = torch.nn.TransformerEncoderLayer(6, 3, dtype=torch.float64)
    assert_same(interop.from_torch(block.state_dict(), 3), interop.from_torch(block.self_attn.state_dict(), 3))
    two = torch.nn.TransformerDecoderLayer(6, 3).state_dict()
    assert_refused(
        lambda: interop.from_torch(two, 3), ValueError, ["self_attn.in_proj_weight, multihead_attn.in_proj_weight"]
    )


def test_torch_tensors_of_every_kind(torch):
    theirs = torch_layer(torch)
    trained = interop.from_torch(dict(theirs.named_parameters()), 3)  # these require gradients
    assert_same(trained, interop.from_torch(theirs.state_dict(), 3))
    assert interop.from_torch(torch_layer(torch, dtype=torch.float16).state_dict(), 3).W_q.dtype == np.float16
    short = torch_layer(torch, dtype=torch.bfloat16).state_dict()
    assert_same(interop.from_torch(short, 3), interop.from_torch({k: a.float() for k, a in short.items()}, 3))
    meta = {name: a.to("meta") for name, a in short.items()}
    assert_refused(lambda: interop.from_torch(meta, 3), TypeError, ["in_proj_weight cannot be read as an array"])
    extra = torch_layer(torch, add_bias_kv=True).state_dict()
    assert_refused(lambda: interop.from_torch(extra, 3), ValueError, ["bias_k: add_bias_kv=True"])
    assert_refused(lambda: interop.from_torch(theirs, 3), TypeError, ["state_dict", "MultiheadAttention"])
