"""An exercise is a program made of steps; a mistake replaces a step. The checker compares values.

`build(**steps)` assembles a program: with no argument the reference, with a wrong step a mistake, with a
step of equal value a style. So each mistake is known in every style, and two mistakes in different steps
make a pair, without a program having been written for it.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import runner
from .mistakes import MISTAKES
from .runner import Raised

TOLERANCE = 1e-4  # of the largest expected number: float32 passes, and every mistake is far outside
HALF = 1e-2  # for answers in float16
MISFITS = (ValueError, RuntimeError, IndexError, AssertionError)  # what arrays that don't fit raise, in numpy and torch


@dataclass(frozen=True, eq=False)
class Wrong:
    """One wrong program: the number of its mistake and the steps that it replaces.

    number : of the table in `mistakes`; None is a decoy, a wrong program that has no number but
        whose values could be taken for those of one that has: it is never named, only described
    note : replaces the table's "what you did" where this form needs its own words
    by_error : the mistake may be named although it only raises, if the error is the same
    alone : no part of a pair
    """

    number: int | None
    steps: dict
    note: str = ""
    by_error: bool = False
    alone: bool = False


def wrong(number, note="", *, by_error=False, alone=False, **steps):
    """A Wrong, written as one line of an exercise."""
    return Wrong(number, steps, note, by_error, alone)


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
    _kept: dict = field(default_factory=dict, repr=False)

    reference = property(lambda self: self.build(), doc="The right program.")
    arguments = property(lambda self: [a.strip() for a in self.call.split("(", 1)[1].rstrip(")").split(",")])
    mistakes = property(lambda self: tuple(sorted({w.number for w in self.wrong if w.number})), doc="Numbers listed.")

    @property
    def stub(self):
        """Source of the cell that a student fills in."""
        return f"def {self.call}:\n    ...  # your code"

    def __repr__(self):
        return f"{self.name}: {self.title}\n\n{self.prompt}\n\n{self.stub}\n\ncheck({self.name!r}, {self.call.split('(')[0]})"

    def inputs(self, seed):
        """{label: arguments} of this seed's probes, made once."""
        if seed not in self._kept:
            self._kept[seed] = self.probes(np.random.RandomState(seed))
        return self._kept[seed]

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
        """The reference's outcomes on this seed's probes."""
        return [self.call_on(self.reference, args).outcome for args in self.inputs(seed).values()]

    def call_on(self, program, args):
        """The Call of a program on one probe."""
        return runner.attempt(program, args, len(self.result))


# ---- comparing ------------------------------------------------------------------------------


def gap(found, expected):
    """Largest difference of two outcomes as a part of the largest number; inf if they are not alike.

    Shapes, NaN and infinities must be at the same places. Two errors are alike here; `mismatch` looks closer.
    """
    if isinstance(expected, Raised):
        return 0.0 if isinstance(found, Raised) else np.inf
    if not isinstance(found, tuple) or not isinstance(expected, tuple):
        return np.inf
    return max(_gap(a, b) for a, b in zip(found, expected))


def _gap(a, b):
    if a.shape != b.shape:
        return np.inf
    if a.size == 0:
        return 0.0
    a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        difference = np.abs(a - b)
    if not np.isfinite(difference.max()):
        finite = np.isfinite(b)
        if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return np.inf
        difference, b = difference[finite], b[finite]
    return float(difference.max(initial=0) / (np.abs(b).max(initial=0) or 1.0))


def tolerance(outcome, expected):
    """Whole numbers must be met exactly; float16 is given more room than float32 and float64."""
    if isinstance(expected, tuple) and all(part.dtype.kind in "biu" for part in expected):
        return 1e-9
    half = isinstance(outcome, tuple) and any(part.dtype == np.float16 for part in outcome)
    return HALF if half else TOLERANCE


def alike(found, expected):
    """Whether two outcomes are the same within tolerance."""
    return gap(found, expected) <= tolerance(found, expected)


def meets(found, expected, args):
    """Whether an answer's outcome is right: as alike, and an expected error must have its type and name the arguments."""
    if isinstance(expected, Raised):
        return isinstance(found, Raised) and issubclass(found.error, expected.error) and not lacks(found, args)
    return alike(found, expected)


def lacks(found, args):
    """The numbers among the arguments that an error's message doesn't hold."""
    words = "".join(c if c.isdigit() else " " for c in found.message).split()
    return [str(n) for n in args if isinstance(n, int) and str(n) not in words]


# ---- naming ---------------------------------------------------------------------------------


class Known:
    """A wrong program and its outcomes on the probes of one seed, computed when first asked for."""

    def __init__(self, exercise, seed, entries, program):
        self.entries, self.program = entries, program
        self.numbers = tuple(entry.number for entry in entries)
        self.by_error = any(entry.by_error for entry in entries)
        self._exercise, self._inputs, self._outcomes = exercise, list(exercise.inputs(seed).values()), {}

    def outcome(self, i):
        """Its outcome on probe i."""
        if i not in self._outcomes:
            self._outcomes[i] = self._exercise.call_on(self.program, self._inputs[i]).outcome
        return self._outcomes[i]


def diagnose(exercise, seed, found):
    """The entries (one, a pair, or a decoy) whose values equal the answer's on every probe; () if none or several do."""
    expected = exercise.expected(seed)
    for kind in ("forms", "pairs"):
        matches = {}
        for known in exercise.known(seed, kind):
            error = mismatch(known, found, expected)
            if error < matches.get(known.numbers, (np.inf,))[0]:
                matches[known.numbers] = (error, known.entries)
        if matches:
            return _only(matches)
    return ()


def mismatch(known, found, expected):
    """Largest gap over all probes between an answer's outcomes and a wrong program's; inf if it is not that mistake."""
    worst, shown, same_errors = 0.0, False, True
    for i, (mine, right) in enumerate(zip(found, expected)):
        theirs = known.outcome(i)
        error = gap(mine, theirs)
        if error > tolerance(mine, theirs):
            return np.inf
        worst = max(worst, error)
        if isinstance(theirs, Raised):
            if not issubclass(mine.error, (*MISFITS, theirs.error)):
                return np.inf
            same_errors &= (mine.error, mine.message, mine.empty) == (theirs.error, theirs.message, theirs.empty)
        else:
            shown |= not alike(theirs, right)
    return worst if shown or (known.by_error and same_errors) else np.inf


def _only(matches):
    """The one match; of several, one that is nearer by orders of magnitude; else nothing is named."""
    ranked = sorted(matches.values(), key=lambda match: match[0])
    if len(ranked) > 1 and ranked[1][0] <= max(1e-12, 1000 * ranked[0][0]):
        return ()
    return ranked[0][1]


def names(entries):
    """The Mistakes of entries."""
    return tuple(MISTAKES[entry.number] for entry in entries)


__all__ = ["Exercise", "Wrong", "alike", "diagnose", "gap", "meets", "names", "wrong"]
