"""check(name, answer): run the answer, compare, and say what its values show."""

import inspect
import os

import numpy as np

from . import compare, runner
from .diagnosis import diagnose, names
from .results import Missing, Raised
from .verdict import Verdict, named


def judge(exercise, answer, *, seed=None, seconds=5.0):
    """The Verdict on one answer to one exercise."""
    seed = _own_seed() if seed is None else seed
    if answer is None or answer is Ellipsis or answer is NotImplemented:
        return unanswered()
    inputs = exercise.inputs(seed)
    refusal = _uncallable(exercise, answer, next(iter(inputs.values())))
    if refusal:
        return refusal
    watch = runner.Watch()

    def one_round():
        return [runner.attempt(answer, args, exercise.result, watch) for args in inputs.values()]

    session = runner.guarded(lambda: (one_round(), one_round()), seconds)
    if session.stopped:
        watch.stopped = True
        stopped = f"Stopped after about {seconds:g} seconds."
        return Verdict("slow", "too slow, or endless", (stopped, *_printed(session)))
    first, second = session.value
    return _compare(exercise, answer, seed, seconds, first, second, _notes(session, watch.called, first, exercise))


def _own_seed():
    """The reader's own seed, or 0."""
    said = os.environ.get("MHA_SEED", "0")
    if not (said.isdecimal() and len(said) < 10):
        raise ValueError(f"MHA_SEED={said!r} must be a whole number from 0 to 999,999,999, such as 7")
    return int(said)


def unanswered(hint=""):
    """The verdict on a stub."""
    return Verdict("unanswered", "not answered yet", (hint,) if hint else ())


def _is_stub(answer):
    """Whether a function has no name in its body but its arguments."""
    code = getattr(answer, "__code__", None)
    return code is not None and not code.co_names and code.co_nlocals == code.co_argcount


def _uncallable(exercise, answer, args):
    """A verdict if the answer is no function of these arguments, else None."""
    if not callable(answer):
        found = f"Give check the function itself, {exercise.call}, not {type(answer).__name__} {_shown(answer):.60}."
        return Verdict("type", "not a function", (found,))
    try:
        signature = inspect.signature(answer)
    except Exception:  # some have none, and an odd object's own may fail
        return None
    try:
        signature.bind(*args)
    except TypeError:
        found = f"It will be called as {exercise.call}; yours takes {_shown(signature):.200}."
        return Verdict("type", "other arguments than asked for", (found,))
    return None


def _shown(value):
    """A value as Python shows it, where its own repr doesn't fail."""
    try:
        return str(value) if isinstance(value, inspect.Signature) else repr(value)
    except Exception:
        return "(it cannot be shown)"


def _notes(session, called, calls, exercise):
    """Lines that are added to any verdict: calls into mha, changed inputs, printing."""
    changed = sorted({exercise.arguments[i] for call in calls for i in call.changed})
    notes = {}
    if called:
        notes["calls mha"] = f"It calls {called[0]}: write that part yourself, with numpy alone."
    if changed:
        notes["changed input"] = f"It changes {', '.join(changed)} in place: whoever called it keeps the damage."
    if session.printed.strip():
        notes["printed"] = _printed(session)[0]
    return notes


def _printed(session):
    if not session.printed.strip():
        return ()
    text = " ".join(session.printed.split())
    return (f"It printed: {text[:80]}{' …' if len(text) > 80 else ''}",)


def _compare(exercise, answer, seed, seconds, first, second, notes):
    """The verdict on the outcomes of two rounds of calls."""
    found = [call.outcome for call in first]
    if all(isinstance(outcome, Missing) for outcome in found):
        forgot = found[0].what == "None" and not _is_stub(answer)
        return unanswered("The function returns None: is its return missing?" if forgot else "")
    for label, one, two in zip(exercise.inputs(seed), found, (call.outcome for call in second)):
        if not _repeats(one, two):
            lines = (f"Called twice with equal arguments ({label}), it gave two results.",)
            return Verdict("random", "differs from call to call", (*lines, *notes.values()))
    inputs = list(exercise.inputs(seed).items())
    expected = exercise.expected(seed)
    wrong = [i for i, (_, args) in enumerate(inputs) if not compare.meets(found[i], expected[i], args)]
    if not wrong:
        return _right(notes)
    entries = diagnose(exercise, seed, found, answer, any(call.emptied for call in first))
    if entries and entries[0].number:
        i = next((i for i in wrong if isinstance(found[i], tuple) and isinstance(expected[i], tuple)), wrong[0])
        note = entries[0].note if len(entries) == 1 else ""
        difference = _difference(exercise, inputs[i], found[i], expected[i])
        return named(names(entries), note, difference, notes.values())
    i = wrong[0]
    verdict = _unnamed(exercise, inputs[i], found[i], expected[i])
    if verdict.kind == "unknown":
        notes = {"law": entries[0].note if entries else _broken_law(exercise, answer, seed, seconds)} | notes
    lines = (*verdict.lines, *(note for note in notes.values() if note))
    kind = "changed input" if verdict.kind == "unknown" and "changed input" in notes else verdict.kind
    return Verdict(kind, verdict.title, lines)


def _right(notes):
    titles = {"calls mha": "it calls the package it should rebuild", "changed input": "changes its input"}
    for kind, title in titles.items():
        if kind in notes:
            return Verdict(kind, title, ("The values are right.", *notes.values()))
    return Verdict("correct", "correct", tuple(notes.values()))


def _repeats(one, two):
    if isinstance(one, Raised) and isinstance(two, Raised):
        return one.error.__qualname__ == two.error.__qualname__
    return type(one) is type(two) and (not isinstance(one, tuple) or compare.alike(one, two))


# ---- an answer that is wrong in no known way ------------------------------------------------


