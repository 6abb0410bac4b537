"""`frames`: sliders that choose among pictures, made of core ipywidgets alone."""

import itertools
import json
import math

import ipywidgets
from ipywidgets import jslink

from .. import pictures
from .controls import checked, label_of, numeric

MAX_MODELS = 800
MAX_BYTES = 600_000


class Frames(ipywidgets.VBox):
    """Controls over one picture a state. `still` is the first state's picture, as HTML."""

    def __init__(self, controls, picture, still, name):
        super().__init__([*controls, picture])
        self.still = still
        self.name = name
        self.add_class("mha-frames")

    def __repr__(self):
        return self.name

    def _repr_mimebundle_(self, **kwargs):
        # The picture stands in where no widget can be drawn: GitHub, print, a page without scripts.
        return super()._repr_mimebundle_(**kwargs) | {"text/html": self.still}


def frames(controls, render, *, start=None, labels=None, max_models=MAX_MODELS, max_bytes=MAX_BYTES):
    """A widget that shows render(**values) for the values its controls are set to.

    Parameters
    ----------
    controls : {name: values}; numbers become a slider, anything else buttons; booleans read off and on
    render : function of the control names -> HTML with an inline SVG that has a <title>
        A ValueError that it raises is a state too: its message is shown.
    start : {name: value} shown first; a name left out starts at its first value
    labels : {name: text beside the control}; a name left out is its own label
    max_models, max_bytes : the budget of the page that carries all states

    Returns the widget; it is alive in JupyterLab and, without a kernel, on the site.

    Raises ValueError if a control has no values, a start is not among them, a picture has no text
    alternative, or the budget does not hold (saying what to cut).
    """
    controls, start = checked(controls, start)
    states = math.prod(len(values) for values in controls.values())
    if states > 4 * max_models:
        raise ValueError(f"{states} states are far over the budget of {max_models} models: {_cut(controls)}")

    drawn = {}
    for values in itertools.product(*controls.values()):
        drawn[values] = _draw(render, dict(zip(controls, values)))

    # One Layout and one Style serve all, and equal pictures (and equal stacks of them) are one model.
    layout, style = ipywidgets.Layout(), ipywidgets.HTML().style
    shown = {html: ipywidgets.HTML(html, layout=layout, style=style) for html in dict.fromkeys(drawn.values())}
    inputs = {
        name: _control(name, values, start[name], (labels or {}).get(name, name)) for name, values in controls.items()
    }

    # The longest control is innermost: that makes the fewest stacks.
    order = sorted(controls, key=lambda name: len(controls[name]))
    stacks = {}

    def nest(chosen, rest):
        if not rest:
            return shown[drawn[tuple(chosen[name] for name in controls)]]
        name, *inner = rest
        children = tuple(nest({**chosen, name: value}, inner) for value in controls[name])
        key = (name, *(child.model_id for child in children))
        if key not in stacks:
            index = controls[name].index(start[name])
            stacks[key] = ipywidgets.Stack(children, selected_index=index, layout=layout)
            stacks[key].link = jslink((inputs[name], "index"), (stacks[key], "selected_index"))
        return stacks[key]

    picture = nest({}, order)
    first = drawn[tuple(start[name] for name in controls)]
    models = [*shown.values(), *stacks.values(), *(stack.link for stack in stacks.values())]
    size = sum(len(json.dumps(model.get_state(drop_defaults=True), default=str).encode()) for model in models)
    if len(models) > max_models or size > max_bytes:
        raise ValueError(
            f"{len(models)} models and {size} bytes are over the budget of {max_models} models "
            f"and {max_bytes} bytes: {_cut(controls)}; the largest picture has {max(map(len, shown))} characters"
        )
    ranges = ", ".join(f"{name}={'|'.join(str(v) for v in values)}" for name, values in controls.items())
    return Frames(inputs.values(), picture, first, f"frames({ranges}; {states} states)")


def _draw(render, values):
    try:
        html = render(**values)
    except ValueError as error:
        return pictures.error(error)
    if not isinstance(html, str):
        raise TypeError(f"render({values}) must return a string of HTML, not {html!r}")
    if html.count("<svg") > html.count("<title>"):
        raise ValueError(f"render({values}) draws an <svg> without a <title>: say in words what it shows")
    return html


def _control(name, values, start, label):
    options = [(label_of(v), v) for v in values]
    kind = ipywidgets.SelectionSlider if numeric(values) and len(values) > 1 else ipywidgets.ToggleButtons
    return kind(options=options, value=start, description=label, style={"description_width": "initial"})


def _cut(controls):
    longest = max(controls, key=lambda name: len(controls[name]))
    return f"cut values of {longest} (it has {len(controls[longest])}) or drop a control"
