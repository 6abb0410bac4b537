"""Writes book/data/trained_heads.json, the measured table of chapter 8: `make data` calls it.

OMP_NUM_THREADS=1 python tools/train_heads.py [jobs]     (1 process without arguments)

Some nine minutes on one core, five on two. All runs are float64 and follow from their seeds. The learning rate of each
setting is chosen on seeds and queues of its own, by accuracy and then by loss, and then kept.
"""

import json
import os
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from time import perf_counter, process_time

import numpy as np

from mha import MultiHeadAttention, training
from mha.stored import digest
from mha.training import RELATIONS, rows, times

HEADS = (1, 2, 3, 4, 6, 8, 12, 24)
SEEDS, TUNING_SEEDS = tuple(range(10)), (100, 101)
RATES = (0.01, 0.03, 0.1)
STEPS, LONG, D_MODEL = 500, 4000, 24
FEW = SEEDS[:3]  # for what stands beside the table
TWO = RELATIONS[:2]


class Deep:
    """What chapter 8 leaves out: attention layers one after the other with residuals, and an MLP behind them.

    Of a single layer only the output goes on, as in `training.Model`.
    """

    def __init__(self, parameters, num_heads, layers, hidden):
        self.parameters, self.num_heads, self.layers, self.hidden = parameters, num_heads, layers, hidden

    @classmethod
    def init(cls, num_heads, rng, relations, layers=1, hidden=0):
        first = training.Model.init(num_heads, rng=rng, relations=relations)
        parameters = {"E": first.E, "U": first.U}
        drawn = [first.layer] + [MultiHeadAttention.init(D_MODEL, num_heads, rng=rng) for _ in range(layers - 1)]
        for i, layer in enumerate(drawn):
            parameters |= {f"{i} W_{x}": getattr(layer, f"W_{x}") for x in "qkvo"}
        if hidden:
            parameters["W_1"] = rng.standard_normal((D_MODEL, hidden)) / np.sqrt(D_MODEL)
            parameters["b_1"] = np.zeros(hidden)
            parameters["W_2"] = rng.standard_normal((hidden, D_MODEL)) / np.sqrt(hidden)
        return cls(parameters, num_heads, layers, hidden)

    def having(self, parameters):
        return Deep(parameters, self.num_heads, self.layers, self.hidden)

    def layer(self, i):
        return MultiHeadAttention(**{f"W_{x}": self.parameters[f"{i} W_{x}"] for x in "qkvo"}, num_heads=self.num_heads)

    def steps(self, X):
        """Inputs and traces of the layers, what the MLP reads, its hidden numbers, and what the read-out reads."""
        p, x, passes = self.parameters, times(X, self.parameters["E"]), []
        for i in range(self.layers):
            passes.append((self.layer(i), x, self.layer(i).trace(x)))
            x = passes[-1][2].output + (x if self.layers > 1 else 0)
        if not self.hidden:
            return passes, None, None, x
        inner = np.maximum(times(x, p["W_1"]) + p["b_1"], 0)
        return passes, x, inner, times(inner, p["W_2"])

    def __call__(self, X):
        return training.read_out(self.steps(X)[-1], self.parameters["U"])

    def loss_and_gradients(self, queue):
        p = self.parameters
        passes, x, inner, y = self.steps(queue.X)
        loss, d_logits = training.cross_entropy(training.read_out(y, p["U"]), queue)
        found = {"U": np.stack([rows(y).T @ rows(d) for d in d_logits])}
        d = sum(times(d, U.T) for d, U in zip(d_logits, p["U"]))
        if self.hidden:
            found["W_2"] = rows(inner).T @ rows(d)
            d_inner = times(d, p["W_2"].T) * (inner > 0)
            found |= {"W_1": rows(x).T @ rows(d_inner), "b_1": rows(d_inner).sum(axis=0)}
            d = times(d_inner, p["W_1"].T)
        for i, (layer, into, trace) in reversed(list(enumerate(passes))):
            inside = training.gradients(layer, into, d, trace=trace)
            d = inside.pop("X") + (d if self.layers > 1 else 0)
            found |= {f"{i} {name}": g for name, g in inside.items()}
        return loss, found | {"E": rows(queue.X).T @ rows(d)}


def run(spec):
    """One training from a spec (h, seed, lr, and what differs from the table's setting), as plain numbers."""
    start, spec = process_time(), dict(spec)
    tuning = spec.pop("tuning", False)
    h, seed, lr, steps = (spec.pop(name) for name in ("h", "seed", "lr", "steps"))
    relations = tuple(spec.pop("relations", RELATIONS))
    if "layers" in spec or "hidden" in spec:
        rng = np.random.default_rng(seed)
        *_, model = training.descend(Deep.init(h, rng, relations, **spec), rng, lr, steps, relations)
    else:
        *_, model = training.train(h, seed, lr=lr, steps=steps, relations=relations, **spec)
    queue = training.queues(20_000, 500, relations=relations) if tuning else training.held_out(relations)
    found = {"accuracy": training.accuracy(model, queue), "loss": training.cross_entropy(model(queue.X), queue)[0]}
    if not tuning and isinstance(model, training.Model):
        found |= {"mass": training.mass(model, queue), "top_two": training.among_best(model, queue, 2)}
        if h in (4, 8):
            found["ablation"] = training.ablation(model, queue)
    return {name: rounded(a) for name, a in found.items()} | {"seconds": process_time() - start}


