"""The same numbers as other projects' test suites: each case within its own tolerance, and a wrong number is seen."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from mha import conformance
from mha.conformance import CALLS, read, rounded_up, run, share, suites

FOLDER = Path(__file__).parent / "data" / "conformance"
SUITES = suites(FOLDER)
CASES = [(suite, case) for suite in SUITES for case in suite.cases]
by_suite = pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.name)
by_case = pytest.mark.parametrize("case", [c for _, c in CASES], ids=[f"{s.name}-{c.name}" for s, c in CASES])
LICENCES = {"Apache-2.0": "Apache License 2.0", "MIT": "MIT License", "BSD-3-Clause": "BSD 3-Clause License"}


@by_case
def test_a_case_of_another_project(case):
    assert share(case) <= 1


@by_case
def test_one_wrong_number_is_seen(case):
    """So that the test above can fail: every expected array, moved by twice its tolerance in one place."""
    for name, expected in case.expected.items():
        wrong = expected.astype(np.float64)
        wrong.flat[-1] += 2 * (case.atol + case.rtol * abs(wrong.flat[-1])) + 1e-12
        assert share(dataclasses.replace(case, expected=case.expected | {name: wrong})) > 1


@by_suite
def test_a_suite_says_where_it_comes_from(suite):
    for field in ("project", "source", "version", "url", "copyright", "exercises", "taken"):
        assert suite.about[field], field
    texts = (FOLDER / "LICENSES.txt").read_text(encoding="utf-8")
    heading = next(line for line in texts.splitlines() if line.endswith(LICENCES[suite.about["licence"]]))
    assert f"{suite.name}." in heading and suite.about["project"] in (FOLDER.parents[2] / "NOTICE").read_text()
    names = [case.name for case in suite.cases]
    assert len(names) == len(set(names)) and all(len(entry) == 2 for entry in suite.about["left_out"])


@by_suite
def test_what_the_page_prints_does_not_hang_on_a_rounding(suite):
    """A share that single precision moves must not lie near a bound between two words."""
    worst = max(share(case) for case in suite.cases)
    exact = suite.about.get("dtype") == "float64"
    for bound in conformance.BOUNDS:
        assert abs(worst / bound - 1) > (1e-6 if exact else 0.02), f"{worst} is near {bound}"


def test_the_cases_are_many_and_varied():
    assert len(CASES) > 130 and len({suite.about["project"] for suite in SUITES}) >= 6
    assert {case.call for _, case in CASES} == set(CALLS)
    dtypes = {a.dtype.name for _, case in CASES for a in case.given.values() if isinstance(a, np.ndarray)}
    assert {"float16", "float32", "float64", "bool"} <= dtypes
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 400_000


@pytest.mark.parametrize("name", ["onnx", "onnx_float16"])
def test_forbidden_queries_are_among_the_cases(name):
    """ONNX gives 0 to a query that sees no key, as this book does: some case must hold one."""
    suite = next(suite for suite in SUITES if suite.name == name)
    assert any((case.expected["Y"] == 0).all(axis=-1).any() for case in suite.cases)


def test_nan_and_another_shape_are_infinitely_far():
    case = CASES[0][1]
    name, expected = next(iter(case.expected.items()))
    other = dataclasses.replace(case, expected={name: expected[..., :1]})
    assert share(other) == np.inf
    nan = dataclasses.replace(case, call="attention", expected={"output": np.zeros((1, 1))})
    nan = dataclasses.replace(nan, given={"q": np.ones((1, 1)), "k": np.ones((1, 1)), "v": np.full((1, 1), np.nan)})
    assert share(nan) == np.inf


def test_a_nan_that_is_expected_is_no_agreement():
    case = CASES[0][1]
    name, expected = next(iter(case.expected.items()))
    assert share(dataclasses.replace(case, expected={name: expected * np.nan})) == np.inf


def test_a_folder_without_suites_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no suite"):
        suites(tmp_path)


@pytest.mark.parametrize("text", ["", '{"cases": [', "[1]", "null", "{}", '{"cases": [{}]}', '{"cases": 3}', "\xff"])
def test_a_damaged_suite_is_named(tmp_path, text):
    (tmp_path / "other.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"other\.json is (cut short or altered|no suite)"):
        suites(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK no archive"])
def test_damaged_values_are_named(tmp_path, content):
    (tmp_path / "other.json").write_text('{"cases": []}', encoding="utf-8")
    (tmp_path / "other.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.npz is no \.npz file"):
        suites(tmp_path)


def test_values_are_named_or_written_and_take_the_suites_dtype(tmp_path):
    about = {"rtol": 0.0, "atol": 1e-3, "dtype": "float32", "values": {"k": [[1.0, 0.0]]}}
    given = {"q": [[2.0, 0.0]], "k": "k", "v": "long", "mask": [[True]]}
    case = {"name": "one key", "call": "attention", "atol": 1e-6, "given": given, "expected": {"output": "long"}}
    file = tmp_path / "small.json"
    file.write_text(json.dumps(about | {"cases": [case]}), encoding="utf-8")
    np.savez(tmp_path / "small.npz", long=np.array([[7.0]], np.float32))
    (found,) = read(file).cases
    assert (found.given["k"].dtype, found.given["mask"].dtype, found.atol) == (np.float32, bool, 1e-6)
    assert share(found) == 0 and [name for name, *_ in run(found)] == ["output"]


@pytest.mark.parametrize(
    "share, words",
    [(0, "under 1/20"), (0.05, "under 1/20"), (0.2, "under 1/4"), (0.9, "under 1"), (1.1, "more than all")],
)
def test_a_share_in_words(share, words):
    assert rounded_up(share) == words
    assert rounded_up(np.inf) == rounded_up(np.nan) == "more than all"
