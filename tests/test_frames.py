"""`frames`: one mechanism, its budget, its errors; and every widget of the book over its whole grid."""

import itertools
import xml.etree.ElementTree as ET

import ipywidgets
import pytest
from chapters import WIDGET_NAMES, WIDGETS, widgets

from mha import pictures
from mha.checks import head_width
from mha.widgets import frames


def picture(**values):
    return pictures.svg(10, 10, f"shows {values}", pictures.text(0, 9, values))


def models(widget):
    """All distinct models below a widget."""
    found, todo = {}, [widget]
    while todo:
        model = todo.pop()
        if model.model_id not in found:
            found[model.model_id] = model
            todo += getattr(model, "children", ())
    return list(found.values())


def stack(widget):
    return widget.children[-1]


def shown(widget):
    """The HTML that the widget shows now."""
    model = stack(widget)
    while isinstance(model, ipywidgets.Stack):
        model = model.children[model.selected_index]
    return model.value


def test_every_model_is_a_core_ipywidget():
    for model in models(frames({"a": [1, 2], "b": [True, False]}, picture)):
        assert model._model_module == "@jupyter-widgets/controls"


def test_controls_choose_the_picture_of_their_values():
    controls = {"a": [1, 2, 3], "b": ["x", "y"], "c": [True, False]}
    widget = frames(controls, picture, start={"a": 2})
    inputs = dict(zip(controls, widget.children))
    assert shown(widget) == widget.still == picture(a=2, b="x", c=True)
    links = [m.link for m in models(widget) if isinstance(m, ipywidgets.Stack)]
    for values in itertools.product(*controls.values()):
        for name, value in zip(controls, values):
            inputs[name].value = value
        for link in links:  # what the browser does
            (source, from_), (target, to) = link.source, link.target
            setattr(target, to, getattr(source, from_))
        assert shown(widget) == picture(**dict(zip(controls, values)))


def test_impossible_state_shows_the_packages_own_error_escaped():
    def render(d_model, num_heads):
        head_width(d_model, num_heads, name="<d_model>")
        return picture(d_model=d_model)

    html = frames({"d_model": [10], "num_heads": [4]}, render).still
    assert "&lt;d_model&gt;=10 does not split into num_heads=4: 10 / 4 leaves 2 over" in html


def test_equal_pictures_and_equal_stacks_are_stored_once():
    widget = frames({"a": range(5), "b": range(7)}, lambda a, b: picture(b=b))
    assert sum(isinstance(m, ipywidgets.HTML) for m in models(widget)) == 7
    assert sum(isinstance(m, ipywidgets.Stack) for m in models(widget)) == 2
    layouts = {m.layout.model_id for m in models(stack(widget))}
    assert len(layouts) == 1


def test_repr_is_the_same_each_time():
    one, other = (frames({"a": [1, 2]}, picture) for _ in range(2))
    assert repr(one) == repr(other) == "frames(a=1|2; 2 states)"


def test_default_picture_stands_in_as_html():
    widget = frames({"a": [1, 2]}, picture)
    assert widget._repr_mimebundle_()["text/html"] == picture(a=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({}, picture), "controls={} is empty"),
        (({"a": []}, picture), "controls['a'] has no values"),
        (({"a": [1, 1]}, picture), "has a value twice"),
        (({"a": [1]}, picture, {"a": 2}), "start['a']=2 is not one of [1]"),
        (({"a": [1]}, picture, {"b": 2}), "start names 'b', but the controls are a"),
        (({"a": [1]}, lambda a: "<svg></svg>"), "without a <title>"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    controls, render, *start = arguments
    with pytest.raises(ValueError) as error:
        frames(controls, render, start=start[0] if start else None)
    assert words in str(error.value)


def test_picture_that_is_no_string_is_refused():
    with pytest.raises(TypeError, match="must return a string of HTML, not None"):
        frames({"a": [1]}, lambda a: None)


def test_budget_says_what_to_cut():
    with pytest.raises(ValueError, match=r"over the budget of 20 models.*cut values of b \(it has 30\)"):
        frames({"a": [1, 2], "b": range(30)}, picture, max_models=20)
    with pytest.raises(ValueError, match="and 500 bytes: cut values of b"):
        frames({"a": [1, 2], "b": range(30)}, picture, max_bytes=500)
    frames({"a": [1, 2], "b": range(30)}, picture)


@pytest.mark.slow  # runs the code of every chapter
@pytest.mark.parametrize(("path", "k"), WIDGETS, ids=WIDGET_NAMES)
def test_render_over_its_whole_grid(path, k):
    controls, render, _ = widgets(path)[k]
    drawn = 0
    for values in itertools.product(*controls.values()):
        try:
            html = render(**dict(zip(controls, values)))
        except ValueError as error:
            assert any(char.isdigit() for char in str(error))
            continue
        drawn += 1
        tree = ET.fromstring(f"<body>{html}</body>")
        for svg in tree.iter("{http://www.w3.org/2000/svg}svg"):
            assert len(svg.find("{http://www.w3.org/2000/svg}title").text) > 10
            assert float(svg.get("width")) <= 700
        assert "nan" not in html and "inf" not in html.replace("info", "")
    assert drawn


@pytest.mark.slow  # runs the code of every chapter
def test_every_notebook_widget_is_found():
    assert all(len(widgets(path)) > k for path, k in WIDGETS)
    assert len(WIDGETS) >= 5
