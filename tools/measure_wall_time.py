"""Writes book/data/wall_time.json: how long one layer takes for each number of heads, on one thread.

OMP_NUM_THREADS=1 python tools/measure_wall_time.py [n ...]     (128 and 512 without arguments)

Takes some two minutes. Run it on a machine that does nothing else, and look at the spread of the blocks that
it prints: where they differ by more than a tenth, something else was running, and that n is worth another run.
"""

import json
import os
import platform
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from mha import examples, merge_heads, split_heads
from mha.attention import blocks, exponentials
from mha.multihead import project

TARGET = Path(__file__).parents[1] / "book" / "data" / "wall_time.json"
D_MODEL, HEADS = 512, (1, 2, 4, 8, 16)
ROUNDS = {128: 100, 512: 25}  # n -> passes of each h in a block
BLOCKS = 5
STEPS = ("projections", "scores", "softmax", "weighted sums")


def make_layer(num_heads, d_model=D_MODEL):
    """The same matrices for every num_heads, in float32."""
    layer = examples.layer(d_model, num_heads)
    return replace(layer, **{f"W_{x}": getattr(layer, f"W_{x}").astype(np.float32) for x in "qkvo"})


def tokens(n, d_model=D_MODEL):
    """Any n token vectors in float32."""
    return np.random.RandomState(0).standard_normal((n, d_model)).astype(np.float32)


def timed_steps(layer, x):
    """(output, {step: seconds}) of one pass, step by step and block after block, as the layer computes it."""
    spent = dict.fromkeys(STEPS, 0.0)

    def timed(step, f, *arguments):
        start = perf_counter()
        result = f(*arguments)
        spent[step] += perf_counter() - start
        return result

    def into(W):
        return split_heads(project(x, W, None), layer.num_heads)

    q, k, v = (timed("projections", into, W) for W in (layer.W_q, layer.W_k, layer.W_v))
    q = timed("scores", np.multiply, q, np.float32(layer.scale))
    heads = np.empty(q.swapaxes(-2, -3).shape, np.float32).swapaxes(-2, -3)
    for queries in blocks(*q.shape[:-1], len(x)):
        scores = timed("scores", np.matmul, q[queries], k[queries[:1]].swapaxes(-1, -2))
        total = timed("softmax", exponentials, scores)
        sums = timed("weighted sums", np.matmul, scores, v[queries[:1]], heads[queries])
        timed("softmax", np.divide, sums, total, sums)
    output = timed("projections", lambda: project(merge_heads(heads), layer.W_o, None))
    return output, spent


def timed_whole(layer, x):
    """Seconds of one call of the layer."""
    start = perf_counter()
    layer(x)
    return perf_counter() - start


def measure(n, rounds):
    """One block: {h: {"whole" or a step: seconds of every round}}. The h take turns, so that noise hits all alike."""
    x, layers = tokens(n), {h: make_layer(h) for h in HEADS}
    found = {h: {name: [] for name in ("whole", *STEPS)} for h in HEADS}
    for _ in range(rounds):
        for h, layer in layers.items():
            found[h]["whole"].append(timed_whole(layer, x))
            for step, seconds in timed_steps(layer, x)[1].items():
                found[h][step].append(seconds)
    return found


def run(n, rounds):
    """What is stored for one n: medians over all rounds, ratios to h = 1, and the ratios' spread over blocks."""
    blocks = [measure(n, rounds) for _ in range(BLOCKS)]
    stored = {}
    for h in HEADS:
        joined = {name: [s for block in blocks for s in block[h][name]] for name in blocks[0][h]}
        by_block = [median(block[h]["whole"]) / median(block[1]["whole"]) for block in blocks]
        whole = median(joined["whole"])
        reference = median(s for block in blocks for s in block[1]["whole"])
        stored[h] = {
            "microseconds": {name: round(median(seconds) * 1e6, 3) for name, seconds in joined.items()},
            "ratio": round(whole / reference, 6),
            "ratio_of_blocks": [round(min(by_block), 6), round(max(by_block), 6)],
        }
        print(f"n = {n}  h = {h:2d}  {stored[h]}", flush=True)
    return stored


def cpu():
    """The processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main():
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.exit("One thread, please: OMP_NUM_THREADS=1 python tools/measure_wall_time.py")
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    machine = {
        "cpu": cpu(),
        "cpus": os.cpu_count(),
        "threads": 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas['version']}",
        "date": date.today().isoformat(),
    }
    setting = {"d_model": D_MODEL, "dtype": "float32", "passes": {n: BLOCKS * rounds for n, rounds in ROUNDS.items()}}
    again = {int(n) for n in sys.argv[1:]} or set(ROUNDS)
    before = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}
    kept = before["runs"] if before.get("machine") == machine else {}
    runs = {str(n): run(n, ROUNDS[n]) if n in again or str(n) not in kept else kept[str(n)] for n in ROUNDS}
    TARGET.parent.mkdir(exist_ok=True)
    stored = {"made_by": "tools/measure_wall_time.py", "machine": machine, "setting": setting, "runs": runs}
    TARGET.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
