"""The layer from other libraries' weights, and back: dicts of arrays in and out, no library is imported.

>>> layer = from_torch(theirs.state_dict(), num_heads=4)
>>> theirs.load_state_dict({name: torch.from_numpy(a) for name, a in to_torch(layer).items()})

Each `from_` function takes the dict that the library gives, also that of a whole model if one attention in it
fits; what stands before the names does not matter. Arrays are copied and keep their dtype; what numpy cannot
hold, bfloat16, becomes float32. Biases are there all or not at all.

No dict holds masks, dropout or settings: a causal model needs `mask=causal_mask(n)` here too.

Each raises TypeError for what is no dict of float arrays, and ValueError for keys, shapes or counts that do not
fit and for NaN or infinity; the message says what was found and what was expected.
"""

import re
from collections.abc import Mapping

import numpy as np

from . import checks
from .attention import default_scale
from .multihead import MultiHeadAttention

# Shapes by name, a row a format; the first name is the one by which a module is found.
TORCH = {
    "in_proj_weight": "3*d_model d_model",
    "out_proj.weight": "d_model d_model",
    "in_proj_bias": "3*d_model",
    "out_proj.bias": "d_model",
}
TORCH_SEPARATE = {"q_proj_weight": "d_model d_model", "k_proj_weight": "d_model kdim", "v_proj_weight": "d_model vdim"}
TORCH_SEPARATE |= {name: shape for name, shape in TORCH.items() if name != "in_proj_weight"}
HEADS = {
    "query/kernel": "d_query num_heads d_k",
    "key/kernel": "d_key num_kv_heads d_k",
    "value/kernel": "d_value num_kv_heads d_v",
    "query/bias": "num_heads d_k",
    "key/bias": "num_kv_heads d_k",
    "value/bias": "num_kv_heads d_v",
}
KERAS = HEADS | {"attention_output/kernel": "num_heads d_v d_model", "attention_output/bias": "d_model"}
FLAX = HEADS | {"out/kernel": "num_heads d_v d_model", "out/bias": "d_model"}
BERT_NAMES = {"q": "self.query", "k": "self.key", "v": "self.value", "o": "output.dense"}
BERT = {f"{name}.weight": "d_model d_model" for name in BERT_NAMES.values()}
BERT |= {f"{name}.bias": "d_model" for name in BERT_NAMES.values()}
GPT2 = {
    "c_attn.weight": "d_model 3*d_model",
    "c_proj.weight": "d_model d_model",
    "c_attn.bias": "3*d_model",
    "c_proj.bias": "d_model",
}
EXTRA = "add_bias_kv=True appends a key and a value that are no token's, which MultiHeadAttention does not have"
NORMED = "normalize_qk=True normalises queries and keys, which MultiHeadAttention does not"
GATED = "use_gate=True multiplies the heads by a gate, which MultiHeadAttention does not have"
REASONS = {"bias_k": EXTRA, "bias_v": EXTRA, "query_ln/scale": NORMED, "key_ln/scale": NORMED, "gate/kernel": GATED}


def from_torch(state_dict, num_heads):
    """The layer of a torch.nn.MultiheadAttention (2.13): weights (out, in), q, k and v in one or apart.

    in_proj_weight (3 * d_model, d_model), or q_proj_weight, k_proj_weight (d_model, kdim), v_proj_weight (d_model,
    vdim); out_proj.weight; with biases in_proj_bias (3 * d_model,), out_proj.bias. num_heads is not in the dict.
    add_zero_attn=True leaves no trace in it, and is not taken over.
    """
    p = read("state_dict", state_dict, TORCH, TORCH_SEPARATE)
    packed = "in_proj_weight" in p
    W_q, W_k, W_v = np.split(p["in_proj_weight"], 3) if packed else (p[f"{x}_proj_weight"] for x in "qkv")
    biases = unpacked(p.get("in_proj_bias"), p.get("out_proj.bias"))
    return MultiHeadAttention(W_q.T, W_k.T, W_v.T, p["out_proj.weight"].T, num_heads, **biases)


