"""Toy sentences, embeddings and layers: the same numbers on every platform and numpy version.

All come from RandomState's uniform stream, which numpy has frozen, seeded by the SHA-256 of a
name. They are drawn, not trained: what a toy head looks at has no meaning.
"""

import hashlib
import re

import numpy as np

from . import checks
from .multihead import MultiHeadAttention

SENTENCES = (
    "The dog chased the ball because it was fast.",
    "The bank raised its rates again.",
    "She saw the man with the telescope.",
    "Time flies like an arrow.",
)
NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")


def tokens(sentence):
    """The words and punctuation marks of a sentence, as a list of strings.

    Raises TypeError if sentence is not a string, ValueError if it has no word, or a control character or half of a
    surrogate pair, which no page can show.
    """
    if not isinstance(sentence, str):
        raise TypeError(f"sentence must be a string, not {sentence!r}")
    if strange := NO_TEXT.search(sentence):
        raise ValueError(f"sentence={sentence!r} has {strange[0]!r}, which is no text: leave it out")
    found = re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", sentence)
    if not found:
        raise ValueError(f"sentence={sentence!r} has no word: write at least one")
    return found


def embed(tokens, d_model):
    """Token vectors (len(tokens), d_model): a word's own vector plus half its position's.

    Word vectors have mean 0 and variance 1 over words; upper and lower case are one word.

    Raises TypeError if tokens is a string or holds anything else than strings.
    """
    d_model = checks.size("d_model", d_model)
    if isinstance(tokens, str) or not all(isinstance(t, str) for t in tokens):
        raise TypeError(f"tokens must be a list of strings, as tokens(sentence) gives, not {tokens!r}")
    rows = [
        uniform(f"word {token.casefold()}", (d_model,)) + uniform(f"position {i}", (d_model,)) / 2
        for i, token in enumerate(tokens)
    ]
    return np.array(rows).reshape(len(tokens), d_model)


def layer(d_model, num_heads):
    """A fixed MultiHeadAttention. Its matrices depend on d_model alone: num_heads only cuts them.

    Raises ValueError if num_heads does not divide d_model.
    """
    d_model = checks.size("d_model", d_model)
    checks.head_width(d_model, num_heads)
    gain = {"q": 1.4, "k": 1.4, "v": 1, "o": 1}  # sharper scores: a toy head should prefer some key
    weights = {f"W_{x}": uniform(f"W_{x} {d_model}", (d_model, d_model)) * (gain[x] / np.sqrt(d_model)) for x in "qkvo"}
    return MultiHeadAttention(**weights, num_heads=num_heads)


def uniform(name, shape):
    """Numbers of mean 0 and variance 1 that follow from a name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    return np.random.RandomState(seed).uniform(-1, 1, shape) * np.sqrt(3)
