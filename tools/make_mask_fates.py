"""Writes book/data/mask_fates.json: what other libraries make of one mask, one inverted mask, one empty row.

`python tools/make_mask_fates.py [torch keras jax flax onnx onnxruntime]` measures the named libraries, all without
a name, and leaves the others' values as they are. Each needs that library, which neither a reader nor the tests need.

Queries are 2·I, keys are Sᵀ and values are I, in each of two heads of width 4. So the scores are S and the output of
a head is its weights, whatever interface computes them.
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "book" / "data" / "mask_fates.json"
SCORES = np.array([[1, 2, 0, 1], [2, 1, 1, 0], [0, 1, 1, 2], [1, 0, 2, 1]], np.float32)  # of the cat sat down
B, H, N = 2, 2, 4
CAUSAL = np.tri(N, dtype=bool)
REAL = np.array([[1, 1, 1, 1], [1, 1, 1, 0]], bool)  # the second sentence is padded at its end
PADDED_LEFT = np.array([[0, 1, 1, 1], [1, 1, 1, 1]], bool)  # the first sentence is padded at its front
ALLOWED = CAUSAL & REAL[:, None, :]  # (B, q_len, kv_len)
EMPTY = CAUSAL & PADDED_LEFT[:, None, :]  # query 0 of the first sentence may see no key

eye = np.eye(N, dtype=np.float32)
Q, K, V = (np.broadcast_to(a, (B, H, N, N)).copy() for a in (2 * eye, SCORES.T, eye))  # (B, num_heads, seq_len, 4)


def joined(x):
    """(B, num_heads, seq_len, 4) -> (B, seq_len, num_heads * 4), what a layer takes and gives."""
    return np.ascontiguousarray(x.swapaxes(1, 2).reshape(B, -1, H * N))


def parted(x):
    """The inverse of `joined`."""
    return np.asarray(x).reshape(B, -1, H, N).swapaxes(1, 2)


def as_bias(mask):
    return np.where(mask, 0, -np.inf).astype(np.float32)


def of_torch():
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    def function(mask, causal=False, q=Q):
        mask = None if mask is None else torch.tensor(mask)
        return scaled_dot_product_attention(
            torch.tensor(q), torch.tensor(K), torch.tensor(V), attn_mask=mask, is_causal=causal
        )

    layer = torch.nn.MultiheadAttention(H * N, H, bias=False, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(H * N).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(H * N))
    inputs = [torch.tensor(joined(x)) for x in (Q, K, V)]

    def of_layer(mask, **options):
        with torch.no_grad():
            return parted(layer(*inputs, attn_mask=torch.tensor(mask), **options)[0])

    def by_heads(mask):
        return mask.repeat(H, axis=0)  # (B * num_heads, q_len, kv_len)

    def two_masks(real):
        with torch.no_grad():
            return parted(layer(*inputs, attn_mask=torch.tensor(~CAUSAL), key_padding_mask=torch.tensor(~real))[0])

    yield "torch", "scaled_dot_product_attention, boolean mask", {
        "given": function(ALLOWED[:, None]),
        "inverted": function(~ALLOWED[:, None]),
        "empty": function(EMPTY[:, None]),
        "short": function(None, causal=True, q=Q[:, :, 2:]),
    }  # fmt: skip
    yield "torch", "scaled_dot_product_attention, float mask", {
        "given": function(as_bias(ALLOWED[:, None])),
        "empty": function(as_bias(EMPTY[:, None])),
    }  # fmt: skip
    yield "torch", "nn.MultiheadAttention, attn_mask", {
        "given": of_layer(by_heads(~ALLOWED)),
        "inverted": of_layer(by_heads(ALLOWED)),
        "empty": of_layer(by_heads(~EMPTY)),
    }  # fmt: skip
    yield "torch", "nn.MultiheadAttention, key_padding_mask too", {
        "given": two_masks(REAL),
        "empty": two_masks(PADDED_LEFT),
    }  # fmt: skip
    yield "torch", "nn.MultiheadAttention, need_weights=False", {
        "given": of_layer(by_heads(~ALLOWED), need_weights=False),
        "inverted": of_layer(by_heads(ALLOWED), need_weights=False),
        "empty": of_layer(by_heads(~EMPTY), need_weights=False),
    }  # fmt: skip


def of_keras():
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    layer = keras.layers.MultiHeadAttention(H, N, use_bias=False)
    inputs = dict(zip(("query", "key", "value"), map(joined, (Q, K, V))))
    layer(**inputs)
    square = np.eye(H * N, dtype=np.float32)
    layer.set_weights([square.reshape(H * N, H, N)] * 3 + [square.reshape(H, N, H * N)])

    def call(mask, inputs=inputs, **options):
        return parted(keras.ops.convert_to_numpy(layer(**inputs, attention_mask=mask, **options)))

    def with_scores(mask):
        return parted(keras.ops.convert_to_numpy(layer(**inputs, attention_mask=mask, return_attention_scores=True)[0]))

    yield "keras", "MultiHeadAttention, attention_mask", {
        "given": call(ALLOWED),
        "inverted": call(~ALLOWED),
        "empty": call(EMPTY),
        "short": call(None, inputs | {"query": inputs["query"][:, 2:]}, use_causal_mask=True),
    }  # fmt: skip
    yield "keras", "MultiHeadAttention, use_causal_mask too", {
        "given": call(REAL[:, None, :], use_causal_mask=True),
        "empty": call(PADDED_LEFT[:, None, :], use_causal_mask=True),
    }  # fmt: skip
    yield "keras", "MultiHeadAttention, return_attention_scores", {
        "given": with_scores(ALLOWED),
        "inverted": with_scores(~ALLOWED),
        "empty": with_scores(EMPTY),
    }  # fmt: skip


def of_jax():
    import jax

    def call(mask, causal=False, q=Q):
        q, k, v = (x.swapaxes(1, 2) for x in (q, K, V))  # (B, seq_len, num_heads, 4)
        return np.asarray(jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=causal)).swapaxes(1, 2)

    yield "jax", "nn.dot_product_attention, mask", {
        "given": call(ALLOWED[:, None]),
        "inverted": call(~ALLOWED[:, None]),
        "empty": call(EMPTY[:, None]),
        "short": call(None, causal=True, q=Q[:, :, 2:]),
    }  # fmt: skip


def of_flax():
    from flax import nnx

    layer = nnx.MultiHeadAttention(H, H * N, use_bias=False, decode=False, rngs=nnx.Rngs(0))
    square = np.eye(H * N, dtype=np.float32)
    for part in (layer.query, layer.key, layer.value):
        part.kernel.set_value(square.reshape(H * N, H, N))
    layer.out.kernel.set_value(square.reshape(H, N, H * N))

    def call(mask):
        return parted(layer(*map(joined, (Q, K, V)), mask=mask))

    yield "flax", "nnx.MultiHeadAttention, mask", {
        "given": call(ALLOWED[:, None]),
        "inverted": call(~ALLOWED[:, None]),
        "empty": call(EMPTY[:, None]),
    }  # fmt: skip


def onnx_model(inputs, domain="", opset=23, **attributes):
    """One Attention node, with inputs {name: array}."""
    from onnx import TensorProto, helper

    kinds = {"float32": TensorProto.FLOAT, "bool": TensorProto.BOOL, "int32": TensorProto.INT32}
    given = [helper.make_tensor_value_info(n, kinds[a.dtype.name], a.shape) for n, a in inputs.items()]
    node = helper.make_node("Attention", list(inputs), ["Y"], domain=domain, **attributes)
    result = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(helper.make_graph([node], "g", given, [result]), opset_imports=opsets, ir_version=10)


def attention_operator(library, run):
    def call(mask, q=Q, **attributes):
        inputs = {"Q": q, "K": K, "V": V} | ({} if mask is None else {"attn_mask": mask})
        return run(onnx_model(inputs, **attributes), inputs)

    yield library, "Attention-23, boolean mask", {
        "given": call(ALLOWED[:, None]),
        "inverted": call(~ALLOWED[:, None]),
        "empty": call(EMPTY[:, None]),
        "short": call(None, q=Q[:, :, 2:].copy(), is_causal=1),
    }  # fmt: skip
    yield library, "Attention-23, float mask", {
        "given": call(as_bias(ALLOWED[:, None])),
        "empty": call(as_bias(EMPTY[:, None])),
    }  # fmt: skip


def of_onnx():
    from onnx.reference import ReferenceEvaluator

    yield from attention_operator("onnx", lambda model, inputs: ReferenceEvaluator(model).run(None, inputs)[0])


def of_onnxruntime():
    from onnxruntime import InferenceSession

    def run(model, inputs):
        return InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]

    yield from attention_operator("onnxruntime", run)

    # The contributed operator projects one input itself: the tokens are I, so its matrices hold Q, K and V.
    weights = np.concatenate([joined(x)[0] for x in (Q, K, V)], axis=1)
    fixed = {"input": np.broadcast_to(eye, (B, N, N)).copy(), "weights": weights, "bias": np.zeros(24, np.float32)}

    def contributed(mask_index, causal=1):
        inputs = fixed | {"mask_index": mask_index.astype(np.int32)}
        model = onnx_model(inputs, "com.microsoft", num_heads=H, unidirectional=causal)
        return parted(run(model, inputs))

    yield "onnxruntime", "com.microsoft.Attention, lengths", {
        "given": contributed(REAL.sum(axis=1)),
    }  # fmt: skip
    yield "onnxruntime", "com.microsoft.Attention, 0 and 1", {
        "given": contributed(REAL),
        "inverted": contributed(~ALLOWED, causal=0),
        "empty": contributed(PADDED_LEFT),
    }  # fmt: skip


MEASURED = {
    "torch": of_torch,
    "keras": of_keras,
    "jax": of_jax,
    "flax": of_flax,
    "onnx": of_onnx,
    "onnxruntime": of_onnxruntime,
}


def numbers(array):
    """Nested lists of 6 decimals, NaN as the string "nan"."""
    array = np.asarray(array, float)
    return [numbers(row) for row in array] if array.ndim else "nan" if np.isnan(array) else round(float(array), 6)


def main(names):
    from mha.stored import digest

    found = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {"calls": []}
    names = names or list(MEASURED)
    kept = [call for call in found["calls"] if call["library"] not in names]
    for name in names:
        for library, call, results in MEASURED[name]():
            line = {"library": library, "version": version(library).split("+")[0], "call": call}
            line |= {result: numbers(weights) for result, weights in results.items()}
            kept.append(line)
    found = {
        "made_by": "tools/make_mask_fates.py",
        "scores": numbers(SCORES),
        "real": REAL.tolist(),
        "padded_left": PADDED_LEFT.tolist(),
        "calls": sorted(kept, key=lambda call: list(MEASURED).index(call["library"])),
    }
    found["sha256"] = digest(found)
    TARGET.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {len(found['calls'])} calls, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