def to_torch(layer):
    """The state dict for nn.MultiheadAttention(d_model, num_heads, bias=..., kdim=..., vdim=...), as numpy arrays.

    The inverse of from_torch: packed where key and value are d_model wide, else apart. Where only some biases are
    there, the others are zeros. Shared key and value heads are repeated, and a scale of the layer's own is
    multiplied into W_q and b_q: torch computes the same, but trains more numbers than the layer has.

    Raises ValueError if d_k or d_v is not d_model / num_heads, or the query not d_model wide.
    """
    if not isinstance(layer, MultiHeadAttention):
        raise TypeError(f"layer must be an mha.MultiHeadAttention, not {type(layer).__name__}")
    d_model, width = layer.d_model, len(layer.W_q)
    if not layer.num_heads * layer.d_k == layer.num_heads * layer.d_v == width == d_model:
        raise ValueError(
            f"torch needs d_k = d_v = d_model / num_heads and a query d_model wide, but here d_k={layer.d_k}, "
            f"d_v={layer.d_v}, d_model={d_model}, num_heads={layer.num_heads} and the query is {width} wide"
        )
    ratio = layer.scale / default_scale(None, layer.d_k)  # 1.0 unless the layer has a scale of its own
    W_q, W_k, W_v = layer.W_q * ratio, shared(layer.W_k, layer), shared(layer.W_v, layer)
    if W_k.shape == W_v.shape == (d_model, d_model):
        p = {"in_proj_weight": np.concatenate([W_q.T, W_k.T, W_v.T])}
    else:
        p = {"q_proj_weight": W_q.T, "k_proj_weight": W_k.T, "v_proj_weight": W_v.T}
    p["out_proj.weight"] = layer.W_o.T
    biases = [layer.b_q, layer.b_k, layer.b_v, layer.b_o]
    if any(b is not None for b in biases):
        weights = (layer.W_q, layer.W_k, layer.W_v, layer.W_o)
        b_q, b_k, b_v, b_o = (np.zeros(W.shape[1], W.dtype) if b is None else b for b, W in zip(biases, weights))
        p["in_proj_bias"] = np.concatenate([b_q * ratio, shared(b_k, layer), shared(b_v, layer)])
        p["out_proj.bias"] = b_o
    return {name: np.array(a, order="C") for name, a in p.items()}


def from_keras(weights):
    """The layer of a keras.layers.MultiHeadAttention or GroupQueryAttention (3.15).

    weights : {w.path: w.numpy() for w in theirs.weights}. query/kernel (width of query, num_heads, d_k), key/kernel
    and value/kernel with num_kv_heads, attention_output/kernel (num_heads, d_v, d_model); biases without first axis.
    """
    p = read("weights", weights, KERAS, separator="/", ignored=".*seed_generator_state")
    return of_heads(p, "attention_output")


def from_flax(params):
    """The layer of a flax.linen.MultiHeadDotProductAttention or flax.nnx.MultiHeadAttention (0.12).

    params : nested dict, or flat with names such as "query/kernel" or ("query", "kernel"); shapes as in Keras,
    with out/kernel (num_heads, d_v, d_model).
    """
    p = read("params", params, FLAX, separator="/", ignored="rngs/.*|cache.*")
    return of_heads(p, "out")


def from_bert(state_dict, num_heads, layer=0):
    """The attention of one layer of a Hugging Face BERT (transformers 5), layers counted from 0.

    encoder.layer.N.attention: self.query, self.key, self.value and output.dense, each with weight (out, in) and bias.
    The residual connection and the LayerNorm that follow are not in it.
    """
    path = f"encoder.layer.{checks.size('layer', layer, least=0)}.attention."
    p = read("state_dict", state_dict, BERT, path=path, ignored="output.LayerNorm.*")
    fields = {f"W_{x}": p[f"{name}.weight"].T for x, name in BERT_NAMES.items()}
    fields |= {f"b_{x}": p[f"{name}.bias"] for x, name in BERT_NAMES.items() if f"{name}.bias" in p}
    return MultiHeadAttention(num_heads=num_heads, **fields)


def from_gpt2(state_dict, num_heads, layer=0):
    """The attention of one layer of a Hugging Face GPT-2 (transformers 5), layers counted from 0.

    h.N.attn: c_attn.weight (d_model, 3 * d_model) and c_proj.weight, both (in, out), with their biases.
    GPT-2 is causal: call the layer with mask=causal_mask(n).
    """
    path = f"h.{checks.size('layer', layer, least=0)}.attn."
    p = read("state_dict", state_dict, GPT2, path=path, ignored="bias|masked_bias")
    W_q, W_k, W_v = np.split(p["c_attn.weight"], 3, axis=1)
    biases = unpacked(p.get("c_attn.bias"), p.get("c_proj.bias"))
    return MultiHeadAttention(W_q, W_k, W_v, p["c_proj.weight"], num_heads, **biases)


def unpacked(b_in, b_o):
    """The layer's biases from those of q, k and v in one and that of the output; {} where there are none."""
    return {} if b_in is None else dict(zip(("b_q", "b_k", "b_v"), np.split(b_in, 3))) | {"b_o": b_o}


def of_heads(p, out):
    """The layer of kernels (width, heads, d_k), as Keras and Flax hold them."""
    num_heads, num_kv_heads = p["query/kernel"].shape[1], p["key/kernel"].shape[1]
    W_o, b_o = p[f"{out}/kernel"], p.get(f"{out}/bias")
    fields = {"W_o": W_o.reshape(-1, W_o.shape[-1]), "b_o": b_o, "num_heads": num_heads, "num_kv_heads": num_kv_heads}
    for x, name in (("q", "query"), ("k", "key"), ("v", "value")):
        fields[f"W_{x}"] = p[f"{name}/kernel"].reshape(len(p[f"{name}/kernel"]), -1)
        if b_o is not None:
            fields[f"b_{x}"] = p[f"{name}/bias"].reshape(-1)
    return MultiHeadAttention(**fields)


