"""`Explorer`: attention maps to look at closely. Python computes each number and message, explorer.js draws."""

import base64
import itertools
import json
import math
from dataclasses import dataclass, field

import anywidget
import numpy as np
import traitlets

from .. import cost, examples, pictures
from ..attention import causal_mask
from ..checks import head_width
from .controls import checked, label_of, numeric
from .scripts import HERE, script

VERSION = 1  # of the data format that `pack` describes
MOST_WORDS = 16
FULL_WEIGHT = 65535


@dataclass(frozen=True)
class View:
    """What the Explorer shows in one state.

    weights : (heads, q_len, kv_len), rows that sum to 1; queries, keys : their tokens
    heads : a name for each head; note : what to say of each head ("d_k = 8")
    blocks : matrices in the order of the formula, each (name, rows, columns, bands, across, sign before it);
        bands = widths in the heads' colours, across=True cuts columns
    counts : (what, number, "same" or "grows"), whether it stays put as heads are added
    error : the package's message where the state is impossible; weights are then left out
    """

    weights: np.ndarray | None = None
    queries: tuple = ()
    keys: tuple = ()
    heads: tuple = ()
    note: str = ""
    blocks: tuple = ()
    counts: tuple = ()
    error: str = ""


def toy_view(sentence, d_model, h, causal):
    """The View of a toy layer on a sentence, through `MultiHeadAttention.trace`."""
    words = examples.tokens(sentence)
    try:
        d_k = head_width(d_model, h)
    except ValueError as error:
        width = d_model // h
        return View(error=str(error), queries=words, blocks=blocks(len(words), d_model, h, width))
    mask = causal_mask(len(words)) if causal else None
    trace = examples.layer(d_model, h).trace(examples.embed(words, d_model), mask=mask)
    return View(
        weights=trace.weights,
        queries=words,
        keys=words,
        heads=tuple(f"Head {i + 1} of {h}" for i in range(h)),
        note=f"d_k = {d_k}",
        blocks=blocks(len(words), d_model, h, d_k),
        counts=counts(len(words), d_model, h),
    )


def blocks(n, d_model, h, d_k):
    """The matrices of the formula, cut for h heads of width d_k."""
    bands = [d_k] * h
    return (
        ("X", n, d_model, [], True, ""),
        ("W_Q, W_K, W_V", d_model, d_model, bands, True, "·"),
        ("Q, K, V", n, d_model, bands, True, "="),
        ("Concat", n, d_model, bands, True, "→"),
        ("W_O", d_model, d_model, bands, False, "·"),
        ("output", n, d_model, [], True, "="),
    )


def counts(n, d_model, h):
    """What the layer costs, beside h heads of full width."""
    full = {"d_k": d_model, "d_v": d_model}
    return (
        ("parameters", cost.parameters(d_model, h), "same"),
        ("multiply-adds", cost.multiply_adds(n, n, d_model, h), "same"),
        ("softmax entries", cost.softmax_entries(n, n, h), "grows"),
        ("parameters, h full-width heads", cost.parameters(d_model, h, **full), "grows"),
        ("multiply-adds, h full-width heads", cost.multiply_adds(n, n, d_model, h, **full), "grows"),
    )


def spoken(view, column):
    """Templates of what a token is said to do: where a query looks, or who looks at a key."""
    head = f"{{head}}{', ' + view.note if view.note else ''}"
    if column:
        return f"{head}: “{{key}}” is looked at most by “{{query}}”, {{weight}}."
    return f"{head}: “{{query}}” looks most at “{{key}}”, {{weight}}."


def quantised(weights):
    """Weights as uint16, 65535 = 1, so that two decimals of each are those of the weight itself."""
    coarse = np.round(weights * FULL_WEIGHT).astype(int)
    for index in np.argwhere(np.round(coarse / FULL_WEIGHT, 2) != np.round(weights, 2)):
        i = tuple(index)
        coarse[i] += 1 if weights[i] > coarse[i] / FULL_WEIGHT else -1
    return np.clip(coarse, 0, FULL_WEIGHT).astype("<u2")


