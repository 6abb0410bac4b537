"""Whether two outcomes are the same: in any precision from float16 up, NaN and errors included."""

import numpy as np

from .results import Raised

TOLERANCE = 1e-4  # of the largest expected number: float32 passes, and every mistake is far outside
HALF = 1e-2  # for answers in float16


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
    """Whether an answer's outcome is right: alike, or an error of the expected type that names the arguments."""
    if isinstance(expected, Raised):
        return isinstance(found, Raised) and issubclass(found.error, expected.error) and not lacks(found, args)
    return alike(found, expected)


def lacks(found, args):
    """The numbers among the arguments that an error's message doesn't hold."""
    words = "".join(c if c.isdigit() else " " for c in found.message).split()
    return [str(n) for n in args if isinstance(n, int) and str(n) not in words]


def total(outcome):
    """(sum of magnitudes, most that it could be): a cheap look that tells most programs apart; None for errors."""
    if not isinstance(outcome, tuple):
        return None
    sizes = [np.abs(part[np.isfinite(part)].astype(np.float64)) for part in outcome]
    return sum(size.sum() for size in sizes), sum(size.size * size.max(initial=1e-300) for size in sizes)
