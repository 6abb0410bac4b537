"""Numbers print the same everywhere."""

import numpy as np
import pytest

from mha.printing import fixed, show


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(1 / 3, 2, "0.33"), (-0.001, 2, "0.00"), (-0.0, 1, "0.0"), (2, 0, "2"), (1e9, 1, "1000000000.0"), (None, 2, "–")],
)
def test_fixed(value, digits, text):
    assert fixed(value, digits) == text


def test_show_aligns_columns_and_parts_matrices(capsys):
    show(np.array([[[1.0, -20.0]], [[3.0, -0.001]]]), digits=1)
    assert capsys.readouterr().out == "  1.0 -20.0\n\n  3.0   0.0\n"
    show([0.25, 1])
    assert capsys.readouterr().out == "0.25 1.00\n"


@pytest.mark.parametrize("value", [0.125, 0.1250000001, -0.625])
def test_rounding_boundary_is_refused_where_tests_ask_for_it(monkeypatch, value):
    monkeypatch.setenv("MHA_STRICT_PRINT", "1")
    with pytest.raises(ValueError, match="rounds either way at 2 digits"):
        fixed(value, 2)
    assert fixed(0.126, 2) == "0.13"
    monkeypatch.delenv("MHA_STRICT_PRINT")
    assert fixed(value, 2)
