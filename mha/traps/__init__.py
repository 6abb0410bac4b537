"""Exercises whose checker names the mistake: check(name, your_function).

>>> from mha.traps import check, exercises, exercise
>>> exercises()                # names, a line each
>>> exercise("split")          # statement and stub
>>> check("split", split)      # ✓, … or ✗ with what the values show
>>> catalogue()                # the mistakes that can be named

The checker compares values only. It keeps the notebook whole, but is no sandbox.
"""

import difflib

from . import causal, counts, exam, grouped, heads, layer, masks, matrix, packing, shapes, weights
from .catalogue import Catalogue
from .checker import judge
from .engine import Exercise, wrong
from .mistakes import MISTAKES, Mistake
from .verdict import Verdict

__all__ = [
    "MISTAKES", "Exercise", "Mistake", "Verdict",
    "catalogue", "check", "exercise", "exercises", "kill_matrix", "recognised_pairs", "wrong",
]  # fmt: skip

_TOPICS = (weights, causal, masks, shapes, packing, heads, layer, grouped, counts, exam)
_EXERCISES = {e.name: e for topic in _TOPICS for e in topic.EXERCISES}


class Listing(dict):
    """Names of exercises, each with its line."""

    def __repr__(self):
        width = max(map(len, self))
        return "\n".join(f"{name:<{width}}  {title}" for name, title in self.items())


def exercises():
    """The exercises: {name: what it asks for}, printed one a line."""
    return Listing({name: e.title for name, e in _EXERCISES.items()})


def exercise(name):
    """The Exercise of this name: its prompt, stub, mistakes, reference.

    Raises ValueError naming the nearest names, if there is none.
    """
    if isinstance(name, Exercise):
        return name
    if name not in _EXERCISES:
        near = difflib.get_close_matches(str(name), _EXERCISES, n=3, cutoff=0.5) or list(_EXERCISES)
        raise ValueError(f"no exercise {name!r}; there is {', '.join(near)}")
    return _EXERCISES[name]


def catalogue():
    """The mistakes by theme, each with the exercises that can name it: a table, printed or in a notebook."""
    return Catalogue({n: [name for name, e in _EXERCISES.items() if n in e.mistakes] for n in MISTAKES})


def check(name, answer, *, seed=None, seconds=5.0):
    """What the values of an answer show, as a Verdict.

    Parameters
    ----------
    name : an exercise's name, or an Exercise
    answer : the function to check; None or ... is "not answered yet"
    seed : of the probes; None is the environment variable MHA_SEED, or 0
    seconds : after which an answer is stopped

    Raises ValueError if there is no such exercise.
    """
    return judge(exercise(name), answer, seed=seed, seconds=seconds)


def kill_matrix(*names, seed=0):
    """Which probe unmasks which mistake in the named exercises, or in all: a matrix.KillMatrix."""
    return matrix.kill_matrix([exercise(name) for name in names or _EXERCISES], seed)


def recognised_pairs(name, seed=0):
    """Which pairs of mistakes an exercise can tell from all else: {(number, number): share of its forms}."""
    return matrix.recognised_pairs(exercise(name), seed)
