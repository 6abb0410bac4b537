"""Which known wrong program has the values of an answer, on every probe."""

import functools

import numpy as np

from . import runner
from .compare import alike, gap, tolerance, total
from .mistakes import MISTAKES
from .results import Raised

MISFITS = (ValueError, RuntimeError, IndexError, AssertionError)  # what arrays that don't fit raise, in numpy and torch
EXACT = 1e-12  # the same arithmetic, up to rounding


def diagnose(exercise, seed, found, answer, emptied=True):
    """The entries (one, a pair, or a decoy) whose values equal the answer's on every probe; () if not exactly one.

    `found` are the answer's outcomes, `emptied` whether an array ran empty in it; the answer itself is run again
    only if it may be a mistake that only raises.
    """
    inputs = list(exercise.inputs(seed).values())
    operands = functools.cache(lambda i: runner.operands(answer, inputs[i]))
    expected, mine = exercise.expected(seed), total(found[0])
    for kind in ("forms", "pairs"):
        matches = {}
        for known in exercise.known(seed, kind):
            if matches.get(known.numbers, (np.inf,))[0] < EXACT or (known.by_empty and not emptied):
                continue
            if _far(mine, known.total, found[0]):
                continue
            error = mismatch(known, found, expected, operands)
            if error < matches.get(known.numbers, (np.inf,))[0]:
                matches[known.numbers] = (error, known.entries)
        if matches:
            return _only(matches)
    return ()


def _far(mine, theirs, outcome):
    if mine is None or theirs is None:
        return mine is not theirs
    return abs(mine[0] - theirs[0]) > tolerance(outcome, None) * max(mine[1], theirs[1])


def mismatch(known, found, expected, operands):
    """Largest gap over all probes between an answer's outcomes and a wrong program's; inf if it is not that mistake."""
    worst, shown = 0.0, False
    for i, (mine, right) in enumerate(zip(found, expected)):
        theirs = known.outcome(i)
        error = gap(mine, theirs)
        if error > tolerance(mine, theirs):
            return np.inf
        if isinstance(theirs, Raised) and not issubclass(mine.error, (*MISFITS, theirs.error)):
            return np.inf
        worst = max(worst, error)
        shown = shown or (not isinstance(theirs, Raised) and not alike(theirs, right))
    return worst if shown or (known.by_error and _fail_alike(known, found, operands)) else np.inf


def _fail_alike(known, found, operands):
    """Whether all errors are the same, and the arrays that met in a failing product too."""
    for i, mine in enumerate(found):
        if isinstance(mine, Raised):
            theirs = known.outcome(i)
            if (mine.error, mine.message, mine.empty) != (theirs.error, theirs.message, theirs.empty):
                return False
            met, theirs_met = operands(i), known.operands(i)
            if len(met) != len(theirs_met) or (met and not alike(met, theirs_met)):
                return False
    return True


def _only(matches):
    """The one match; of several, one that is nearer by orders of magnitude; else nothing is named."""
    ranked = sorted(matches.values(), key=lambda match: match[0])
    if len(ranked) > 1 and ranked[1][0] <= max(EXACT, 1000 * ranked[0][0]):
        return ()
    return ranked[0][1]


def names(entries):
    """The Mistakes of entries."""
    return tuple(MISTAKES[entry.number] for entry in entries)