def rounded(a, digits=4):
    """Lists of numbers with four decimals: more is not the same on every machine."""
    return (np.round(np.asarray(a, dtype=float), digits) + 0.0).tolist()


def settings():
    """{part: [(what is said of it, spec without seed and lr, seeds, steps)]}: every line that the file holds."""
    table = [({}, {"h": h}, SEEDS, STEPS) for h in HEADS]
    width = [({}, {"h": h, "d_k": d_k, "d_v": d_v}, FEW, STEPS) for h, d_k, d_v in ((24, 6, 1), (24, 1, 6), (4, 1, 6))]
    longer = [({}, {"h": h}, FEW[:2], LONG) for h in (1, 2, 12, 24)]
    beyond = [
        ({"what": what}, {"h": 1, "relations": list(relations), **extra}, FEW, steps)
        for what, extra, steps in (
            ("one layer", {"layers": 1}, STEPS),
            ("an MLP behind it", {"hidden": 96}, 4 * STEPS),
            ("two layers", {"layers": 2}, 4 * STEPS),
        )
        for relations in (TWO, RELATIONS)
    ]
    return {"table": table, "width": width, "longer": longer, "beyond": beyond}


def same_setting(spec):
    """What a learning rate is tuned for: a spec, whatever its number of steps."""
    return json.dumps(spec, sort_keys=True)


def measure(parts, run_all, rates=RATES, tuning_seeds=TUNING_SEEDS):
    """The content of the file but for its frame: tunes each setting, then runs it on its seeds."""
    lines = [(part, *line) for part, found in parts.items() for line in found]
    specs = list({same_setting(spec): spec for _, _, spec, *_ in lines}.values())
    trials = [
        (spec, lr, {**spec, "seed": s, "lr": lr, "steps": STEPS, "tuning": True})
        for spec in specs
        for lr in rates
        for s in tuning_seeds
    ]
    tried = run_all([trial for *_, trial in trials])
    tuned = {}
    for spec in specs:
        means = {}
        for lr in rates:
            runs = [f for (s, rate, _), f in zip(trials, tried) if s is spec and rate == lr]
            means[lr] = [np.mean([np.mean(f["accuracy"]) for f in runs]), np.mean([f["loss"] for f in runs])]
        best = max(rates, key=lambda lr: (round(means[lr][0], 3), -means[lr][1]))
        tuned[same_setting(spec)] = best, {str(lr): rounded(m) for lr, m in means.items()}
    jobs = [
        {**spec, "seed": s, "lr": tuned[same_setting(spec)][0], "steps": steps}
        for _, _, spec, seeds, steps in lines
        for s in seeds
    ]
    results, content = iter(run_all(jobs)), {part: [] for part in parts}
    for part, said, spec, seeds, steps in lines:
        lr, means = tuned[same_setting(spec)]
        found = [next(results) for _ in seeds]
        overall = [np.mean(f["accuracy"]) for f in found]
        line = {**said, **spec, "steps": steps, "lr": lr, "tuning": means, "seeds": list(seeds)}
        line |= {"mean": rounded(np.mean(overall), 6), "sd": rounded(np.std(overall, ddof=1), 6)}
        line |= {name: [f[name] for f in found] for name in found[0] if name not in ("loss", "seconds")}
        content[part].append(line | {"seconds": round(float(np.mean([f["seconds"] for f in found])), 2)})
    return content


def text_of(found):
    """The file's text: an entry a line, and of the measured parts a setting a line."""
    entries = []
    for name, value in found.items():
        whole = json.dumps(value)
        if isinstance(value, list):
            whole = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        entries.append(f" {json.dumps(name)}: {whole}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def main(jobs=1):
    start = perf_counter()
    with ProcessPoolExecutor(jobs) as pool:
        content = measure(settings(), lambda specs: list(pool.map(run, specs)))
    frame = {
        "made_by": "tools/train_heads.py",
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "threads": int(os.environ.get("OMP_NUM_THREADS", 0)),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "date": str(date.today()),
            "jobs": jobs,
            "seconds": round(perf_counter() - start),
        },
        "setting": {
            "relations": list(RELATIONS),
            "d_model": D_MODEL,
            "parameters": sum(a.size for a in training.Model.init(1, rng=0).parameters.values()),
            "chance": 1 / 8,
            "rates": list(RATES),
            "tuning_seeds": list(TUNING_SEEDS),
        },
    }
    found = frame | content
    found["sha256"] = digest(found)
    training.STORED.write_text(text_of(found), encoding="utf-8")
    for part in content:
        for line in content[part]:
            said = {
                k: v
                for k, v in line.items()
                if k in ("what", "h", "d_k", "d_v", "steps", "lr", "mean", "sd", "seconds")
            }
            print(part, said, np.round(np.mean(line["accuracy"], axis=0), 2))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
