"""Questions as data: what is asked, the right answer, and the misconception behind every wrong one.

A question is a function of its parameters that computes one variant of it through `mha`:

>>> @ask("06_cost", see="06_cost#from-the-shapes-to-the-formula", trap=2, over={"d_model": (32, 64), "h": (2, 4)})
... def parameters_of_a_layer(d_model, h):
...     return number("…", cost.parameters(d_model, h), wrong=[(..., "Each head at full width", "why it is wrong")])

Text may hold `code` between backticks; everything else is shown as it stands.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

KINDS = ("one", "many", "number", "shape", "order")
TRAPS = {
    1: "Heads have no assigned roles",
    2: "The width is split, the compute is not multiplied",
    3: "W_O is required",
    4: "h divides d_model",
    5: "More heads are narrower views, not more capacity",
    0: "Formula and shapes",
}


@dataclass(frozen=True)
class Option:
    """One answer: an option to choose, or a value that may be typed.

    name : the misconception of one who gives it; why : what is said then
    see : "chapter#section" that settles it, the question's own if empty
    value : number or shape to compare with what is typed; within : how far off may still count
    """

    text: str
    right: bool
    name: str = ""
    why: str = ""
    see: str = ""
    value: object = None
    within: float = 0.0

    def __post_init__(self):
        if not self.right and not (self.name and self.why):
            raise ValueError(f"the wrong option {self.text!r} needs a name and a why")


@dataclass(frozen=True)
class Asked:
    """One variant of a question. For "order", options are the steps in the right order, and
    rules (first, second, name, why) say which misconception puts second before first."""

    kind: str
    text: str
    options: tuple
    rules: tuple = ()

    def __post_init__(self):
        right, texts = sum(o.right for o in self.options), [o.text for o in self.options]
        if len(set(texts)) < len(texts):
            raise ValueError(f"{self.text!r} has an option twice: {texts}")
        wants = {"one": right == 1, "many": 0 < right < len(texts), "order": right == len(texts)}
        if not wants.get(self.kind, right == 1):
            raise ValueError(f"{self.text!r} has {right} right options of {len(texts)}, which is no {self.kind!r}")

    @property
    def answer(self):
        """The right answer in words."""
        return (", then " if self.kind == "order" else "; ").join(o.text for o in self.options if o.right)


@dataclass(frozen=True)
class Question:
    """name; trap 1 to 5, or 0; chapter it is asked in; see: "chapter#section" that settles it;
    make(**parameters) -> Asked; over: {parameter: values}; where: which combinations are asked."""

    name: str
    trap: int
    chapter: str
    see: str
    make: Callable
    over: dict = field(default_factory=dict)
    where: Callable = lambda **_: True

    @cached_property
    def variants(self):
        """Every variant, computed: a tuple of Asked."""
        rows = (dict(zip(self.over, values, strict=True)) for values in itertools.product(*self.over.values()))
        return tuple(self.make(**row) for row in rows if self.where(**row))

    @property
    def kind(self):
        return self.variants[0].kind


def ask(chapter, *, see, trap=0, over=None, where=lambda **_: True):
    """Makes a Question of a function of its parameters; its name is the function's."""
    return lambda make: Question(make.__name__.replace("_", "-"), trap, chapter, see, make, over or {}, where)


def option(text, right, name="", why="", see=""):
    """An option of one or many choices. `right` is computed; name and why are for when it is wrong."""
    right = bool(right)
    return Option(text, right, "" if right else name, why, see)


def one(text, *options):
    """One of the options is right."""
    return Asked("one", text, options)


def many(text, *options):
    """Some of the options are right."""
    return Asked("many", text, options)


def number(text, right, wrong, *, why="", digits=None):
    """A number to type. wrong : [(value, misconception, why)]; digits : decimals asked for, None for whole numbers."""
    within = 0.0 if digits is None else 0.5001 * 10.0**-digits

    def shown(value):
        return f"{value:,}" if digits is None else f"{value:.{digits}f}"

    options = [Option(shown(right), True, why=why, value=right, within=within)]
    for value, name, because in wrong:
        if abs(value - right) <= 2 * within:
            raise ValueError(f"{text!r}: the wrong {value} ({name}) is as good as the right {right}")
        options.append(Option(shown(value), False, name, because, value=value, within=within))
    return Asked("number", text, tuple(options))


def shape(text, right, wrong, *, why=""):
    """A shape to type, as (2, 4, 10, 8). wrong : [(shape, misconception, why)]."""
    options = [Option(str(tuple(right)), True, why=why, value=list(right))]
    options += [Option(str(tuple(s)), False, name, because, value=list(s)) for s, name, because in wrong]
    return Asked("shape", text, tuple(options))


def order(text, steps, rules):
    """Steps to put in order, given in the right one. rules : (first, second, misconception, why), first goes before."""
    steps = list(steps)
    places = [(steps.index(a), steps.index(b), name, why) for a, b, name, why in rules]
    if any(a >= b for a, b, *_ in places):
        raise ValueError(f"{text!r}: a rule goes against the order {steps}")
    return Asked("order", text, tuple(Option(s, True) for s in steps), tuple(places))
