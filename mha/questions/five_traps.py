"""Questions on the five exam traps."""

from .. import cost
from .engine import ask, number


@ask("06_cost", see="06_cost#from-the-shapes-to-the-formula", trap=2, over={"d_model": (32, 64, 512), "h": (2, 4, 8)})
def parameters_of_a_layer(d_model, h):
    right = cost.parameters(d_model, h)
    return number(
        f"A multi-head layer has d_model = {d_model} and h = {h} heads of width d_model / h, and no biases. "
        "How many trained numbers does it have, W_O included?",
        right,
        wrong=[
            (
                cost.parameters(d_model, h, d_k=d_model, d_v=d_model),
                "Each head at full width",
                f"You counted {h} heads that are each {d_model} wide. The width is split: a head has d_model / h.",
            ),
            (
                3 * d_model**2,
                "W_O left out",
                "That is W_Q, W_K and W_V. The output projection W_O has as many numbers again as one of them.",
            ),
            (
                right // h,
                "Cost divided by the heads",
                "One head is that cheap in its own columns, but there are h of them: the total stays.",
            ),
        ],
        why="Four matrices of d_model × d_model; h only says how they are cut.",
    )
