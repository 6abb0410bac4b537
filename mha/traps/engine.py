"""An exercise is a program made of steps; a mistake replaces a step. The checker compares values.

`build(**steps)` assembles a program: with no argument the reference, with a wrong step a mistake, with a
step of equal value a style. So each mistake is known in every style, and two mistakes in different steps
make a pair, without a program having been written for it.

To add a mistake to an exercise, add `wrong(number, step=wrong_step)` to its list; to add an exercise, add an
Exercise to its module's EXERCISES. The tests then hold both laws for it: each mistake is named as itself, on
every seed, and every right program passes.
"""

import functools
import itertools
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import runner
from .compare import total


@dataclass(frozen=True, eq=False)
class Wrong:
    """One wrong program: the number of its mistake and the steps that it replaces.

    number : of the table in `mistakes`; None is a decoy, a wrong program that has no number but
        whose values could be taken for those of one that has: it is never named, only described
    note : replaces the table's "what you did" where this form needs its own words
    by_error : the mistake may be named although it only raises, if the error is the same
    by_empty : named only if an array of the answer ran empty: other programs have the same values
    alone : no part of a pair
    """

    number: int | None
    steps: dict
    note: str = ""
    by_error: bool = False
    by_empty: bool = False
    alone: bool = False


def wrong(number, note="", *, by_error=False, by_empty=False, alone=False, **steps):
    """A Wrong, written as one line of an exercise."""
    return Wrong(number, steps, note, by_error, by_empty, alone)


@dataclass(frozen=True, eq=False)
class Exercise:
    """One coding exercise.

    name, title : for `exercises()`
    call : the signature, "split(x, num_heads)"
    prompt : the statement; probes hold only what it promises
    build : build(**steps) -> program
    probes : probes(rng) -> {label: arguments}; sized so that no mistake hides
    wrong : the mistakes that apply, in all their forms
    result : the axes of each returned array, as text
    styles : steps that change no result; variants : whole programs that are right as well
    laws : (what is broken, law(f, args) -> bool) pairs, told when no mistake is recognised
    chapter : file name of the chapter where it stands
    """

    name: str
    title: str
    call: str
    prompt: str
    build: Callable
    probes: Callable
    wrong: tuple[Wrong, ...]
    result: tuple[str, ...] = ("",)
    styles: tuple[dict, ...] = ()
    variants: tuple[Callable, ...] = ()
    laws: tuple = ()
    chapter: str = ""
    _kept: dict = field(default_factory=dict, repr=False, init=False)

    reference = property(lambda self: self.build(), doc="The right program.")
    arguments = property(lambda self: [a.strip() for a in self.call.split("(", 1)[1].rstrip(")").split(",")])
    mistakes = property(lambda self: tuple(sorted({w.number for w in self.wrong if w.number})), doc="Numbers listed.")

    @property
    def stub(self):
        """Source of the cell that a student fills in."""
        return f"def {self.call}:\n    return ...  # your code"

    def __repr__(self):
        asked = textwrap.fill(self.prompt, 100, break_on_hyphens=False)
        function = self.call.split("(")[0]
        return f"{self.name}: {self.title}\n\n{asked}\n\n{self.stub}\n\ncheck({self.name!r}, {function})"

    def inputs(self, seed):
        """{label: arguments} of this seed's probes, made once."""
        if seed not in self._kept:
            self._kept[seed] = self.probes(np.random.RandomState(seed))
        return self._kept[seed]

    def example(self, number):
        """The first wrong program of this mistake.

        Raises ValueError if the exercise doesn't list the mistake.
        """
        for entry in self.wrong:
            if entry.number == number:
                return self.build(**entry.steps)
        raise ValueError(f"{self.name} doesn't list mistake {number!r}; it lists {', '.join(map(str, self.mistakes))}")

    def forms(self):
        """(entries, program) of every single mistake in every style it can be combined with."""
        for entry in self.wrong:
            yield from self._styled((entry,))

    def pairs(self):
        """(entries, program) of every two mistakes in different steps, in every style."""
        entries = [w for w in self.wrong if w.number and not w.alone]
        for a, b in itertools.combinations(entries, 2):
            if a.number != b.number and not a.steps.keys() & b.steps.keys():
                yield from self._styled(tuple(sorted((a, b), key=lambda w: w.number)))

    def _styled(self, entries):
        steps = {name: step for entry in entries for name, step in entry.steps.items()}
        for style in ({}, *self.styles):
            if not style.keys() & steps.keys():
                yield entries, self.build(**style, **steps)

    def known(self, seed, kind):
        """The `forms` or `pairs` with what they yield on this seed's probes, each computed once."""
        if (seed, kind) not in self._kept:
            candidates = self.forms() if kind == "forms" else self.pairs()
            self._kept[seed, kind] = [Known(self, seed, *candidate) for candidate in candidates]
        return self._kept[seed, kind]

    def expected(self, seed):
        """The reference's outcomes on this seed's probes, computed once."""
        if (seed, "expected") not in self._kept:
            outcomes = [self.call_on(self.reference, args).outcome for args in self.inputs(seed).values()]
            self._kept[seed, "expected"] = outcomes
        return self._kept[seed, "expected"]

    def call_on(self, program, args):
        """The Call of a program on one probe."""
        return runner.attempt(program, args, self.result)


class Known:
    """A wrong program and its outcomes on the probes of one seed, computed when first asked for."""

    def __init__(self, exercise, seed, entries, program):
        self.entries, self.program = entries, program
        self.numbers = tuple(entry.number for entry in entries)
        self.by_error = any(entry.by_error for entry in entries)
        self.by_empty = any(entry.by_empty for entry in entries)
        self._exercise, self._inputs, self._outcomes = exercise, list(exercise.inputs(seed).values()), {}

    def outcome(self, i):
        """Its outcome on probe i."""
        if i not in self._outcomes:
            self._outcomes[i] = self._exercise.call_on(self.program, self._inputs[i]).outcome
        return self._outcomes[i]

    @functools.cache  # noqa: B019 kept as long as the exercise is
    def operands(self, i):
        """runner.operands of its failure on probe i."""
        return runner.operands(self.program, self._inputs[i])

    @functools.cached_property
    def total(self):
        """compare.total of its outcome on the first probe."""
        return total(self.outcome(0))
