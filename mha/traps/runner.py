"""Run a student's function and come back: with numbers, an error, or the news that it does not end.

It keeps a notebook whole (no output flood, no exit, no endless loop in Python code); it is no sandbox.
"""

import contextlib
import ctypes
import functools
import io
import linecache
import sys
import sysconfig
import threading
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

_CORE = Path(__file__).parent.parent
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))


class Stopped(BaseException):
    """Thrown into an answer that takes too long."""


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


@dataclass(frozen=True)
class Call:
    """One call: a tuple of arrays, or Missing, Odd, Raised; and the arguments that it changed."""

    outcome: object
    changed: tuple = ()


@dataclass
class Session:
    """What came out of `guarded`: its value, and what was seen on the way."""

    value: object = None
    stopped: bool = False
    printed: str = ""
    error: BaseException | None = field(default=None, repr=False)


# ---- one call -------------------------------------------------------------------------------


@dataclass
class Watch:
    """What is seen while an answer runs: which of mha's functions it calls, whether an array of its own ran empty."""

    called: list = field(default_factory=list)
    emptied: bool = False

    def __call__(self, frame, event, _):
        """For sys.setprofile."""
        module = str(frame.f_globals.get("__name__"))
        if event == "call" and (module == "mha" or module.startswith("mha.")):
            self.called.append(f"{module}.{frame.f_code.co_name}")
        if event == "return" and not self.emptied and _is_own(frame.f_code.co_filename):
            self.emptied = _holds_empty(frame)


def attempt(answer, args, parts, watch=None):
    """Call answer(*args) on copies of args; every result and every error becomes a Call.

    `parts` is the number of arrays expected.
    """
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        with np.errstate(all="ignore"):
            result = _watched(answer, given, watch)
            outcome = freeze(result, parts)
    except Stopped:
        raise
    except NotImplementedError:
        outcome = Missing("NotImplementedError")
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the answer's own making too
        outcome = _raised(error, watch is not None and watch.emptied)
    changed = tuple(i for i, (a, b) in enumerate(zip(args, given)) if isinstance(a, np.ndarray) and _differs(a, b))
    return Call(outcome, changed)


def _watched(answer, given, watch):
    """answer(*given) under a Watch. The checker's own programs, which use mha, are not watched."""
    if watch is None or str(getattr(answer, "__module__", "")).startswith("mha.traps"):
        return answer(*given)
    before, watch.emptied = sys.getprofile(), False
    sys.setprofile(watch)
    try:
        return answer(*given)
    finally:
        sys.setprofile(before)


def _differs(before, after):
    return before.shape != after.shape or before.dtype != after.dtype or before.tobytes() != after.tobytes()


def _raised(error, emptied):
    """A Raised without references to frames, which would keep the answer's arrays alive."""
    try:
        message = str(error)[:300]
    except BaseException:
        message = "(its message cannot be read)"
    own = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_own(frame.f_code.co_filename)]
    if not own:
        return Raised(type(error), message)
    frame, line = own[-1]
    source = linecache.getline(frame.f_code.co_filename, line).strip()
    return Raised(type(error), message, line, source, emptied or any(_holds_empty(frame) for frame, _ in own[-20:]))


@functools.lru_cache(maxsize=None)
def _is_own(file):
    """Whether a file is the student's: no library, not the package."""
    return file != __file__ and Path(file).parent != _CORE and not file.startswith((*_LIBRARIES, "<frozen", "<__array"))


def _holds_empty(frame):
    return any(isinstance(value, np.ndarray) and value.size == 0 for value in frame.f_locals.values())


# ---- results as arrays ----------------------------------------------------------------------


def freeze(value, parts=1):
    """A result as a tuple of `parts` arrays of its own, or Missing or Odd.

    Lists, scalars, tensors (anything with detach().cpu()) and whatever numpy can read count as arrays.
    """
    if value is None or value is Ellipsis or value is NotImplemented:
        return Missing(repr(value))
    if parts == 1:
        items = [value]
    elif isinstance(value, (tuple, list)) or (hasattr(value, "shape") and len(value.shape) > 0):
        items = list(value)
    else:
        return Odd(f"one {type(value).__name__}")
    if len(items) != parts:
        found = f"{len(items)} things" if isinstance(value, (tuple, list)) else f"one array of shape {tuple(value.shape)}"
        return Odd(found)
    try:
        return tuple(numbers(item) for item in items)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        return Odd(f"{_kind(value)}: {error}" if isinstance(error, ValueError) else _kind(value))


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


# ---- a guarded session ----------------------------------------------------------------------


def guarded(work, seconds):
    """Run work() in a thread of its own, with what it prints caught, for at most about `seconds` of computing.

    Python code that doesn't end is stopped; a call that Python cannot interrupt is left behind in its thread.
    """
    session = Session()

    def target():
        with contextlib.suppress(Stopped):
            try:
                session.value = work()
            except Stopped:
                session.stopped = True
            except BaseException as error:
                session.error = error

    thread = threading.Thread(target=target, daemon=True)
    with _surroundings() as output:
        try:
            thread.start()
        except RuntimeError:  # no threads here (a browser's Python): then nothing can be interrupted
            target()
        else:
            _wait(thread, seconds, session)
        session.printed = output.text
    if session.error:
        raise session.error
    return session


def _wait(thread, seconds, session):
    start, busy = time.monotonic(), time.process_time()
    try:
        while thread.is_alive():
            thread.join(0.05)
            # A crowded machine makes no right answer slow, and a first `import torch` is no endless loop.
            patience = seconds + 30 if _importing(thread) else seconds
            if time.process_time() - busy > patience or time.monotonic() - start > 2 * patience:
                session.stopped = True
                _stop(thread)
                return
    except BaseException:  # the reader pressed stop
        _stop(thread)
        raise


def _importing(thread):
    frame = sys._current_frames().get(thread.ident)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _stop(thread, tries=40):
    """Throw Stopped into a thread, again where an `except:` swallowed it."""
    for _ in range(tries):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
        thread.join(0.05)
        if not thread.is_alive():
            return


class _Output(io.TextIOBase):
    """Keeps the first characters that are printed and drops the flood."""

    text, limit = "", 1000

    def write(self, text):
        text = str(text)
        self.text += text[: max(0, self.limit - len(self.text))]
        return len(text)

    def writable(self):
        return True


@contextlib.contextmanager
def _surroundings():
    """Put back afterwards what an answer may have changed for everyone: output, numpy's names, its random state."""
    output, names, random = _Output(), dict(vars(np)), np.random.get_state()
    limit = sys.getrecursionlimit()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield output
    finally:
        for name, value in names.items():
            if vars(np).get(name) is not value:  # names that an import added stay
                setattr(np, name, value)
        np.random.set_state(random)
        sys.setrecursionlimit(limit)