def _unnamed(exercise, probe, found, expected):
    """Verdict on the first probe that is wrong: raised, type, shape, or unknown with the first differing number."""
    where = f"With {_described(exercise, probe)}"
    if isinstance(expected, Raised):
        return _missing_error(where, probe[1], found, expected)
    if isinstance(found, Raised):
        lines = [f"{found.error.__name__}: {found.message}"]
        if found.line:
            lines.append(f"Your line {found.line}: {found.source}" if found.source else f"Your line {found.line}.")
        return Verdict("raised", f"raised {found.error.__name__}", (*lines, f"{where}."))
    if not isinstance(found, tuple):
        asked = " and ".join(f"({axes})" for axes in exercise.result) if any(exercise.result) else "one number"
        return Verdict("type", "wrong type", (f"{where} it returned {found.what}; expected: {asked}.",))
    for part, (mine, right) in enumerate(zip(found, expected)):
        if mine.shape != right.shape:
            return Verdict("shape", "wrong shape", (_shapes(exercise, part, mine.shape, right.shape), f"{where}."))
        if right.dtype == bool and not np.isin(mine, (0, 1)).all():
            return Verdict("type", "wrong type", (f"{where} it returned {mine.dtype}; booleans are asked for.",))
    return Verdict("unknown", "wrong, in no way that is listed", (_difference(exercise, probe, found, expected),))


def _missing_error(where, args, found, expected):
    asked = f"{where} it must raise {expected.error.__name__}, and the message must name the values."
    if isinstance(found, Raised):
        lacking = compare.lacks(found, args)
        if issubclass(found.error, expected.error):
            lacks = f"It doesn't name {', '.join(lacking)}."
            return Verdict("raised", "the error's message is incomplete", (asked, lacks))
        return Verdict("raised", f"raised {found.error.__name__}", (asked, f"{found.error.__name__}: {found.message}"))
    result = found[0].tolist() if isinstance(found, tuple) else found.what
    return Verdict("unknown", "no error where one is due", (asked, f"It returned {str(result)[:80]}."))


def _shapes(exercise, part, mine, right):
    """Which axis is not as expected."""
    axes = [name.strip() for name in exercise.result[part].split(",")] if exercise.result[part] else []
    asked = f"Expected {right}" + (f", that is ({exercise.result[part]})" if axes else ", one number")
    which = f"result {part + 1} has shape" if len(exercise.result) > 1 else "yours is"
    if len(mine) != len(right):
        return f"{asked}; {which} {mine}: {len(mine)} axes instead of {len(right)}."
    i = next(i for i, (a, b) in enumerate(zip(mine, right)) if a != b)
    return f"{asked}; {which} {mine}: axis {i} ({axes[i]}) has {mine[i]} entries instead of {right[i]}."


def _described(exercise, probe):
    """The probe as text: its label and the shape or value of each argument."""
    label, args = probe
    sizes = (f"{n} {a.shape}" if isinstance(a, np.ndarray) else f"{n}={a}" for n, a in zip(exercise.arguments, args))
    return f"{', '.join(sizes)} ({label})"


def _difference(exercise, probe, found, expected):
    """The first index at which an answer differs, and both values; '' where there is no such index."""
    if not isinstance(found, tuple) or not isinstance(expected, tuple):
        return ""
    for part, (mine, right) in enumerate(zip(found, expected)):
        if mine.shape != right.shape:
            return _shapes(exercise, part, mine.shape, right.shape)
        room = compare.tolerance(found, expected) * (np.abs(right[np.isfinite(right)]).max(initial=0) or 1.0)
        a, b = mine.astype(np.float64), right.astype(np.float64)
        with np.errstate(invalid="ignore"):
            same = (np.abs(a - b) <= room) | (a == b) | (np.isnan(a) & np.isnan(b))
        if not same.all():
            index = tuple(map(int, np.argwhere(~same)[0]))
            at = f"At index {list(index)}" if index else "There"
            which = f" of result {part + 1}" if len(found) > 1 else ""
            return (
                f"{at}{which} yours is {_number(mine[index])}, expected {_number(right[index])} "
                f"({same.size - same.sum()} of {same.size} differ), with {_described(exercise, probe)}."
            )
    return ""


def _number(x):
    return str(bool(x)) if x.dtype == bool else f"{x:d}" if x.dtype.kind in "iu" else f"{float(x):.4g}"


# ---- laws -----------------------------------------------------------------------------------


def _broken_law(exercise, answer, seed, seconds):
    """The first law that the answer breaks on some probe, as a sentence; '' if none is known."""

    def values(program, args):
        outcome = runner.attempt(program, args, exercise.result).outcome
        if not isinstance(outcome, tuple):
            raise ValueError("no values")
        return outcome

    def search():
        for args in exercise.inputs(seed).values():
            for text, law in (*exercise.laws, *_reactions(exercise, values)):
                try:
                    if not law(lambda *a: values(answer, a), args):
                        return f"A law is broken: {text}."
                except (ValueError, IndexError):
                    continue
        return ""

    session = runner.guarded(search, seconds)
    return session.value or ""


def _reactions(exercise, values):
    """One law for each array argument: where the reference reacts to a change of it, the answer must."""

    def law(i):
        def reacts(f, args):
            if not isinstance(args[i], np.ndarray) or args[i].dtype == bool:
                return True
            changed = [*args[:i], args[i] + np.linspace(1, 2, args[i].size).reshape(args[i].shape), *args[i + 1 :]]
            moved = not compare.alike(values(exercise.reference, changed), values(exercise.reference, args))
            return not moved or not compare.alike(f(*changed), f(*args))

        return reacts

    return [(f"the result doesn't depend on {name}", law(i)) for i, name in enumerate(exercise.arguments)]
