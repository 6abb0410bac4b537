"""Writes book/data/other_layers.json: one small layer of each of five libraries, with what that library computes.

Needs torch, transformers, keras, jax and flax, which neither a reader nor the tests need:
`KERAS_BACKEND=jax JAX_ENABLE_X64=1 python tools/make_other_layers.py`. The weights are drawn, not trained.
They are stored under the names and in the layout of their library; chapter 11 loads them.
"""

import json
from importlib.metadata import version
from pathlib import Path

import jax.numpy as jnp
import keras
import numpy as np
import torch
from flax import nnx
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

from mha.stored import digest

TARGET = Path(__file__).parents[1] / "book" / "data" / "other_layers.json"
TOKENS, D_MODEL, NUM_HEADS, PADDED = 5, 12, 3, 2
RNG = np.random.RandomState(0)
NONE = {"bos_token_id": None, "eos_token_id": None}


def draw(shape):
    """Normal numbers of three decimals: short in the file, and exact there."""
    return RNG.standard_normal(shape).round(3)


def fill(module, keep=""):
    """New numbers for every parameter whose name begins with `keep`; returns these parameters by name."""
    found = {name: p for name, p in module.named_parameters() if name.startswith(keep)}
    with torch.no_grad():
        for parameter in found.values():
            parameter.copy_(torch.from_numpy(draw(parameter.shape) / 2))
    return {name: parameter.detach().numpy() for name, parameter in found.items()}


def of_torch(x):
    """The last two tokens are padding: True = may NOT attend."""
    layer = torch.nn.MultiheadAttention(D_MODEL, NUM_HEADS, batch_first=True, dtype=torch.float64)
    padding = torch.arange(TOKENS) >= TOKENS - PADDED
    weights = fill(layer)
    output, _ = layer(x, x, x, key_padding_mask=padding)
    return weights, output


def of_bert(x):
    """Every token sees every token. The output is taken before the residual sum and the normalisation."""
    config = BertConfig(
        vocab_size=2, hidden_size=D_MODEL, num_hidden_layers=1, num_attention_heads=NUM_HEADS, intermediate_size=2
    )
    model = BertModel(config).double().eval()
    weights = fill(model, "encoder.layer.0.attention.self") | fill(model, "encoder.layer.0.attention.output.dense")
    attention = model.encoder.layer[0].attention
    return weights, attention.output.dense(attention.self(x[None])[0])[0]


def of_gpt2(x):
    """Causal."""
    config = GPT2Config(vocab_size=2, n_positions=TOKENS, n_embd=D_MODEL, n_layer=1, n_head=NUM_HEADS, **NONE)
    model = GPT2Model(config).double().eval()
    return fill(model, "h.0.attn"), model.h[0].attn(x[None])[0][0]


def of_keras(x):
    """Causal."""
    layer = keras.layers.MultiHeadAttention(num_heads=NUM_HEADS, key_dim=D_MODEL // NUM_HEADS, dtype="float64")
    layer.build((1, TOKENS, D_MODEL), (1, TOKENS, D_MODEL))
    weights = {}
    for variable in layer.weights:
        variable.assign(draw(variable.shape) / 2)
        weights["/".join(variable.path.split("/")[-2:])] = keras.ops.convert_to_numpy(variable)
    return weights, layer(x.numpy()[None], x.numpy()[None], use_causal_mask=True)[0]


def of_flax(x):
    """Causal."""
    layer = nnx.MultiHeadAttention(
        num_heads=NUM_HEADS, in_features=D_MODEL, decode=False, dtype=jnp.float64, rngs=nnx.Rngs(0)
    )
    weights = {}
    for name in ("query", "key", "value", "out"):
        for kind in ("kernel", "bias"):
            array = draw(getattr(getattr(layer, name), kind).shape) / 2
            setattr(getattr(layer, name), kind, nnx.Param(jnp.asarray(array)))
            weights[f"{name}/{kind}"] = array
    return weights, layer(x.numpy(), mask=nnx.make_causal_mask(jnp.ones(TOKENS)))


LAYERS = {  # name -> (how to make it, the layer's name in its library, package, mask)
    "torch": (of_torch, "torch.nn.MultiheadAttention", "torch", "padding"),
    "bert": (of_bert, "transformers BertModel", "transformers", "none"),
    "gpt2": (of_gpt2, "transformers GPT2Model", "transformers", "causal"),
    "keras": (of_keras, "keras.layers.MultiHeadAttention", "keras", "causal"),
    "flax": (of_flax, "flax.nnx.MultiHeadAttention", "flax", "causal"),
}


def main():
    x = torch.from_numpy(draw((TOKENS, D_MODEL)))
    layers = {}
    for name, (make, called, package, mask) in LAYERS.items():
        with torch.no_grad():
            weights, output = make(x)
        output = np.asarray(output, dtype=np.float64).round(9)
        about = {"layer": called, "package": package, "version": version(package), "mask": mask}
        weights = {key: array.tolist() for key, array in weights.items()}
        layers[name] = about | {"weights": weights, "output": output.tolist()}
    content = {"made_by": "tools/make_other_layers.py", "num_heads": NUM_HEADS, "padded": PADDED}
    content |= {"x": x.tolist(), "layers": layers}
    content["sha256"] = digest(content)
    TARGET.write_text(json.dumps(content) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes, {', '.join(layers)}")


if __name__ == "__main__":
    main()
