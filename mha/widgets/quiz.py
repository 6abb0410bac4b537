"""`Quiz` and `Exam`: questions that mha computed; quiz.js shows them, marks, and remembers."""

import html
import os
import re

import anywidget
import traitlets

from ..questions import QUESTIONS, TRAPS, Question, exam
from ..questions.draw import A_TRAP, IN_ALL, generator, shuffled
from .scripts import HERE, script

VERSION = 1  # of the data format that `pack` describes


def pack(questions):
    """The questions as plain data, format version 1.

    {"version", "traps": {number: name}, "titles": {chapter: its title}, "places": {see: words for the link},
    "chapters": {chapter: [names of its questions]} of the whole book, "questions": [...]}. A question is
    {"name", "trap", "chapter", "see", "kind", "asks": one for each variant}; an ask is {"text", "answer",
    "places": the options' order, "options": [{"text", "right", "name", "why", "see", "value", "within"}],
    "rules": [[first, second, name, why]]}.
    """
    chapters = {}
    for question in QUESTIONS:
        chapters.setdefault(question.chapter, []).append(question.name)
    seen = {q.see for q in questions} | {o.see for q in questions for a in q.variants for o in a.options if o.see}
    named = sorted({see.partition("#")[0] for see in seen} | set(chapters))
    return {
        "version": VERSION,
        "traps": {str(number): name for number, name in TRAPS.items()},
        "titles": {chapter: title(chapter) for chapter in named},
        "places": {see: f"{title(see.partition('#')[0])}: {see.partition('#')[2].replace('-', ' ')}" for see in seen},
        "chapters": dict(sorted(chapters.items())),
        "questions": [
            {key: getattr(q, key) for key in ("name", "trap", "chapter", "see", "kind")}
            | {"asks": [packed(q, i, asked) for i, asked in enumerate(q.variants)]}
            for q in questions
        ],
    }


def packed(question, i, asked):
    """One variant; the order of its options is drawn from the question's name and the variant's number."""
    below = generator(sum(question.name.encode()) + 1000 * i)
    options = [
        {key: value for key, value in vars(option).items() if value not in ("", None)} for option in asked.options
    ]
    return {
        "text": asked.text,
        "answer": asked.answer,
        "places": shuffled(range(len(options)), below),
        "options": options,
        "rules": [list(rule) for rule in asked.rules],
    }


def title(chapter):
    """How a chapter's file is called in a sentence: "03_projections" is "chapter 3, projections"."""
    number, _, words = chapter.partition("_")
    return f"chapter {int(number)}, {words.replace('_', ' ')}"


def marked_up(text):
    """Text with `code` as HTML, everything else escaped."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def still(asks):
    """Questions, then answers: for a page without scripts."""
    rows, answers = [], []
    for asked in asks:
        options = "".join(f"<li>{marked_up(o.text)}</li>" for o in sorted(asked.options, key=lambda o: o.text))
        shown = f"<ul>{options}</ul>" if asked.kind not in ("number", "shape") else ""
        rows.append(f"<li>{marked_up(asked.text)}{shown}</li>")
        answers.append(f"<li>{marked_up(asked.answer)}</li>")
    folded = f"<details><summary>Answers</summary><ol>{''.join(answers)}</ol></details>"
    return f"<ol>{''.join(rows)}</ol>{folded}"


class Questions(anywidget.AnyWidget):
    """What Quiz and Exam share."""

    _esm = script("elements.js", "quiz.js", "exam.js")
    _css = (HERE / "quiz.css").read_text(encoding="utf-8")
    data = traitlets.Dict().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)  # questions and answers as HTML, for a page without scripts

    def _repr_mimebundle_(self, **kwargs):
        found = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = found if isinstance(found, tuple) else (found, {})
        return bundle | {"text/plain": repr(self), "text/html": self.still}, metadata


class Quiz(Questions):
    """The questions of a chapter.

    Parameters
    ----------
    chapter : the chapter's file without its ending, as "03_projections"
    questions : instead of the book's own, an iterable of Question

    Raises ValueError if the chapter has no questions.
    """

    def __init__(self, chapter="", *, questions=None):
        found = [q for q in QUESTIONS if q.chapter == chapter] if questions is None else list(questions)
        if not found:
            raise ValueError(
                f"no questions for chapter={chapter!r}; there are for {sorted({q.chapter for q in QUESTIONS})}"
            )
        if not all(isinstance(q, Question) for q in found):
            raise TypeError("questions must be Question objects, as mha.questions.ask makes them")
        super().__init__(data=pack(found), still=still([q.variants[0] for q in found]))

    def __repr__(self):
        return f"Quiz({len(self.data['questions'])} questions)"


class Exam(Questions):
    """The mock exam: 20 questions drawn by a seed that the reader can change.

    Parameters
    ----------
    seed : of the first exam; None is the environment variable MHA_SEED, or 1

    Raises ValueError if seed is no whole number from 0 to 999,999,999.
    """

    def __init__(self, seed=None):
        if seed is None:
            said = os.environ.get("MHA_SEED", "1")
            if not (said.isdecimal() and len(said) < 10):
                raise ValueError(f"MHA_SEED={said!r} must be a whole number from 0 to 999,999,999, such as 7")
            seed = int(said)
        first = [drawn.asked for drawn in exam(seed)]
        super().__init__(
            data=pack(QUESTIONS) | {"exam": True, "seed": seed, "a_trap": A_TRAP, "in_all": IN_ALL}, still=still(first)
        )

    def __repr__(self):
        return f"Exam(seed={self.data['seed']}; {IN_ALL} of {len(self.data['questions'])} questions)"
