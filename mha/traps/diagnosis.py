"""Which known wrong program has the values of an answer, on every probe."""

import numpy as np

from .compare import alike, gap, tolerance, total
from .mistakes import MISTAKES
from .results import Raised

MISFITS = (ValueError, RuntimeError, IndexError, AssertionError)  # what arrays that don't fit raise, in numpy and torch
EXACT = 1e-12  # the same arithmetic, up to rounding


def diagnose(exercise, seed, found):
    """The entries (one, a pair, or a decoy) whose values equal the answer's on every probe; () if not just one."""
    expected, mine = exercise.expected(seed), total(found[0])
    for kind in ("forms", "pairs"):
        matches = {}
        for known in exercise.known(seed, kind):
            if matches.get(known.numbers, (np.inf,))[0] < EXACT or _far(mine, known.total, found[0]):
                continue
            error = mismatch(known, found, expected)
            if error < matches.get(known.numbers, (np.inf,))[0]:
                matches[known.numbers] = (error, known.entries)
        if matches:
            return _only(matches)
    return ()


def _far(mine, theirs, outcome):
    if mine is None or theirs is None:
        return mine is not theirs
    return abs(mine[0] - theirs[0]) > tolerance(outcome, None) * max(mine[1], theirs[1])


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
    if len(ranked) > 1 and ranked[1][0] <= max(EXACT, 1000 * ranked[0][0]):
        return ()
    return ranked[0][1]


def names(entries):
    """The Mistakes of entries."""
    return tuple(MISTAKES[entry.number] for entry in entries)
