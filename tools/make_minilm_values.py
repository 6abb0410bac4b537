"""Writes tests/data/minilm_values.json: what torch and transformers compute, for mha.pretrained to agree with.

Needs torch and transformers, and the model: `python tools/make_minilm_values.py`. Two things are stored:
a tiny BERT of random numbers, whole; and, of all-MiniLM-L6-v2, the weights of all heads from the token "it".
"""

import json
from pathlib import Path

import numpy as np
import torch
import transformers
from real_sentences import SHOWN

from mha import pretrained

TARGET = Path(__file__).parents[1] / "tests" / "data" / "minilm_values.json"
TINY = {"vocab_size": 13, "hidden_size": 6, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7}
IDS = [2, 11, 5, 7, 3]


def numbers(tensor, decimals=6):
    return np.round(tensor.detach().numpy().astype(float), decimals).tolist()


def tiny():
    """A tiny model's parameters, and its hidden states and weights for IDS."""
    torch.manual_seed(0)
    config = transformers.BertConfig(**TINY, max_position_embeddings=5, layer_norm_eps=1e-12)
    config._attn_implementation = "eager"
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((torch.randn(parameter.shape) / 2).round(decimals=2))
        found = model(torch.tensor([IDS]), output_attentions=True, output_hidden_states=True)
    return {
        "num_heads": TINY["num_attention_heads"],
        "ids": IDS,
        "parameters": {name: numbers(p) for name, p in model.named_parameters()},
        "hidden": [numbers(h[0]) for h in found.hidden_states],
        "weights": [numbers(a[0]) for a in found.attentions],
    }


def real():
    """Weights of all heads from one token of each sentence, and the end of the sentence's first hidden states."""
    folder = str(pretrained.installed())
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    stored = {}
    for sentence in SHOWN:
        ids = tokenizer(sentence)["input_ids"]
        with torch.no_grad():
            found = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
        rows = torch.stack([a[0, :, 7] for a in found.attentions])  # of the eighth word piece
        hidden = torch.stack([h[0, 7, :5] for h in found.hidden_states])
        tokens = tokenizer.convert_ids_to_tokens(ids)
        stored[sentence] = {"tokens": tokens, "ids": ids, "weights": numbers(rows), "hidden": numbers(hidden)}
    return stored


def main():
    content = {
        "made_by": "tools/make_minilm_values.py",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "tiny": tiny(),
        "model": real(),
    }
    TARGET.write_text(json.dumps(content) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
