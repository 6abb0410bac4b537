"""Run a student's function and come back: with numbers, an error, or the news that it does not end.

It keeps a notebook whole (no output flood, no exit, no endless loop in Python code); it is no sandbox.
"""

import builtins
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

from .results import Missing, Raised, freeze

_CORE = Path(__file__).parent.parent
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))


class Stopped(BaseException):
    """Thrown into an answer that takes too long."""


@dataclass(frozen=True)
class Call:
    """One call: a tuple of arrays, or Missing, Odd, Raised; which arguments it changed; whether an array ran empty."""

    outcome: object
    changed: tuple = ()
    emptied: bool = False


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
    stopped: bool = False  # no further call shall start
    trusted: bool = False  # may call mha

    def __call__(self, frame, event, _):
        """For sys.setprofile."""
        if event == "call" and not self.trusted:
            module = str(frame.f_globals.get("__name__"))
            if (module == "mha" or module.startswith("mha.")) and frame.f_code.co_filename != __file__:
                self.called.append(f"{module}.{frame.f_code.co_name}")
        elif event == "return" and not self.emptied and _is_own(frame.f_code.co_filename):
            self.emptied = _holds_empty(frame)


def attempt(answer, args, result=("",), watch=None):
    """Call answer(*args) on copies of args; every result and every error becomes a Call.

    `result` names the arrays expected, as in Exercise.
    """
    if watch and watch.stopped:
        raise Stopped
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        with np.errstate(all="ignore"):
            value = _watched(answer, given, watch)
            outcome = freeze(value, result)
    except Stopped:
        raise
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the answer's own making too
        todo = type(error) is NotImplementedError
        outcome = Missing("NotImplementedError") if todo else _raised(error, bool(watch and watch.emptied))
    changed = tuple(i for i, (a, b) in enumerate(zip(args, given)) if isinstance(a, np.ndarray) and _differs(a, b))
    return Call(outcome, changed, bool(watch and watch.emptied))


def _watched(answer, given, watch):
    """answer(*given) under a Watch. The checker's own programs may call mha."""
    if watch is None:
        return answer(*given)
    before, watch.emptied = sys.getprofile(), False
    watch.trusted = str(getattr(answer, "__module__", "")).startswith("mha.traps")
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
        message = str(error)[:2000]
    except BaseException:
        message = "(its message cannot be read)"
    own = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_own(frame.f_code.co_filename)]
    if not own:
        return Raised(type(error), message)
    frame, line = own[-1]
    source = linecache.getline(frame.f_code.co_filename, line).strip()
    return Raised(type(error), message, line, source, emptied or any(_holds_empty(frame) for frame, _ in own[-20:]))


@functools.cache
def _is_own(file):
    """Whether a file is the student's: no library, not the package."""
    return file != __file__ and Path(file).parent != _CORE and not file.startswith((*_LIBRARIES, "<frozen", "<__array"))


def _holds_empty(frame):
    """Whether a name of this frame is an array (of any library) without numbers."""
    with contextlib.suppress(Exception):
        return any(0 in shape for shape in map(_shape, frame.f_locals.values()))
    return False


def _shape(value):
    shape = getattr(value, "shape", ())
    return shape if isinstance(shape, tuple) else ()


class Witness(np.ndarray):
    """An argument that notes what it was combined with, in products and other ufuncs, when that failed."""

    noted = None  # the list that a failure is noted in

    def __array_finalize__(self, parent):
        self.noted = getattr(parent, "noted", None)

    def __array_ufunc__(self, ufunc, method, *inputs, **more):
        plain = [np.asarray(a) if isinstance(a, np.ndarray) else a for a in inputs]
        try:
            return getattr(ufunc, method)(*plain, **more)
        except Exception:
            self.noted[:] = plain
            raise


def operands(answer, args, seconds=5.0):
    """The arrays that met in the product (or other ufunc) that failed, if one of them was an argument; or []."""
    noted = []

    def watched(a):
        if not isinstance(a, np.ndarray):
            return a
        witness = a.copy().view(Witness)
        witness.noted = noted
        return witness

    guarded(lambda: attempt(lambda *given: answer(*map(watched, given)), args), seconds)
    return tuple(np.array(a) for a in noted if isinstance(a, np.ndarray))


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


def _stop(thread, tries=20):
    """Throw Stopped into a thread, again where an `except:` swallowed it; at last leave it behind."""
    for _ in range(tries):
        _throw(thread.ident, ctypes.py_object(Stopped))
        thread.join(0.05)
        if not thread.is_alive():
            break
    else:
        _throw(thread.ident, None)
    # CPython 3.11 keeps a note of a throw that nobody caught, and then no profiled call ever starts: catch one.
    with contextlib.suppress(Stopped):
        _throw(threading.get_ident(), ctypes.py_object(Stopped))
        for _ in range(10**6):
            pass


def _throw(thread_id, exception):
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), exception)


class _Output(io.TextIOBase):
    """Keeps the first characters that are printed and drops the flood."""

    text, limit = "", 1000

    def write(self, text):
        if len(self.text) < self.limit:
            self.text += text[: self.limit - len(self.text)]
        return len(text)

    def writable(self):
        return True


@contextlib.contextmanager
def _surroundings():
    """Put back afterwards what an answer may have changed for everyone: output, numpy's names, its random state."""
    output, names, random = _Output(), dict(vars(np)), np.random.get_state()
    limit, ask = sys.getrecursionlimit(), builtins.input
    builtins.input = _no_input
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
        builtins.input = ask


def _no_input(*_):
    raise RuntimeError("a checked answer cannot ask for input")
