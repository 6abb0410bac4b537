"""Quiz and Exam: the data that the page gets, and that it draws the exam that Python draws."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mha.questions import QUESTIONS, exam, one, option
from mha.questions.engine import Question
from mha.widgets import Exam, Quiz
from mha.widgets.quiz import marked_up, pack, still

HOSTILE = "<img src=x onerror=alert(1)> & `<b>`"


@pytest.fixture(scope="module")
def data():
    return pack(QUESTIONS)


def logged(folder, tail):
    """The lines that the widget's script logs with `tail` after it."""
    work = folder / "script.mjs"
    work.write_text(str(Exam(1)._esm) + tail, encoding="utf-8")
    deno = shutil.which("deno") or str(Path(sys.executable).with_name("deno"))
    done = subprocess.run([deno, "run", "--no-check", str(work)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_page_draws_the_exam_that_python_draws(tmp_path, data):
    seeds = [*range(300), 999_999_999, 2**31 % 10**9]
    tail = f"\nconst data = {json.dumps(data | {'a_trap': 3, 'in_all': 20})};\n" + (
        f"for (const seed of {seeds}) console.log(JSON.stringify("
        "drawn(data, seed).map(([q, variant, places]) => [q.name, variant, [...places]])));"
    )
    theirs = [json.loads(line) for line in logged(tmp_path, tail)]
    assert theirs == [[[d.question.name, d.variant, list(d.places)] for d in exam(seed)] for seed in seeds]


def test_one_seed_is_one_exam_however_the_address_writes_it(tmp_path):
    hashes = ["#seed=7", "#seed=007", "#seed=0", "#seed=-1", "#seed=1e3", "#seed=%E0%A4%A", "#seed=__proto__", "#"]
    tail = f"\nfor (const hash of {json.dumps(hashes)}) {{ globalThis.location = {{ hash }};" + (
        "console.log(JSON.stringify(Exam.prototype.inAddress.call({ static: true }))); }"
    )
    assert [json.loads(line) for line in logged(tmp_path, tail)] == ["7", "7", "0", "", "", "", "", ""]


def test_data_hold_every_variant_and_its_answer(data):
    assert data["version"] == 1 and json.loads(json.dumps(data)) == data
    for question, sent in zip(QUESTIONS, data["questions"], strict=True):
        assert sent["name"] == question.name and len(sent["asks"]) == len(question.variants)
        for asked, ask in zip(question.variants, sent["asks"], strict=True):
            assert ask["answer"] == asked.answer and sorted(ask["places"]) == list(range(len(asked.options)))
            for option_, of in zip(asked.options, ask["options"], strict=True):
                assert of["right"] == option_.right and of["text"] == option_.text
                assert option_.right or (of["name"] == option_.name and of["why"] == option_.why)


def test_right_option_stands_in_every_place(data):
    places = [
        ask["places"].index(next(i for i, o in enumerate(ask["options"]) if o["right"]))
        for q in data["questions"] if q["kind"] == "one" for ask in q["asks"]
    ]  # fmt: skip
    for place in range(3):
        assert places.count(place) > len(places) / 10


def test_every_link_has_its_words(data):
    for q in data["questions"]:
        assert q["see"] in data["places"]
        assert all(o["see"] in data["places"] for ask in q["asks"] for o in ask["options"] if "see" in o)


def test_text_is_escaped_in_the_still():
    asked = one(HOSTILE, option(HOSTILE, True), option("no", False, "name", "why"))
    assert "<img" not in still([asked]) and "<code>&lt;b&gt;</code>" in still([asked])
    assert marked_up("a `b` c") == "a <code>b</code> c"


def test_quiz_of_a_chapter_and_of_own_questions():
    quiz = Quiz("06_cost")
    assert {q["name"] for q in quiz.data["questions"]} == {q.name for q in QUESTIONS if q.chapter == "06_cost"}
    own = Question(
        "own", 0, "06_cost", "06_cost#remember", lambda: one("?", option("a", True), option("b", False, "n", "w"))
    )
    assert repr(Quiz(questions=[own])) == "Quiz(1 questions)"
    bundle = quiz._repr_mimebundle_()[0]
    assert bundle["text/html"] == quiz.still and bundle["text/plain"] == repr(quiz)


def test_wrong_chapter_and_wrong_questions_are_refused():
    with pytest.raises(ValueError, match="chapter='99_none'; there are for"):
        Quiz("99_none")
    with pytest.raises(TypeError, match="Question objects"):
        Quiz(questions=["what?"])


def test_exam_takes_its_seed_from_the_class(monkeypatch):
    monkeypatch.setenv("MHA_SEED", "77")
    assert Exam().data["seed"] == 77 and Exam(5).data["seed"] == 5
    for seed in (-1, 10**9, 1.5, True):
        with pytest.raises(ValueError, match="seed must be a whole number"):
            Exam(seed)
    monkeypatch.setenv("MHA_SEED", "class of 26")
    with pytest.raises(ValueError, match="MHA_SEED"):
        Exam()
