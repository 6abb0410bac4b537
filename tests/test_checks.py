"""Arguments are looked at before they are used: what passes, and what each refusal says."""

import fractions

import numpy as np
import pytest
from plain import assert_refused

from mha import checks

REFUSED = {
    "float size": (lambda: checks.size("seq", 3.0), TypeError, ["seq", "3.0"]),
    "text size": (lambda: checks.size("seq", "3"), TypeError, ["seq", "'3'"]),
    "bool size": (lambda: checks.size("seq", True), TypeError, ["seq", "True"]),
    "numpy bool size": (lambda: checks.size("seq", np.True_), TypeError, ["seq", "True"]),
    "no size": (lambda: checks.size("seq", None), TypeError, ["seq", "None"]),
    "size 0": (lambda: checks.size("seq", 0), ValueError, ["seq=0", "1"]),
    "size below least": (lambda: checks.size("seq", -1, least=0), ValueError, ["seq=-1", "0"]),
    "width": (lambda: checks.head_width(10, 4), ValueError, ["d_model=10", "num_heads=4", "leaves 2 over"]),
    "no heads": (lambda: checks.head_width(10, 0), ValueError, ["num_heads=0"]),
    "text scale": (lambda: checks.real("scale", "1"), TypeError, ["scale", "'1'"]),
    "bool scale": (lambda: checks.real("scale", True), TypeError, ["scale", "True"]),
    "complex scale": (lambda: checks.real("scale", 1j), TypeError, ["scale", "1j"]),
    "two scales": (lambda: checks.real("scale", np.ones(2)), TypeError, ["scale", "[1., 1.]"]),
    "nan scale": (lambda: checks.real("scale", np.nan), ValueError, ["scale=nan"]),
    "endless scale": (lambda: checks.real("scale", -np.inf), ValueError, ["scale=-inf"]),
    "scale beyond floats": (lambda: checks.real("scale", 10**400), ValueError, ["scale=1000", "finite"]),
    "ragged": (lambda: checks.array("q", [[1, 2], [3]]), ValueError, ["q is not a rectangular array"]),
    "complex": (lambda: checks.array("q", [1j]), TypeError, ["q", "complex128"]),
    "object": (lambda: checks.array("q", [None]), TypeError, ["q", "object"]),
    "text": (lambda: checks.array("q", ["a"]), TypeError, ["q", "<U1"]),
    "dates": (lambda: checks.array("q", np.array(["2017-06-12"], "M8[D]")), TypeError, ["q", "datetime64"]),
    "few axes": (lambda: checks.array("q", [1.0, 2.0], axes=2), ValueError, ["q", "2 axes", "(2,)"]),
    "shapes": (lambda: checks.broadcast(q=(2,), k=(3,)), ValueError, ["leading axes", "q (2,)", "k (3,)"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_argument_and_value(case):
    assert_refused(*REFUSED[case])


def test_a_size_becomes_a_plain_int():
    sizes = [checks.size("n", 3), checks.size("n", np.uint8(3)), checks.size("n", -3, least=None)]
    assert sizes == [3, 3, -3]
    assert {type(n) for n in sizes} == {int}


def test_head_width():
    assert checks.head_width(15, 3) == 5


def test_a_real_becomes_a_plain_float():
    found = [checks.real("scale", x) for x in (2, np.float32(2), np.array(2), fractions.Fraction(2))]
    assert found == [2.0] * 4
    assert {type(x) for x in found} == {float}


def test_an_array_is_never_copied():
    x = np.arange(6.0).reshape(2, 3)
    assert checks.array("x", x) is x
    assert checks.floats("x", x) is x
    assert checks.working(x)[0][0] is x


@pytest.mark.parametrize("given", [bool, np.int8, np.uint64])
def test_whole_numbers_become_float64(given):
    assert checks.floats("x", np.ones(2, given)).dtype == np.float64


def test_floats_keep_their_dtype():
    for dtype in (np.float16, np.float32, np.float64):
        assert checks.floats("x", np.ones(2, dtype)).dtype == dtype


def test_float16_works_in_float32_and_none_stays_none():
    (x, nothing), dtype = checks.working(np.ones(2, np.float16), None)
    assert (x.dtype, nothing, dtype) == (np.float32, None, np.float16)


def test_the_widest_dtype_is_the_result():
    (x, _), dtype = checks.working(np.ones(2, np.float16), np.ones(2, np.float64))
    assert x.dtype == dtype == np.float64


def test_leading_axes_join_as_in_numpy():
    assert checks.broadcast(q=(2, 1), k=(3,), v=()) == (2, 3)


def test_a_finite_mask_stays_finite_in_a_narrower_dtype():
    found = checks.mask_array(np.array([-1e300, -np.inf, 2.0]), np.float32)
    np.testing.assert_array_equal(found, np.array([np.finfo(np.float32).min, -np.inf, 2], np.float32))
    assert found.dtype == np.float32
