"""Toy sentences, embeddings and layers: fixed numbers, and clear errors."""

import numpy as np
import pytest

from mha import examples


def test_tokens_are_words_and_marks():
    assert examples.tokens("It's fast, isn’t it?") == ["It's", "fast", ",", "isn’t", "it", "?"]
    assert examples.tokens("Čeština 中文") == ["Čeština", "中文"]


@pytest.mark.parametrize("sentence", ["", "  \n"])
def test_sentence_without_a_word_is_refused(sentence):
    with pytest.raises(ValueError, match="has no word"):
        examples.tokens(sentence)


def test_sentence_must_be_a_string():
    with pytest.raises(TypeError, match=r"sentence must be a string, not \['a'\]"):
        examples.tokens(["a"])


def test_embedding_is_the_same_on_every_machine():
    x = examples.embed(["dog", "ball"], 5)
    np.testing.assert_allclose(x, EMBEDDED, rtol=0, atol=1e-12)


def test_a_word_keeps_its_vector_and_a_place_adds_its_own():
    one, other = examples.embed(["dog", "Ball"], 7), examples.embed(["ball", "dog"], 7)
    np.testing.assert_allclose(one[0] + one[1], other[0] + other[1])
    assert not np.allclose(one[1], other[0])


def test_embedding_of_nothing_has_no_rows():
    assert examples.embed([], 7).shape == (0, 7)


def test_embedding_has_variance_1_and_a_quarter():
    x = examples.embed([f"word{i}" for i in range(400)], 31)
    assert x.mean() == pytest.approx(0, abs=0.05)
    assert x.var() == pytest.approx(1.25, abs=0.05)


@pytest.mark.parametrize("tokens", ["dog", [1, 2]])
def test_tokens_must_be_a_list_of_strings(tokens):
    with pytest.raises(TypeError, match="tokens must be a list of strings"):
        examples.embed(tokens, 4)


def test_number_of_heads_only_cuts_the_same_matrices():
    one, many = examples.layer(24, 1), examples.layer(24, 6)
    for name in ("W_q", "W_k", "W_v", "W_o"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
    assert (one.d_k, many.d_k) == (24, 4)


def test_layer_refuses_what_does_not_divide():
    with pytest.raises(ValueError, match="d_model=24 does not split into num_heads=5"):
        examples.layer(24, 5)


@pytest.mark.parametrize("sentence", examples.SENTENCES)
def test_sentences_fit_a_screen(sentence):
    assert 3 <= len(examples.tokens(sentence)) <= 12


EMBEDDED = [
    [0.018577961618, -0.999417218415, -1.555481048705, 0.868631045187, -0.123345191567],
    [0.487812050991, -0.477284741020, -0.901700950728, -1.247767858317, 1.215061750722],
]
