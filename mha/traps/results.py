"""What one call of an answer came to: arrays, nothing yet, something odd, or an error."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Missing:
    """The answer gave None, ... or NotImplementedError."""

    what: str


@dataclass(frozen=True)
class Odd:
    """The answer gave something that is not numbers."""

    what: str


@dataclass(frozen=True)
class Raised:
    """The answer raised; `line` and `source` are the deepest place in its own code."""

    error: type
    message: str
    line: int | None = None
    source: str = ""
    empty: bool = False  # an array of its own had no numbers left in it


def freeze(value, result=("",)):
    """What an answer returned as a tuple of arrays of its own, one for each of `result`, or Missing or Odd.

    Lists, scalars, tensors (anything with detach().cpu()) and whatever numpy can read count as arrays; where
    several arrays of the same shape are asked for, one array that holds them will do.
    """
    if value is None or value is Ellipsis or value is NotImplemented:
        return Missing(repr(value))
    try:
        if len(result) == 1:
            return (numbers(value),)
        if not isinstance(value, (tuple, list)):
            value = list(numbers(value)) if len(set(result)) == 1 else [value]
        if len(value) != len(result):
            return Odd(f"{len(value)} array{'s' * (len(value) != 1)}")
        return tuple(numbers(item) for item in value)
    except ValueError as error:
        return Odd(f"{_kind(value)}: {error}")
    except (TypeError, AttributeError, RecursionError, OverflowError):
        return Odd(_kind(value))


def _kind(value):
    """What a value is, as words: 'a tuple of 2', 'a dict'."""
    size = f" of {len(value)}" if isinstance(value, (tuple, list, dict, set)) else ""
    return f"a {type(value).__name__}{size}"


def numbers(value):
    """One array of real numbers, a copy. TypeError for anything else, ValueError for lists that are not rectangular."""
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise TypeError("no numbers")
    if hasattr(value, "detach"):  # a tensor, without importing its library
        value = value.detach().cpu()
        value = value.half() if "bfloat16" in str(value.dtype) else value
        value = value.numpy()
    if isinstance(value, (list, tuple)):
        value = [numbers(item) for item in value]
        if len({item.shape for item in value}) > 1:
            shapes = ", ".join(str(item.shape) for item in value[:4])
            raise ValueError(f"its entries have different shapes {shapes}")
    array = np.array(value)
    if array.dtype.kind == "O":
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise TypeError("no real numbers")
    return array
