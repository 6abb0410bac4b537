"""Arguments looked at before they are used: each error names the argument and its value."""

import math
import numbers
import operator

import numpy as np


def size(name, value, *, least=1):
    """A count as int. TypeError unless whole, ValueError below `least`; least=None is no bound."""
    try:
        whole = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        whole = None
    if whole is None:
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if least is not None and whole < least:
        raise ValueError(f"{name}={whole} must be at least {least}")
    return whole


def head_width(width, num_heads, name="d_model"):
    """Width of one head, width / num_heads. ValueError unless num_heads divides it (section 3.2.2)."""
    num_heads = size("num_heads", num_heads)
    if width % num_heads:
        raise ValueError(
            f"{name}={width} does not split into num_heads={num_heads}: "
            f"{width} / {num_heads} leaves {width % num_heads} over"
        )
    return width // num_heads


def real(name, value):
    """A finite real scalar as float. TypeError or ValueError otherwise."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be one real number, not {value!r}")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        finite = False
    if not finite:
        raise ValueError(f"{name}={value} must be finite")
    return float(value)


def array(name, value, *, axes=0):
    """An array of real numbers with at least `axes` axes, dtype as given, never copied."""
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not a rectangular array: {error}") from None
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, not dtype {found.dtype}")
    if found.ndim < axes:
        raise ValueError(f"{name} needs at least {axes} axes, but has shape {found.shape}")
    return found


def floats(name, value, *, axes=0):
    """Like `array`, with integers as float64; floats keep their dtype."""
    found = array(name, value, axes=axes)
    return found if found.dtype.kind == "f" else found.astype(np.float64)


def working(*arrays):
    """(arrays ready to compute with, dtype of the result): float16 is computed in float32."""
    dtypes = {a.dtype for a in arrays if a is not None}
    result = np.result_type(*dtypes)
    compute = np.dtype(np.float32) if result == np.float16 else result
    if dtypes == {compute}:
        return arrays, result
    return [a if a is None else a.astype(compute, copy=False) for a in arrays], result


def broadcast(**shapes):
    """The joint shape of the named leading axes. ValueError naming each, where they don't fit."""
    if len(set(shapes.values())) == 1:
        return next(iter(shapes.values()))
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        named = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"leading axes do not broadcast: {named}") from None


def mask_array(mask, dtype):
    """A boolean mask as it is, a float mask in `dtype`; None stays None.

    True = may attend; a float mask is added to the scores. TypeError for integers,
    ValueError for NaN and +inf.
    """
    if mask is None:
        return None
    found = array("mask", mask, axes=1)
    if found.dtype.kind in "iu":
        raise TypeError(
            f"mask has dtype {found.dtype}, which could mean two things: use booleans (True = may attend, "
            "e.g. mask.astype(bool)) or floats that are added to the scores (0 allows, -inf forbids)"
        )
    if found.dtype == bool:
        return found
    if not (found < np.inf).all():
        raise ValueError("mask holds NaN or +inf: a float mask is added to the scores, use 0, finite numbers or -inf")
    limit = np.finfo(dtype).max
    # A finite number stays finite when a float64 mask meets float32 scores.
    return np.where(np.isinf(found), found, np.clip(found, -limit, limit)).astype(dtype)


def check_mask(mask, lead, q_len, kv_len):
    """Joint leading axes of mask and scores (*lead, q_len, kv_len). ValueError unless they fit as in numpy."""
    rows_columns = (1, 1, *mask.shape)[-2:]
    if any(m not in (1, n) for m, n in zip(rows_columns, (q_len, kv_len))):
        raise ValueError(f"mask {mask.shape} does not fit scores of q_len={q_len} by kv_len={kv_len}")
    return broadcast(mask=mask.shape[:-2], scores=lead)
