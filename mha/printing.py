"""Numbers as text, the same on every machine: fixed digits, never -0.0."""

import os

import numpy as np


def fixed(value, digits=2):
    """One number with `digits` decimals: fixed(-0.001) is '0.00', fixed(None) is '–'.

    With the environment variable MHA_STRICT_PRINT set (the tests set it), a number too near to a
    rounding boundary to print the same everywhere raises ValueError.
    """
    if value is None:
        return "–"
    value = float(value)
    if os.environ.get("MHA_STRICT_PRINT") and np.isfinite(value):
        refuse_boundary(value, digits)
    return f"{round(value, digits) + 0.0:.{digits}f}"


def refuse_boundary(value, digits, *, margin=1e-6):
    """ValueError if the last printed digit of value hangs on less than `margin` of a unit in that digit."""
    steps = abs(value) * 10**digits
    if abs(steps % 1 - 0.5) < margin:
        raise ValueError(f"{value!r} rounds either way at {digits} digits: print more digits or another number")


def show(array, digits=2):
    """Print an array with fixed digits, one row a line, columns aligned; blank lines between matrices."""
    array = np.asarray(array)
    if array.ndim < 2:
        print(" ".join(fixed(x, digits) for x in array.reshape(-1)))
        return
    cells = [[[fixed(x, digits) for x in row] for row in matrix] for matrix in array.reshape(-1, *array.shape[-2:])]
    width = max((len(cell) for matrix in cells for row in matrix for cell in row), default=0)
    print("\n\n".join("\n".join(" ".join(c.rjust(width) for c in row) for row in matrix) for matrix in cells))
