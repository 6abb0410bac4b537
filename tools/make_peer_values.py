"""Writes small layers of Keras, Flax and transformers, with what they give, to tests/data/<library>_values.json.

Needs these libraries, which neither a reader nor `make test` needs: `make peers` puts them into .venv-peers, and
`.venv-peers/bin/python tools/make_peer_values.py` runs this.
`make(name, seed, dtype)` draws a case anew: tests/peers compares many of them, the files keep one of each.
Weights are stored as the library names and shapes them; mha.interop translates.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")  # Keras reads it when it is imported

import jax
import jax.numpy as jnp
import keras
import numpy as np
import torch
import transformers
from flax import __version__ as flax_version
from flax import linen, nnx

jax.config.update("jax_enable_x64", True)
transformers.logging.set_verbosity_error()

DATA = Path(__file__).parents[1] / "tests" / "data"
BATCH, Q_LEN, KV_LEN = 2, 3, 5
WIDE = (7, 11, 13)  # widths of query, key and value
SAME = (6, 6, 6)


def draw(rng, dtype, *shape):
    """Normal numbers of three decimals: short in the file, and exact there in float64."""
    return (rng.normal(size=shape) / 2).round(3).astype(dtype)


def padding(n=KV_LEN):
    """(BATCH, 1, n), True = may attend: the second sequence is two tokens shorter."""
    return np.arange(n) < np.array([n, n - 2])[:, None, None]


def causal(n):
    return np.tril(np.ones((n, n), dtype=bool))


def inputs(rng, dtype, widths, self_attention):
    """Query, key and value, which are one array in self-attention."""
    if self_attention:
        return [draw(rng, dtype, BATCH, Q_LEN, widths[0])] * 3
    return [draw(rng, dtype, BATCH, n, width) for n, width in zip((Q_LEN, KV_LEN, KV_LEN), widths)]


def case(reader, arguments, weights, given, mask, output, attention):
    """One case, in numpy arrays: `given` is one array in self-attention, else query, key and value.

    mask is ours: True = may attend, all axes of the weights.
    """
    given = given[:1] if all(x is given[0] for x in given) else given
    told = {"reader": reader, "arguments": arguments, "weights": weights, "given": given, "mask": mask}
    return told | {"output": np.asarray(output), "attention": np.asarray(attention)}


# Keras


def keras_case(rng, dtype, kind, keywords, widths=SAME, self_attention=True, mask=None):
    """A Keras layer, built by its first call and then given numbers of ours."""
    layer = kind(**keywords, dtype=dtype, name="attention")
    query, key, value = given = inputs(rng, dtype, widths, self_attention)
    layer(query, value, key=key, return_attention_scores=True)  # without scores, jax wants d_v = d_k
    for variable in layer.weights:
        variable.assign(draw(rng, dtype, *variable.shape))
    masks = {"use_causal_mask": mask == "causal", "attention_mask": padding() if mask == "padding" else None}
    output, attention = layer(query, value, key=key, return_attention_scores=True, **masks)
    ours = {None: None, "causal": causal(Q_LEN)[None, None], "padding": padding()[:, None]}[mask]
    weights = {w.path: w.numpy() for w in layer.weights}
    to_numpy = keras.ops.convert_to_numpy
    return case("from_keras", {}, weights, given, ours, to_numpy(output), to_numpy(attention))


# Flax


def flax_masks(mask):
    return {None: None, "causal": causal(Q_LEN)[None, None], "padding": padding()[:, None]}[mask]


def linen_case(rng, dtype, keywords, widths=SAME, self_attention=True, mask=None):
    """A layer of flax.linen: a function of its parameters."""
    layer = linen.MultiHeadDotProductAttention(**keywords, dtype=dtype, param_dtype=dtype)
    given = inputs(rng, dtype, widths, self_attention)
    shapes = jax.eval_shape(layer.init, jax.random.key(0), *given)["params"]
    params = jax.tree.map(lambda a: draw(rng, dtype, *a.shape), shapes)
    ours = flax_masks(mask)
    output, kept = layer.apply({"params": params}, *given, mask=ours, sow_weights=True, mutable=["intermediates"])
    return case("from_flax", {}, params, given, ours, output, kept["intermediates"]["attention_weights"][0])


def nnx_case(rng, dtype, keywords, widths=SAME, self_attention=True, mask=None):
    """A layer of flax.nnx: an object that holds its parameters."""
    layer = nnx.MultiHeadAttention(**keywords, dtype=dtype, param_dtype=dtype, decode=False, rngs=nnx.Rngs(0))
    given = inputs(rng, dtype, widths, self_attention)
    params = nnx.to_pure_dict(nnx.state(layer, nnx.Param))
    params = jax.tree.map(lambda a: draw(rng, dtype, *a.shape), params)
    nnx.update(layer, jax.tree.map(jnp.asarray, params))
    ours = flax_masks(mask)
    output = layer(*given, mask=ours, sow_weights=True)
    (attention,) = nnx.to_pure_dict(nnx.state(layer, nnx.Intermediate))["attention_weights"]
    return case("from_flax", {}, params, given, ours, output, attention)


# Hugging Face


def whole_model(rng, dtype, model):
    """A model of transformers whose every parameter is drawn."""
    model = model.eval().to(getattr(torch, np.dtype(dtype).name))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(draw(rng, dtype, *parameter.shape)))
    return model


def seen(model, into, out_of, mask):
    """(what `into` is given, what `out_of` gives, weights of all layers) while a model reads random tokens."""
    kept = {}
    hooks = [
        into.register_forward_pre_hook(lambda _, args: kept.update(given=args[0].numpy())),
        out_of.register_forward_hook(lambda _, args, output: kept.update(output=output)),
    ]
    padded = None if mask is None else torch.from_numpy(padding(Q_LEN)[:, 0]).long()
    with torch.no_grad():
        ids = torch.arange(BATCH * Q_LEN).reshape(BATCH, Q_LEN)
        found = model(ids, attention_mask=padded, output_attentions=True)
    for hook in hooks:
        hook.remove()
    return kept["given"], kept["output"].numpy(), found.attentions


def hugging_case(reader, model, part, number, given, output, attentions, mask):
    """A case of one layer, with the attention weights of all layers of its model in the dict."""
    weights = {name: a.numpy() for name, a in model.state_dict().items() if part in name}
    arguments = {"num_heads": 3, "layer": number}
    return case(reader, arguments, weights, [given] * 3, mask, output, attentions[number])


def bert_case(rng, dtype, number, mask=None):
    """One layer of BERT, from a model with a head on top: its names begin with "bert."."""
    sizes = {"hidden_size": 6, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7}
    config = transformers.BertConfig(**sizes, vocab_size=13, max_position_embeddings=Q_LEN, attn_implementation="eager")
    model = whole_model(rng, dtype, transformers.BertForMaskedLM(config))
    layer = model.bert.encoder.layer[number].attention
    ours = None if mask is None else padding(Q_LEN)[:, None]
    return hugging_case(
        "from_bert", model, ".attention.", number, *seen(model, layer.self, layer.output.dense, mask), ours
    )


def gpt2_case(rng, dtype, number, mask=None):
    """One layer of GPT-2, always causal, from a model with a head on top: its names begin with "transformer."."""
    config = transformers.GPT2Config(
        n_embd=6, n_layer=2, n_head=3, vocab_size=13, n_positions=Q_LEN, attn_implementation="eager",
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = whole_model(rng, dtype, transformers.GPT2LMHeadModel(config))
    layer = model.transformer.h[number].attn
    ours = causal(Q_LEN)[None, None] & (True if mask is None else padding(Q_LEN)[:, None])
    return hugging_case("from_gpt2", model, ".attn.", number, *seen(model, layer.c_attn, layer.c_proj, mask), ours)


# All cases

MHA, GQA = keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention
SMALL = {"num_heads": 3, "key_dim": 2}
GROUPED = {"head_dim": 2, "num_query_heads": 6, "num_key_value_heads": 2}
OTHER = {"num_heads": 3, "qkv_features": 6, "out_features": 5, "use_bias": False}
IN_6 = {"num_heads": 3, "in_features": 6}
IN_7 = {"num_heads": 3, "in_features": 7, "in_kv_features": 11, "qkv_features": 6}

CASES = {
    "Keras": (keras_case, MHA, SMALL),
    "Keras, causal": (keras_case, MHA, SMALL, SAME, True, "causal"),
    "Keras, padding": (keras_case, MHA, SMALL | {"use_bias": False}, SAME, False, "padding"),
    "Keras, own widths": (keras_case, MHA, SMALL | {"value_dim": 5, "output_shape": 4}, WIDE, False),
    "Keras, dropout": (keras_case, MHA, SMALL | {"dropout": 0.1, "seed": 0}),
    "Keras, grouped": (keras_case, GQA, GROUPED, SAME, False, "padding"),
    "Keras, grouped, own widths": (keras_case, GQA, GROUPED | {"use_bias": False}, WIDE, False),
    "Flax linen": (linen_case, {"num_heads": 3}),
    "Flax linen, causal": (linen_case, {"num_heads": 3}, SAME, True, "causal"),
    "Flax linen, own widths, padding": (linen_case, OTHER, WIDE, False, "padding"),
    "Flax nnx": (nnx_case, IN_6 | {"use_bias": False}),
    "Flax nnx, padding": (nnx_case, IN_6, SAME, False, "padding"),
    "Flax nnx, own widths": (nnx_case, IN_7, (7, 11, 11), False),
    "Flax nnx, grouped, causal": (nnx_case, IN_6 | {"num_heads": 6, "num_kv_heads": 2}, SAME, True, "causal"),
    "BERT, layer 0": (bert_case, 0),
    "BERT, layer 1, padding": (bert_case, 1, "padding"),
    "GPT-2, layer 0": (gpt2_case, 0),
    "GPT-2, layer 1, padding": (gpt2_case, 1, "padding"),
}  # fmt: skip


LIBRARIES = {"Keras": "keras", "Flax": "flax", "BERT": "transformers", "GPT-2": "transformers"}
VERSIONS = {
    "keras": {"keras": keras.__version__, "backend": f"{keras.config.backend()} {jax.__version__}"},
    "flax": {"flax": flax_version, "jax": jax.__version__},
    "transformers": {"transformers": transformers.__version__, "torch": torch.__version__},
}


def make(name, seed=0, dtype=np.float64):
    """A case of CASES with numbers drawn from seed."""
    maker, *arguments = CASES[name]
    return maker(np.random.default_rng(seed), dtype, *arguments)


def as_lists(value, decimals):
    """A case's arrays as nested lists, the library's results with fewer decimals."""
    if isinstance(value, dict):
        return {key: as_lists(v, 9 if key in ("output", "attention") else decimals) for key, v in value.items()}
    if isinstance(value, list):
        return [as_lists(v, decimals) for v in value]
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype == bool else value.round(decimals).tolist()
    return value


def stored(library):
    """The content of a library's file."""
    names = [name for name in CASES if LIBRARIES[name.split(",")[0].split()[0]] == library]
    content = {"made_by": "tools/make_peer_values.py", **VERSIONS[library]}
    return content | {"cases": {name: as_lists(make(name), decimals=12) for name in names}}


def main():
    for library in VERSIONS:
        content, target = stored(library), DATA / f"{library}_values.json"
        target.write_text(json.dumps(content) + "\n", encoding="utf-8")
        print(f"{target.name}: {len(content['cases'])} cases, {target.stat().st_size:,} bytes, {VERSIONS[library]}")


if __name__ == "__main__":
    main()
