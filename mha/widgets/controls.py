"""Controls as every widget takes them: {name: values}, and where each starts."""


def checked(controls, start):
    """({name: list of values}, {name: first value shown}); a name left out of start takes its first value.

    Raises ValueError if a control has no values or one twice, or start names no control or value.
    """
    controls = {name: list(values) for name, values in controls.items()}
    if not controls:
        raise ValueError("controls={} is empty: name at least one control and its values")
    for name, values in controls.items():
        if not values:
            raise ValueError(f"controls[{name!r}] has no values")
        if len(set(map(repr, values))) < len(values):
            raise ValueError(f"controls[{name!r}]={values} has a value twice")
    for name, value in (start or {}).items():
        if name not in controls:
            raise ValueError(f"start names {name!r}, but the controls are {', '.join(controls)}")
        if value not in controls[name]:
            raise ValueError(f"start[{name!r}]={value!r} is not one of {controls[name]}")
    return controls, {name: (start or {}).get(name, values[0]) for name, values in controls.items()}


def label_of(value):
    """A control's value as a reader sees it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def numeric(values):
    """True if all values are numbers, so that a slider can run over them."""
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
