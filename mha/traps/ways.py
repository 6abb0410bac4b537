"""Ways to write the same right answer: each must pass."""

import numpy as np


def single(program):
    """The program in float32."""
    return lambda *args: program(*(a.astype(np.float32) if _is_float(a) else a for a in args))


def _is_float(a):
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def striped(program):
    """The program on inputs of equal value that are not contiguous in memory."""
    return lambda *args: program(*(a.repeat(2, axis=-1)[..., ::2] if isinstance(a, np.ndarray) else a for a in args))


def listed(program):
    """The program, with its result as nested lists."""

    def answer(*args):
        result = program(*args)
        return [part.tolist() for part in result] if isinstance(result, tuple) else result.tolist()

    return answer


def any_way(program):
    """A right program in float32, on non-contiguous inputs, and as lists."""
    return single(program), striped(program), listed(program)
