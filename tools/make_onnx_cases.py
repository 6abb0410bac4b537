"""Writes tests/data/conformance/onnx*: ONNX's own test cases for its operator Attention, as mha.conformance reads them.

Needs onnx: `pip install onnx`, then `python tools/make_onnx_cases.py`. The cases come from the generator that the
package carries, which seeds numpy for each; the expected values from its reference implementation.
Which cases are left out, and why, is decided in `reason`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import helper
from onnx.backend.test.case.node import collect_testcases

TARGET = Path(__file__).parents[1] / "tests" / "data" / "conformance"
ABOUT = {
    "project": "ONNX",
    "source": "onnx/backend/test/case/node/attention.py",
    "version": f"onnx {onnx.__version__} on PyPI",
    "url": "https://github.com/onnx/onnx",
    "licence": "Apache-2.0",
    "copyright": "Copyright (c) ONNX Project Contributors",
    "taken": "tools/make_onnx_cases.py",
}
EXERCISES = {
    "float32": "heads packed or not, grouped heads, values of another width, a scale, boolean and added masks of 1 to "
    "4 axes, causal, windows, padded and cached keys, queries that see no key",
    "float16": "the same in half precision, where ONNX rounds after every step",
}
OUTPUTS = [
    "the outputs present_key, present_value, and qk_matmul_output unless it holds weights",
    "joined caches and scores on the way, which scaled_dot_product_attention does not return",
]


def reason(arrays, options):
    """Why a case is left out, or None."""
    if options.get("softcap"):
        return "softcap bends the scores before the mask; not part of this book's attention"
    if arrays["Q"].dtype.name == "bfloat16":
        return "numpy has no bfloat16"
    return None


def found():
    """(test case, arrays given, options, arrays expected) of every case of Attention."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other operators' cases overflow on purpose
        cases = collect_testcases(None)
    for case in cases:
        node = case.model.graph.node[0]
        if node.op_type == "Attention" and "expanded" not in case.name:
            given, expected = case.data_sets[0]
            options = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            yield case, named(node.input, given), options, named(node.output, expected)


def named(names, arrays):
    return dict(zip([name for name in names if name], arrays))


def write(dtype, cases):
    """One suite: its JSON, and its arrays once each in an .npz."""
    arrays, made, left_out = {}, [], {}

    def stored(array):
        known = (name for name, a in arrays.items() if a.dtype == array.dtype and np.array_equal(a, array))
        name = next(known, f"a{len(arrays)}")
        arrays[name] = array
        return name

    for case, given, options, expected in cases:
        if why := reason(given, options):
            left_out.setdefault(why, []).append(case.name)
            continue
        outputs = {"Y": stored(expected["Y"])}
        if options.get("qk_matmul_output_mode") == 3:
            outputs["weights"] = stored(expected["qk_matmul_output"])
        mode = {n: v for n, v in options.items() if n not in ("qk_matmul_output_mode", "softmax_precision")}
        arguments = {n: stored(a) for n, a in given.items()} | mode
        made.append({"name": case.name, "call": "onnx", "given": arguments, "expected": outputs})
    about = ABOUT | {"exercises": EXERCISES[dtype], "rtol": cases[0][0].rtol, "atol": cases[0][0].atol}
    about["left_out"] = [[", ".join(names), why] for why, names in left_out.items()] + [OUTPUTS]
    head = "".join(f" {json.dumps(n)}: {json.dumps(v)},\n" for n, v in about.items())
    lines = ",\n".join(f"  {json.dumps(case)}" for case in made)
    target = TARGET / ("onnx.json" if dtype == "float32" else f"onnx_{dtype}.json")
    target.write_text(f'{{\n{head} "cases": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    np.savez_compressed(target.with_suffix(".npz"), **arrays)
    print(f"{target.name}: {len(made)} cases, {len(arrays)} arrays, left out {sum(map(len, left_out.values()))}")


if __name__ == "__main__":
    every = list(found())
    write("float16", [c for c in every if c[1]["Q"].dtype == np.float16])
    write("float32", [c for c in every if c[1]["Q"].dtype != np.float16])