def base64_of(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


@dataclass
class Pool:
    """Equal values stored once; a state holds their places."""

    values: list = field(default_factory=list)
    places: dict = field(default_factory=dict)

    def place(self, value):
        key = json.dumps(value)
        if key not in self.places:
            self.places[key] = len(self.values)
            self.values.append(value)
        return self.places[key]


def pack(controls, trace, repair=None):
    """All states of an Explorer as plain data, format version 1:

    {version, full, colours, controls: [{name, labels, kind}], pool: [values], states: [state]}

    States are in the order of itertools.product over the controls. A state has places in the pool for
    queries, keys, heads, blocks, counts and say = [row template, column template]; shape (heads, q_len, kv_len);
    weights, base64 of little-endian uint16, `full` = 1; most, base64 of uint8: for each head the key each
    query looks at most, then the query that looks at each key most. Or error and near, [[control, value], ...]:
    the nearest values of the control `repair` that work. A reader ignores keys that it does not know.
    """
    pool, views = Pool(), {}
    for values in itertools.product(*controls.values()):
        views[values] = view_of(trace, dict(zip(controls, values)))
    states = [packed(view, pool, near(controls, views, values, repair)) for values, view in views.items()]
    described = [{"name": n, "labels": [label_of(v) for v in vs], "kind": kind(vs)} for n, vs in controls.items()]
    return {
        "version": VERSION,
        "full": FULL_WEIGHT,
        "colours": pictures.HEAD_COLOURS,
        "controls": described,
        "pool": pool.values,
        "states": states,
    }


def view_of(trace, values):
    """trace(**values); the message of a ValueError is a View too."""
    try:
        view = trace(**values)
    except ValueError as error:
        return View(error=str(error))
    if not isinstance(view, View):
        raise TypeError(f"trace({values}) must return a View, not {view!r}")
    return view


def packed(view, pool, near):
    state = {name: pool.place(list(getattr(view, name))) for name in ("queries", "keys", "heads", "blocks")}
    state["counts"] = pool.place([(what, f"{number:,}", how) for what, number, how in view.counts])
    if view.error:
        return state | {"error": view.error, "near": near}
    weights = np.asarray(view.weights, dtype=float)
    if weights.shape != (len(view.heads), len(view.queries), len(view.keys)):
        raise ValueError(
            f"weights {weights.shape} need axes (heads, q_len, kv_len) = "
            f"{(len(view.heads), len(view.queries), len(view.keys))}"
        )
    most = np.concatenate([weights.argmax(2), weights.argmax(1)], axis=1).astype(np.uint8)
    say = pool.place([spoken(view, column=False), spoken(view, column=True)])
    numbers = {"weights": base64_of(quantised(weights)), "most": base64_of(most)}
    return state | numbers | {"shape": weights.shape, "say": say}


def near(controls, views, values, repair):
    """Places of the nearest smaller and larger value of the control `repair` that is possible."""
    if repair is None or not views[values].error:
        return []
    axis = list(controls).index(repair)
    here = controls[repair].index(values[axis])
    works = [i for i, v in enumerate(controls[repair]) if not views[(*values[:axis], v, *values[axis + 1 :])].error]
    lower, upper = [i for i in works if i < here][-1:], [i for i in works if i > here][:1]
    return [[axis, i] for i in lower + upper]


def kind(values):
    """How a control is drawn: "check" for off and on, "slider" for numbers, "choice" else."""
    if list(values) == [False, True]:
        return "check"
    return "slider" if numeric(values) else "choice"


class Explorer(anywidget.AnyWidget):
    """Attention maps under controls, alive without a kernel.

    Parameters
    ----------
    controls : {name: values}, as in `frames`; [False, True] is a check box
    trace : function of the control names -> View; a ValueError is a state: its message is shown
    start : {name: value} shown first; a name left out starts at its first value
    token : place of the token chosen first; -1 is none
    name : prefix of this Explorer's part of the address, where a page has several
    parts : what is shown of "blocks", "heads", "map", "counts"
    repair : the control whose nearest working values are offered where a state is impossible
    own : the control that takes the reader's own sentence, where a kernel runs

    Raises ValueError if a control has no values or start is not among them.
    """

    _esm = script("elements.js", "page.js", "maps.js", "explorer.js")
    _css = (HERE / "explorer.css").read_text(encoding="utf-8")
    data = traitlets.Dict().tag(sync=True)
    place = traitlets.List().tag(sync=True)  # of each control's value
    token = traitlets.Int(-1).tag(sync=True)  # chosen first; -1: none
    name = traitlets.Unicode().tag(sync=True)
    parts = traitlets.List().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)  # the first state as HTML, for a page without scripts
    reply = traitlets.Dict().tag(sync=True)  # the kernel's answer to the page

    def __init__(
        self,
        controls,
        trace,
        *,
        start=None,
        token=-1,
        name="",
        parts=("blocks", "heads", "map", "counts"),
        repair=None,
        own=None,
    ):
        self._controls, first = checked(controls, start)
        self._trace, self._own, self._repair = trace, own, repair
        place = [values.index(first[key]) for key, values in self._controls.items()]
        data = pack(self._controls, trace, repair)
        picture = still(view_of(trace, first))
        super().__init__(data=data, place=place, token=token, name=name, parts=list(parts), still=picture)
        self.on_msg(lambda _, content, __: self._answer(content))

    def __repr__(self):
        states = math.prod(len(values) for values in self._controls.values())
        return f"Explorer({', '.join(self._controls)}; {states} states)"

    def _repr_mimebundle_(self, **kwargs):
        found = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = found if isinstance(found, tuple) else (found, {})
        return bundle | {"text/plain": repr(self), "text/html": self.still}, metadata

    def _answer(self, content):
        """The page asks if a kernel runs, or hands over the reader's own sentence."""
        if content.get("ask") == "kernel":
            self.reply = {"kernel": True, "own": self._own or "", "most_words": MOST_WORDS}
        elif content.get("ask") == "sentence" and self._own:
            self.reply = {"kernel": True, "own": self._own} | self._with_sentence(content.get("sentence"))

    def _with_sentence(self, sentence):
        """The message of what is wrong with a sentence, or its states added to the data."""
        try:
            words = examples.tokens(sentence)
            if len(words) > MOST_WORDS:
                raise ValueError(f"The sentence has {len(words)} words and marks: at most {MOST_WORDS} fit.")
            if max(map(len, words)) > 20:
                raise ValueError("A word has more than 20 letters: it would not fit its cell.")
            shown = " ".join(sentence.split())
            known = self._controls[self._own]
            if shown not in known:
                known.append(shown)
                self.data = pack(self._controls, self._trace, self._repair)
            return {"message": "", "place": known.index(shown)}
        except (TypeError, ValueError) as error:
            return {"message": str(error)}


def still(view):
    """A View as a picture that needs no script: its heads' maps, or the error."""
    if view.error:
        return pictures.error(view.error)
    maps = (
        pictures.heat_map(
            w, view.queries, view.keys, title=f"{name}, {view.note}".strip(", "), colour=pictures.head_colour(i)
        )
        for i, (name, w) in enumerate(zip(view.heads[:4], view.weights))
    )
    numbers = "; ".join(f"{what}: {number:,}" for what, number, _ in view.counts)
    return pictures.side_by_side(*maps) + (pictures.caption(numbers) if numbers else "")


def toy_explorer(*, start=None, **options):
    """The Explorer on the toy sentences: sentence, d_model, h and causal mask."""
    controls = {
        "sentence": list(examples.SENTENCES),
        "d_model": [16, 32, 48],
        "h": [1, 2, 3, 4, 6, 8],
        "causal": [False, True],
    }
    first = {"d_model": 32, "h": 4} | (start or {})
    options = {"token": 6} | options  # "it" of the first sentence
    return Explorer(controls, toy_view, start=first, repair="h", own="sentence", **options)
