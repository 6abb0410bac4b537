"""How fast the layer is beside torch: python benchmarks/forward.py (some ten minutes; needs torch; a quiet machine)

Prints two tables, for one thread and for all, and writes book/data/speed.json and book/assets/speed.png.
Each cell is a ratio of medians, over rounds in which every contender runs once. The grid is gone through
three times, since a shared machine has slow minutes:

with weights    mha over torch.nn.MultiheadAttention called as it is by default (it returns weights too)
fused           mha over the same module without weights: torch's scaled_dot_product_attention
products        mha over the bare matrix products that a layer can't avoid, in numpy

float32, a batch of one, biases; h = d_model / 64, and h = 8.
"""

import json
import os
import platform
import subprocess
import sys
import tracemalloc
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from mha import MultiHeadAttention, cost, plots, stored

ROOT = Path(__file__).parents[1]
STORED, FIGURE = ROOT / "book/data/speed.json", ROOT / "book/assets/speed.png"
LENGTHS = (9, 32, 128, 512, 1024, 2048)
SIZES = [(d_model, d_model // 64) for d_model in (64, 256, 512, 1024)] + [(d_model, 8) for d_model in (64, 256, 1024)]
PASSES = 3
SECONDS, MOST = 0.8, 150  # of rounds for one cell in one pass
PEERS = {"with weights": "torch, with weights", "fused": "torch, fused", "products": "bare products"}


def narrow(layer):
    """The layer in float32."""
    fields = vars(layer)
    return MultiHeadAttention(
        **{name: a.astype(np.float32) if isinstance(a, np.ndarray) else a for name, a in fields.items()}
    )


def products(layer, x):
    """The layer's matrix products and nothing else."""
    q, k, v = (x @ W for W in (layer.W_q, layer.W_k, layer.W_v))
    q, k, v = (a.reshape(len(x), layer.num_heads, -1).swapaxes(0, 1) for a in (q, k, v))
    heads = (q @ k.swapaxes(-1, -2)) @ v
    return heads.swapaxes(0, 1).reshape(len(x), -1) @ layer.W_o


def contenders(n, d_model, num_heads):
    """{name: a call without arguments}, all on the same weights and tokens."""
    import torch

    from mha.interop import to_torch

    layer = narrow(MultiHeadAttention.init(d_model, num_heads, rng=0, bias=True))
    x = np.random.default_rng(1).standard_normal((1, n, d_model)).astype(np.float32)
    module = torch.nn.MultiheadAttention(d_model, num_heads, batch_first=True).eval()
    module.load_state_dict({name: torch.tensor(a) for name, a in to_torch(layer).items()})
    tokens = torch.tensor(x)

    def peer(**options):
        with torch.inference_mode():
            return module(tokens, tokens, tokens, **options)[0]

    assert np.abs(peer().numpy() - layer(x)).max() < 1e-4
    return {
        "mha": lambda: layer(x),
        "with weights": peer,
        "fused": lambda: peer(need_weights=False),
        "products": lambda: products(layer, x[0]),
    }


def timed(calls):
    """{name: seconds of each round}: all run once in each round, so that noise hits all alike."""
    for call in calls.values():
        call()
    start, rounds = perf_counter(), {name: [] for name in calls}
    while len(rounds["mha"]) < 5 or (perf_counter() - start < SECONDS and len(rounds["mha"]) < MOST):
        for name, call in calls.items():
            before = perf_counter()
            call()
            rounds[name].append(perf_counter() - before)
    return rounds


def peak(n, d_model, num_heads):
    """Bytes that a call had in use at most, over the bytes of all its weights."""
    layer = narrow(MultiHeadAttention.init(d_model, num_heads, rng=0))
    x = np.zeros((n, d_model), np.float32)
    tracemalloc.start()
    layer(x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / (4 * num_heads * n * n)


def measure():
    """One row for each size: what it is, microseconds of each contender, memory. In this process's threads."""
    sizes = [(n, d_model, num_heads) for d_model, num_heads in SIZES for n in LENGTHS]
    passes = [{size: timed(contenders(*size)) for size in sizes} for _ in range(PASSES)]
    rows = []
    for n, d_model, num_heads in sizes:
        rounds = [each[n, d_model, num_heads] for each in passes]
        row = {"d_model": d_model, "h": num_heads, "n": n}
        row["microseconds"] = {
            name: round(1e6 * median(seconds for each in rounds for seconds in each[name]), 1) for name in rounds[0]
        }
        row["memory"] = round(peak(n, d_model, num_heads), 4)
        row["multiply_adds"] = cost.multiply_adds(n, n, d_model, num_heads)
        rows.append(row)
    return rows


def ratio(row, peer):
    return row["microseconds"]["mha"] / row["microseconds"][peer]


def line(row):
    ratios = "".join(f"{ratio(row, peer):14.2f}" for peer in PEERS)
    speed = row["multiply_adds"] / row["microseconds"]["mha"] / 1e3
    return f"{row['d_model']:7}{row['h']:4}{row['n']:6}{ratios}{speed:22.1f}{row['memory']:8.2f}"


def table(threads, rows):
    """The rows of one run as text, and what they come to."""
    head = "d_model   h     n" + "".join(f"{peer:>14}" for peer in PEERS) + "   10⁹ mult-adds a second  memory"
    with_weights = [ratio(row, "with weights") for row in rows]
    summary = f"with weights: median {median(with_weights):.2f}, most {max(with_weights):.2f}"
    wide = [ratio(row, "products") for row in rows if row["d_model"] >= 512 and 128 <= row["n"] <= 1024]
    summary += f"; products, d_model 512 and more, n 128 to 1,024: most {max(wide):.2f}"
    return "\n".join([f"{threads} thread(s)", head, *map(line, rows), summary])


def draw(rows):
    """The figure of one run: ratios, and how time grows beside the formula, with h = d_model / 64."""
    panels = plots.axes(11, 3.6, columns=3)
    values = {
        "mha / torch with weights": lambda row: ratio(row, "with weights"),
        "mha / bare products": lambda row: ratio(row, "products"),
        "picoseconds a multiply-add": lambda row: 1e6 * row["microseconds"]["mha"] / row["multiply_adds"],
    }
    for ax, (name, value) in zip(panels, values.items()):
        for i, (d_model, num_heads) in enumerate(SIZES[:4]):
            shown = [value(row) for row in rows if (row["d_model"], row["h"]) == (d_model, num_heads)]
            ax.plot(LENGTHS, shown, marker="osD^"[i], label=f"d_model = {d_model}, h = {num_heads}")
        ax.set(xlabel="n", ylabel=name, xscale="log")
        ax.set_xticks(LENGTHS, [n if n != 1024 else "" for n in LENGTHS])
        ax.minorticks_off()
        if "mha /" in name:
            ax.axhline(1, color="grey", linewidth=1, linestyle="--")
            ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
    panels[2].set_yscale("log")
    panels[2].set_yticks([20, 50, 100, 200, 500, 1000], [20, 50, 100, 200, 500, 1000])
    panels[2].minorticks_off()
    panels[0].legend(fontsize=8, frameon=False)
    panels[0].figure.savefig(FIGURE, metadata={"Software": None})


def machine():
    """What ran it."""
    import torch

    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "cpu": names[0] if names else platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": f"{np.__version__} ({blas['name']} {blas['version']})",
        "torch": torch.__version__,
    }


def in_a_process(threads):
    """measure() where numpy and torch have that many threads: they read the number when they start."""
    counts = {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}
    # The threads of one library must not keep the cores busy while another's turn is timed.
    counts |= {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "4"}
    printed = subprocess.run(
        [sys.executable, __file__, "--measure"], env=os.environ | counts, stdout=subprocess.PIPE, check=True
    )
    return json.loads(printed.stdout)


def main():
    if sys.argv[1:] == ["--measure"]:
        print(json.dumps(measure()))
        return
    runs = {str(threads): in_a_process(threads) for threads in sorted({1, os.cpu_count()})}
    for threads, rows in runs.items():
        print(table(threads, rows), end="\n\n")
    found = {"made_by": "benchmarks/forward.py", "machine": machine(), "runs": runs}
    found["sha256"] = stored.digest(found)
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(runs["1"])
    print(f"Wrote {STORED.relative_to(ROOT)} and {FIGURE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
