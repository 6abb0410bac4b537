"""Writes tests/data/torch_values.json: small layers of torch.nn.MultiheadAttention, with what they give.

Needs torch, which neither a reader nor the tests need: `python tools/make_torch_values.py`.
Weights are stored as torch holds them; tests/test_torch.py translates.
"""

import json
from pathlib import Path

import torch

TARGET = Path(__file__).parents[1] / "tests" / "data" / "torch_values.json"
Q_LEN, KV_LEN, BATCH, D_MODEL, NUM_HEADS = 5, 7, 2, 6, 3

# name -> (keywords of the layer, leading axes, self-attention?, mask)
CASES = {
    "no bias": ({"bias": False}, (BATCH,), False, None),
    "bias": ({"bias": True}, (BATCH,), False, None),
    "one sequence": ({"bias": True}, (), False, None),
    "self-attention": ({"bias": True}, (BATCH,), True, None),
    "causal": ({"bias": True}, (BATCH,), True, "causal"),
    "boolean mask": ({"bias": True}, (BATCH,), False, "bool"),
    "float mask": ({"bias": False}, (BATCH,), False, "float"),
    "own widths": ({"bias": False, "kdim": 11, "vdim": 13}, (BATCH,), False, None),
    "own widths, bias, boolean mask": ({"bias": True, "kdim": 11, "vdim": 13}, (BATCH,), False, "bool"),
}


def numbers(tensor):
    """A tensor as nested lists of float64, -inf as the string "-inf"."""
    if tensor.ndim:
        return [numbers(row) for row in tensor]
    value = tensor.item()
    return value if tensor.dtype == torch.bool or abs(value) != float("inf") else str(value)


def draw(*shape):
    """Normal numbers of three decimals: short in the file, and exact there."""
    return torch.randn(*shape, dtype=torch.float64).round(decimals=3)


def draw_mask(kind, q_len, kv_len):
    """An attn_mask as torch's layer takes it: True = may NOT attend. No query is left without a key."""
    if kind == "causal":
        return torch.ones(q_len, kv_len, dtype=torch.bool).triu(1)
    forbidden = torch.rand(q_len, kv_len) < 0.4
    forbidden[:, 2] = False
    if kind == "bool":
        return forbidden
    return draw(q_len, kv_len).masked_fill(forbidden, -torch.inf)


def make(keywords, lead, self_attention, mask):
    """One case: the layer's parameters, its inputs, mask, output and weights."""
    layer = torch.nn.MultiheadAttention(D_MODEL, NUM_HEADS, batch_first=True, dtype=torch.float64, **keywords)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(draw(*parameter.shape) / 2)  # biases too, which torch starts at 0
    widths = (D_MODEL, keywords.get("kdim", D_MODEL), keywords.get("vdim", D_MODEL))
    lengths = (Q_LEN, KV_LEN, KV_LEN)
    inputs = [draw(*lead, n, width) for n, width in zip(lengths, widths)]
    inputs = [inputs[0]] * 3 if self_attention else inputs
    attn_mask = None if mask is None else draw_mask(mask, Q_LEN, inputs[1].shape[-2])
    with torch.no_grad():
        output, weights = layer(*inputs, attn_mask=attn_mask, average_attn_weights=False)
    return {
        "parameters": {name: numbers(p.detach()) for name, p in layer.named_parameters()},
        **{name: numbers(x) for name, x in zip(("query", "key", "value"), inputs)},
        "attn_mask": None if attn_mask is None else numbers(attn_mask),
        "output": numbers(output.round(decimals=9)),
        "weights": numbers(weights.round(decimals=9)),
    }


def main():
    torch.manual_seed(0)
    cases = {name: make(*case) for name, case in CASES.items()}
    content = {
        "torch": torch.__version__,
        "made_by": "tools/make_torch_values.py",
        "num_heads": NUM_HEADS,
        "cases": cases,
    }
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(content) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {len(cases)} cases, torch {torch.__version__}")


if __name__ == "__main__":
    main()