def shared(a, layer):
    """W_k, W_v or a bias of theirs, with each head's columns once for every query head that shares them."""
    heads = a.reshape(*a.shape[:-1], layer.num_kv_heads, -1)
    return heads.repeat(layer.num_heads // layer.num_kv_heads, axis=-2).reshape(*a.shape[:-1], -1)


# How a dict is read


def read(argument, given, *formats, path="", separator=".", ignored=""):
    """{name: array} of the one module in `given` that has the names and shapes of one of the formats."""
    found = flat(argument, given, separator)
    prefix, shapes = locate(found, formats, path, separator)
    inside = {key.removeprefix(prefix): value for key, value in found.items() if key.startswith(prefix)}
    inside = {name: value for name, value in inside.items() if not re.fullmatch(ignored, name)}
    check_names(inside, shapes)
    arrays = {name: floats(name, inside[name]) for name in shapes if name in inside}
    check_shapes(arrays, shapes)
    return arrays


def flat(argument, given, separator):
    """{joined name: value} of a dict, a nested dict, or a dict with tuples as keys."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument} must be a dict of arrays by name, not {type(given).__name__}")
    found = {}
    for key, value in given.items():
        name = separator.join(map(str, key)) if isinstance(key, tuple) else str(key)
        inner = flat(argument, value, separator) if isinstance(value, Mapping) else None
        found |= {name: value} if inner is None else {name + separator + rest: leaf for rest, leaf in inner.items()}
    return found


def locate(found, formats, path, separator):
    """(what stands before a module's names, its format). ValueError unless there is one such module."""
    firsts = {path + name: shapes for shapes in formats for name in list(shapes)[:1]}
    hits = [(key, name) for key in found for name in firsts if key == name or key.endswith(separator + name)]
    if len(hits) == 1:
        key, name = hits[0]
        return key.removesuffix(name) + path, firsts[name]
    names = " or ".join(firsts)
    if hits:
        several = ", ".join(key for key, _ in hits)
        raise ValueError(f"more than one key is or ends in {names}: give the keys of one module, not of {several}")
    near = {key: value for key, value in found.items() if key.endswith(next(iter(formats[0])))}
    wanted = ", or ".join(expected(shapes) for shapes in formats)
    raise ValueError(f"no key is or ends in {names}; expected {wanted}; found {listing(near or found)}")


def check_names(inside, shapes):
    """ValueError unless all names of a format are there, biases all or none, and no others."""
    biased = any(name in shapes and name.endswith("bias") for name in inside)
    missing = [name for name in shapes if name not in inside and (biased or not name.endswith("bias"))]
    unknown = [name for name in inside if name not in shapes]
    if missing or unknown:
        told = [f"{name} is missing" for name in missing]
        told += [f"{name}: {REASONS.get(name, 'not known here')}" for name in unknown]
        raise ValueError(f"{'; '.join(told)}; expected {expected(shapes)}; found {listing(inside)}")


def floats(name, value):
    """A copy of one array of finite floats; bfloat16 becomes float32."""
    try:
        if hasattr(value, "detach"):  # torch: numpy refuses a tensor that requires gradients
            value = value.detach().cpu()
        if str(getattr(value, "dtype", "")).endswith("bfloat16"):
            value = value.float() if hasattr(value, "float") else np.asarray(value).astype(np.float32)
        found = np.array(np.asarray(value))  # the copy keeps the layout
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} cannot be read as an array: {error}") from None
    if found.dtype.kind != "f":
        raise TypeError(f"{name} must hold floats, not dtype {found.dtype}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} {found.shape} holds NaN or infinity")
    return found


def check_shapes(arrays, shapes):
    """ValueError unless each array has its format's shape, where one word is one size throughout."""
    sizes = {}
    for name, a in arrays.items():
        known = ", ".join(f"{word}={size}" for word, size in sizes.items()) or "every size at least 1"
        terms = [(int(times or 1), word) for times, _, word in (t.rpartition("*") for t in shapes[name].split())]
        for (times, word), size in zip(terms, a.shape):
            sizes.setdefault(word, size // times)
        if 0 in a.shape or len(terms) != a.ndim or a.shape != tuple(times * sizes[word] for times, word in terms):
            raise ValueError(
                f"{name} has shape {a.shape}, but needs {expected({name: shapes[name]})} with {known}; "
                f"found {listing(arrays)}"
            )


def expected(shapes):
    """A format as text: each name with the words of its shape."""
    return ", ".join(f"{name} ({', '.join(shape.split())})" for name, shape in shapes.items())


def listing(found, most=12):
    """What a dict holds as text: each key with its shape, or its type where it has none."""
    items = [f"{key} {tuple(a.shape) if hasattr(a, 'shape') else type(a).__name__}" for key, a in found.items()]
    more = [f"and {len(items) - most} more"] if len(items) > most else []
    return ", ".join(items[:most] + more) or "nothing"
