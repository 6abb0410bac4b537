"""Which questions an exam asks: drawn by a seed, the same here and in quiz.js."""

from dataclasses import dataclass

from .engine import Asked, Question

MULTIPLIER, MODULUS = 48271, 2**31 - 1  # Park and Miller's minimal standard generator, in its authors' 1993 revision

A_TRAP, IN_ALL = 3, 20  # questions of an exam on each trap, and together


@dataclass(frozen=True)
class Drawn:
    """One question of an exam: which variant, and in which order its options stand."""

    question: Question
    variant: int
    places: tuple

    @property
    def asked(self) -> Asked:
        return self.question.variants[self.variant]


def generator(seed):
    """below(n) -> the next whole number from 0 to n - 1."""
    state = seed % (MODULUS - 1) + 1

    def below(n):
        nonlocal state
        state = state * MULTIPLIER % MODULUS
        return state * n // MODULUS

    for _ in range(8):  # neighbouring seeds begin alike
        below(1)
    return below


def shuffled(items, below):
    """A new order of items (Fisher and Yates)."""
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        j = below(i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def draw(questions, seed, *, a_trap=A_TRAP, in_all=IN_ALL):
    """The exam of a seed: a_trap questions of each of the five traps, the rest from all that are left.

    Raises ValueError if seed is no whole number from 0 to 999,999,999, or if questions are too few.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 10**9:
        raise ValueError(f"seed must be a whole number from 0 to 999,999,999, not {seed!r}")
    below = generator(seed)
    chosen = []
    for trap in range(1, 6):
        pool = shuffled([i for i, q in enumerate(questions) if q.trap == trap], below)
        chosen += pool[:a_trap]
    rest = shuffled([i for i in range(len(questions)) if i not in chosen], below)
    chosen = shuffled(chosen + rest[: in_all - len(chosen)], below)
    if len(chosen) < in_all:
        raise ValueError(f"an exam of {in_all} questions cannot be drawn from {len(questions)}")
    drawn = []
    for i in chosen:
        variant = below(len(questions[i].variants))
        places = shuffled(range(len(questions[i].variants[variant].options)), below)
        drawn.append(Drawn(questions[i], variant, tuple(places)))
    return drawn
