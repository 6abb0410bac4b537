"""Training by hand: a layer's gradients beside their formulas, Adam, and the task "The queue".

A gradient has the shape of what it belongs to: d_weights[i] is by how much the loss grows where weights[i] grows.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from . import checks
from .multihead import MultiHeadAttention, merge_heads, split_heads
from .stored import read

RELATIONS = ("ahead", "friend", "behind", "boss")
STORED = Path(__file__).parents[1] / "book" / "data" / "trained_heads.json"


def gradients(layer, X, d_output, *, mask=None, trace=None):
    """Gradients of a loss by a layer's matrices and its input, under self-attention.

    Parameters
    ----------
    layer : MultiHeadAttention with as many key/value heads as heads
    X : (..., seq_len, d_model), the layer's input
    d_output : (..., seq_len, d_model), the loss's gradient by the layer's output
    mask : the mask of the forward pass
    trace : that forward pass, layer.trace(X, mask=mask), where it is at hand

    Returns {"X", "W_q", "W_k", "W_v", "W_o"} and the biases that the layer has: each as its original is shaped.

    Raises ValueError if d_output has not the shape of the output, or key/value heads are shared.
    """
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError(f"num_kv_heads={layer.num_kv_heads} must be num_heads={layer.num_heads}: no shared heads here")
    X, d_output = checks.floats("X", X, axes=2), checks.floats("d_output", d_output)
    t = layer.trace(X, mask=mask) if trace is None else trace
    if d_output.shape != t.output.shape:
        raise ValueError(f"d_output {d_output.shape} must have the shape of the output {t.output.shape}")

    # output = concat W_o
    d_concat = times(d_output, layer.W_o.T)  # (..., seq_len, num_heads * d_v)
    # concat = the heads side by side
    d_heads = split_heads(d_concat, layer.num_heads)  # (..., num_heads, seq_len, d_v)
    # heads = weights v
    d_weights = d_heads @ t.v.swapaxes(-1, -2)  # (..., num_heads, seq_len, seq_len)
    d_v = t.weights.swapaxes(-1, -2) @ d_heads
    # weights = softmax(scores)
    d_scores = softmax_gradient(t.weights, d_weights)
    # scores = q kᵀ · scale
    d_q = d_scores @ t.k * layer.scale  # (..., num_heads, seq_len, d_k)
    d_k = d_scores.swapaxes(-1, -2) @ t.q * layer.scale
    # q = split(X W_q + b_q), and k and v alike
    d_q, d_k, d_v = merge_heads(d_q), merge_heads(d_k), merge_heads(d_v)
    found = {"X": times(d_q, layer.W_q.T) + times(d_k, layer.W_k.T) + times(d_v, layer.W_v.T)}
    for name, into, d in (("q", X, d_q), ("k", X, d_k), ("v", X, d_v), ("o", t.concat, d_output)):
        found[f"W_{name}"] = rows(into).T @ rows(d)
        if getattr(layer, f"b_{name}") is not None:
            found[f"b_{name}"] = rows(d).sum(axis=0)
    return found


def softmax_gradient(weights, d_weights):
    """Gradient by the scores, from that by the weights: d_scores = weights · (d_weights − Σ weights · d_weights).

    The sum runs along the row: a score that grows takes weight from all other keys of its query.
    """
    return weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))


def rows(x):
    """All leading axes as one: (..., d) -> (rows, d)."""
    return x.reshape(-1, x.shape[-1])


def times(x, W):
    """x W on the last axis, as one large matrix product: numpy is slower with many small ones."""
    return (rows(x) @ W).reshape(*x.shape[:-1], W.shape[-1])


class Adam:
    """Steps of like size for each number, whatever the size of its gradient (Kingma and Ba 2015, algorithm 1).

    >>> adam = Adam()
    >>> parameters = adam.step(parameters, gradients, lr=0.03)
    """

    def __init__(self, *, beta1=0.9, beta2=0.99, eps=1e-8):
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= checks.real(name, beta) < 1:
                raise ValueError(f"{name}={beta} must be at least 0 and below 1")
        self.beta1, self.beta2, self.eps = beta1, beta2, checks.real("eps", eps)
        self.t, self.m, self.v = 0, {}, {}  # steps made; running means of gradients and of their squares

    def step(self, parameters, gradients, lr):
        """{name: array} after one step along {name: gradient}; names without a gradient stay as they are."""
        self.t += 1
        moved = dict(parameters)
        for name, g in gradients.items():
            if name not in parameters or np.shape(g) != np.shape(parameters[name]):
                raise ValueError(f"the gradient {name!r} {np.shape(g)} fits no parameter of that name and shape")
            self.m[name] = self.beta1 * self.m.get(name, 0) + (1 - self.beta1) * g
            self.v[name] = self.beta2 * self.v.get(name, 0) + (1 - self.beta2) * g**2
            m = self.m[name] / (1 - self.beta1**self.t)  # both means start at 0: this takes the start out again
            v = self.v[name] / (1 - self.beta2**self.t)
            moved[name] = parameters[name] - lr * m / (np.sqrt(v) + self.eps)
        return moved


@dataclass(frozen=True, eq=False)
class Queue:
    """A batch of queues: people in line, each with a name, a hat colour, and a note for each relation by name.

    X : (batch, n, features), ones at a person's place, name, hat and notes
    name : (batch, n), who stands at each place; hat : (batch, n); notes : (notes, batch, n), names
    place : (relations, batch, n), where the person meant stands, -1 for nobody
    colour : (relations, batch, n), that person's hat: what each token has to answer
    """

    X: np.ndarray
    name: np.ndarray
    hat: np.ndarray
    notes: np.ndarray
    place: np.ndarray
    colour: np.ndarray

    asked = property(lambda self: self.place >= 0, doc="Where there is somebody to ask about.")


def queues(rng, batch, *, n=12, colours=8, relations=RELATIONS):
    """`batch` random queues of n people. rng is a numpy Generator, or a seed for one.

    ahead and behind are given by places, friend and boss by the names on a person's notes.

    Raises ValueError for a relation that is not one of RELATIONS, or a size below its least.
    """
    batch, n, colours = checks.size("batch", batch), checks.size("n", n, least=2), checks.size("colours", colours)
    if not relations or not set(relations) <= set(RELATIONS) or len(set(relations)) < len(relations):
        raise ValueError(f"relations={relations} must be some of {', '.join(RELATIONS)}, each once")
    rng = generator(rng)
    here = np.arange(n)
    name = rng.random((batch, n)).argsort(axis=1)
    stands = name.argsort(axis=1)  # stands[b, m] is the place of the person named m
    hat = rng.integers(colours, size=(batch, n))
    notes = {r: rng.integers(n, size=(batch, n)) for r in relations if r in ("friend", "boss")}
    places = {r: np.take_along_axis(stands, note, axis=1) for r, note in notes.items()}
    places["ahead"] = np.broadcast_to(here - 1, (batch, n))
    places["behind"] = np.broadcast_to(np.where(here + 1 < n, here + 1, -1), (batch, n))
    place = np.stack([places[r] for r in relations])
    colour = np.stack([np.take_along_axis(hat, np.maximum(p, 0), axis=1) for p in place])
    parts = [(np.broadcast_to(here, (batch, n)), n), (name, n), (hat, colours), *((note, n) for note in notes.values())]
    X = np.concatenate([np.eye(size)[part] for part, size in parts], axis=-1)
    return Queue(X, name, hat, np.array(list(notes.values())).reshape(-1, batch, n), place, colour)


def generator(rng):
    """rng itself if it is a Generator, else one that starts from it as a seed."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(checks.size("rng", rng, least=0))


