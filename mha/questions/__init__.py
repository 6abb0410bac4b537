"""The book's questions: every answer and every wrong option is computed by mha.

>>> from mha.questions import QUESTIONS, exam
>>> [q.name for q in QUESTIONS]
>>> exam(7)                    # the mock exam of seed 7: 20 questions, each a Drawn
"""

from . import (
    building,
    coding,
    exploring,
    masks,
    real,
    single,
    trained,
    transformers,
    trap_1_roles,
    trap_2_cost,
    trap_3_output,
    trap_4_divides,
    trap_5_narrow,
)
from .draw import Drawn, draw
from .engine import KINDS, TRAPS, Asked, Option, Question, ask, many, number, one, option, order, shape

__all__ = [
    "KINDS", "QUESTIONS", "TRAPS", "Asked", "Drawn", "Option", "Question",
    "ask", "draw", "exam", "many", "number", "one", "option", "order", "shape",
]  # fmt: skip

_TOPICS = (
    single,
    building,
    exploring,
    trained,
    real,
    masks,
    transformers,
    trap_1_roles,
    trap_2_cost,
    trap_3_output,
    trap_4_divides,
    trap_5_narrow,
    coding,
)
QUESTIONS = tuple(q for topic in _TOPICS for q in vars(topic).values() if isinstance(q, Question))


def exam(seed):
    """The mock exam of a seed: 20 questions, at least three on each trap, as a list of Drawn."""
    return draw(QUESTIONS, seed)