@dataclass(frozen=True, eq=False)
class Model:
    """Embedding, one attention layer, a linear read-out a relation; no residual, no MLP.

    E : (features, d_model); layer : MultiHeadAttention; U : (relations, d_model, colours)
    """

    E: np.ndarray
    layer: MultiHeadAttention
    U: np.ndarray

    @classmethod
    def init(cls, num_heads, *, rng, d_model=24, n=12, colours=8, relations=RELATIONS, d_k=None, d_v=None):
        """A model as it is drawn, for queues of these sizes. rng is a numpy Generator, or a seed for one."""
        rng = generator(rng)
        features = queues(0, 1, n=n, colours=colours, relations=relations).X.shape[-1]
        E = rng.standard_normal((features, d_model)) / 2
        layer = MultiHeadAttention.init(d_model, num_heads, rng=rng, d_k=d_k, d_v=d_v)
        return cls(E, layer, rng.standard_normal((len(relations), d_model, colours)) / np.sqrt(d_model))

    @property
    def parameters(self):
        """{name: array} of all that is trained."""
        return {"E": self.E, "U": self.U} | {f"W_{x}": getattr(self.layer, f"W_{x}") for x in "qkvo"}

    def having(self, parameters):
        """The same model with other numbers: {name: array}."""
        layer = replace(self.layer, **{name: W for name, W in parameters.items() if name.startswith("W_")})
        return Model(parameters["E"], layer, parameters["U"])

    def trace(self, X):
        """The layer's forward pass on a batch's X."""
        return self.layer.trace(times(X, self.E))

    def __call__(self, X):
        """A score for each colour: (relations, batch, n, colours)."""
        return read_out(self.trace(X).output, self.U)

    def loss_and_gradients(self, queue):
        """The loss on a Queue, and its gradients by `parameters`."""
        x = times(queue.X, self.E)
        trace = self.layer.trace(x)
        loss, d_logits = cross_entropy(read_out(trace.output, self.U), queue)
        d_output = sum(times(d, U.T) for d, U in zip(d_logits, self.U))
        found = gradients(self.layer, x, d_output, trace=trace)
        found["E"] = rows(queue.X).T @ rows(found.pop("X"))
        found["U"] = np.stack([rows(trace.output).T @ rows(d) for d in d_logits])
        return loss, found


def read_out(output, U):
    """The scores of the colours for each relation: (relations, batch, n, colours)."""
    return np.stack([times(output, U_r) for U_r in U])


def cross_entropy(logits, queue):
    """Mean of −log p(right colour) over all that is asked, and its gradient by the logits: (p − right) / count."""
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    right = np.eye(logits.shape[-1])[queue.colour] * queue.asked[..., None]
    count = queue.asked.sum()
    return -(right * log_p).sum() / count, (np.exp(log_p) * queue.asked[..., None] - right) / count


def train(num_heads, seed, *, lr=0.03, steps=500, relations=RELATIONS, **sizes):
    """The model before training and after each step: yields steps + 1 of them.

    >>> *_, model = train(num_heads=4, seed=0)

    Parameters
    ----------
    num_heads : h; must divide d_model where d_k is not given
    seed : of the starting numbers and of all batches
    lr : largest step size, as `rate` shapes it
    sizes : d_model, d_k, d_v of `Model.init`
    """
    rng = generator(checks.size("seed", seed, least=0))
    return descend(Model.init(num_heads, rng=rng, relations=relations, **sizes), rng, lr, steps, relations)


def descend(model, rng, lr, steps, relations, *, batch=32):
    """Like `train`, for any model that has `parameters`, `having` and `loss_and_gradients`."""
    if checks.real("lr", lr) <= 0:
        raise ValueError(f"lr={lr} must be above 0")
    steps, adam = checks.size("steps", steps, least=0), Adam()
    yield model
    for step in range(steps):
        _, found = model.loss_and_gradients(queues(rng, batch, relations=relations))
        model = model.having(adam.step(model.parameters, found, rate(step + 1, steps, lr)))
        yield model


def rate(step, steps, lr, *, warm_up=50, last=0.1):
    """Step size at a step: rises to lr over `warm_up` steps, and falls along half a cosine to last · lr."""
    return lr * min(1, step / warm_up) * (last + (1 - last) * (1 + np.cos(np.pi * step / steps)) / 2)


def held_out(relations=RELATIONS):
    """500 queues that no training sees, on which every reported number is measured."""
    return queues(10_000, 500, relations=relations)


def accuracy(model, queue):
    """Share of right answers for each relation: (relations,)."""
    hit = model(queue.X).argmax(axis=-1) == queue.colour
    return (hit & queue.asked).sum(axis=(1, 2)) / queue.asked.sum(axis=(1, 2))


def among_best(model, queue, best):
    """Share of answers whose right colour is among the `best` colours with the highest scores: (relations,)."""
    logits = model(queue.X)
    higher = logits > np.take_along_axis(logits, queue.colour[..., None], axis=-1)
    hit = higher.sum(axis=-1) < best
    return (hit & queue.asked).sum(axis=(1, 2)) / queue.asked.sum(axis=(1, 2))


def mass(model, queue):
    """Mean weight that each head puts on the person each relation means: (num_heads, relations)."""
    weights = model.trace(queue.X).weights  # (batch, num_heads, q_len, kv_len)
    found = []
    for place, asked in zip(queue.place, queue.asked):
        on = np.take_along_axis(weights, np.maximum(place, 0)[:, None, :, None], axis=-1)[..., 0]
        found.append((on * asked[:, None]).sum(axis=(0, 2)) / asked.sum())
    return np.stack(found, axis=-1)


def without_head(model, i):
    """The model with head i silent: its rows of W_o are 0."""
    layer = model.layer
    i = checks.size("i", i, least=0)
    if i >= layer.num_heads:
        raise ValueError(f"i={i} is no head of {layer.num_heads}: count from 0")
    W_o = layer.W_o.copy()
    W_o[i * layer.d_v : (i + 1) * layer.d_v] = 0
    return replace(model, layer=replace(layer, W_o=W_o))


def ablation(model, queue):
    """What each relation loses in accuracy when a head falls silent: (num_heads, relations)."""
    whole = accuracy(model, queue)
    return np.stack([whole - accuracy(without_head(model, i), queue) for i in range(model.layer.num_heads)])


def stored(path=STORED):
    """The measured table of chapter 8, as `make data` wrote it.

    Raises FileNotFoundError if it is not there, ValueError if it is cut short or altered.
    """
    return read(path)
