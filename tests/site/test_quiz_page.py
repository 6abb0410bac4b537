"""The quizzes and the mock exam on the built site: marked as mha computed them, by mouse and by keyboard."""

import pytest
from playwright.sync_api import expect

from mha.questions import QUESTIONS, TRAPS, exam

EXAM = "book/14_mock_exam.html"
CHAPTERS = sorted({q.chapter for q in QUESTIONS})


def plain(text):
    return text.replace("`", "")


def answer(card, asked, wrong=None):
    """Answers a card rightly, or with the wrong option of that place among all options."""
    if asked.kind == "order":
        steps = [plain(o.text) for o in asked.options]
        for at, step in enumerate(steps):
            while card.locator("li span").all_text_contents()[at] != step:
                card.get_by_role("button", name=f"move up: {step}", exact=True).click()
        if wrong is not None:
            card.get_by_role("button", name=f"move down: {steps[wrong]}", exact=True).click()
    elif asked.kind in ("number", "shape"):
        option = next(o for o in asked.options if o.right) if wrong is None else asked.options[wrong]
        card.get_by_role("textbox").fill(option.text)
    else:
        for i, option in enumerate(asked.options):
            chosen = option.right if wrong is None else i == wrong
            field = (
                card.locator("label").filter(has=card.page.get_by_text(plain(option.text), exact=True)).locator("input")
            )
            field.set_checked(chosen) if asked.kind == "many" else chosen and field.check()


def cards(page):
    page.locator(".mha-q").first.wait_for()
    return page.locator(".mha-q").all()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_question_of_a_chapter_is_marked(open_page, chapter):
    page = open_page(f"book/{chapter}.html")
    asked = [q for q in QUESTIONS if q.chapter == chapter]
    shown = cards(page)
    assert len(shown) == len(asked)
    for card, question in zip(shown, asked, strict=True):
        first, button = question.variants[0], card.get_by_role("button", name="Check")
        said = card.get_by_role("status")
        assert plain(first.text) in card.locator("legend").text_content()
        wrong = [i for i, o in enumerate(first.options) if not o.right] or [rule[0] for rule in first.rules[:1]]
        for i in wrong:
            answer(card, first, wrong=i)
            button.click()
            expect(said).to_contain_text("✗ Not right.")
            if first.kind != "order":
                expect(said).to_contain_text(first.options[i].name)
                expect(said).to_contain_text(plain(first.options[i].why))
            assert said.get_by_role("link").last.get_attribute("href") == question.see.replace("#", ".html#")
            if first.kind == "many":
                for box in card.get_by_role("checkbox").all():
                    box.uncheck()
        answer(card, first)
        button.click()
        expect(said).to_contain_text("✓ Right.")
    expect(page.locator(".mha-q-progress summary")).to_have_text(
        f"Your progress: {len(asked)} of {len(asked)} right in this chapter"
    )
    assert page.faults == []


def test_links_lead_to_sections_that_exist(open_page):
    wanted = {q.see for q in QUESTIONS} | {o.see for q in QUESTIONS for a in q.variants for o in a.options if o.see}
    for chapter in sorted({see.split("#")[0] for see in wanted}):
        page = open_page(f"book/{chapter}.html")
        for see in sorted(wanted):
            if see.startswith(chapter):
                assert page.locator(f"[id='{see.split('#')[1]}']").count() == 1, see


def test_progress_is_kept_shown_and_cleared(open_page):
    page = open_page("book/06_cost.html")
    question = next(q for q in QUESTIONS if q.chapter == "06_cost")
    answer(cards(page)[0], question.variants[0])
    page.locator(".mha-q").first.get_by_role("button", name="Check").click()
    page.reload()
    cards(page)
    progress = page.locator(".mha-q-progress")
    expect(progress.locator("summary")).to_contain_text("Your progress: 1 of")
    progress.locator("summary").click()
    expect(progress).to_contain_text("chapter 6, cost: 1 of")
    progress.get_by_role("button", name="Clear my progress").click()
    expect(progress.locator("summary")).to_contain_text("Your progress: 0 of")
    page.reload()
    cards(page)
    expect(progress.locator("summary")).to_contain_text("Your progress: 0 of")


def test_unanswered_and_unreadable_are_asked_again(open_page):
    page = open_page("book/06_cost.html")
    for card, question in zip(cards(page), [q for q in QUESTIONS if q.chapter == "06_cost"], strict=True):
        if question.kind == "order":
            continue
        if question.kind in ("number", "shape"):
            card.get_by_role("textbox").fill("<img src=x onerror=alert(1)>")
        card.get_by_role("button", name="Check").click()
        expect(card.get_by_role("status")).to_contain_text(
            ("Choose first", "Type a")[question.kind in ("number", "shape")]
        )
    assert page.faults == []


def test_by_keyboard_alone(open_page):
    page = open_page("book/06_cost.html")
    number = next(i for i, q in enumerate(QUESTIONS) if q.chapter == "06_cost" and q.kind == "number")
    place = [i for i, q in enumerate(QUESTIONS) if q.chapter == "06_cost"].index(number)
    card = cards(page)[place]
    card.get_by_role("textbox").focus()
    page.keyboard.type(next(o for o in QUESTIONS[number].variants[0].options if o.right).text.replace(",", ""))
    page.keyboard.press("Enter")
    expect(card.get_by_role("status")).to_contain_text("✓ Right.")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_link_with_the_seed_gives_the_exam_that_python_draws(open_page, width):
    page = open_page(f"{EXAM}#seed=2026", viewport={"width": width, "height": 844})
    shown = cards(page)
    assert len(shown) == 20
    right = {trap: [0, 0] for trap in TRAPS}
    for i, (card, drawn) in enumerate(zip(shown, exam(2026), strict=True)):
        asked = drawn.asked
        assert card.locator("legend").text_content() == f"{i + 1}. {plain(asked.text)}"
        wrong = next((k for k, o in enumerate(asked.options) if not o.right), 0) if i % 3 == 0 else None
        answer(card, asked, wrong=wrong)
        card.get_by_role("button", name="Reveal").click()
        expect(card.get_by_role("status")).to_contain_text("✓ Right." if wrong is None else "✗ Not right.")
        expect(card.get_by_role("status")).to_contain_text("The answer: " + plain(asked.answer))
        right[drawn.question.trap][0] += wrong is None
        right[drawn.question.trap][1] += 1
    result = page.locator(".mha-q-result")
    expect(result).to_contain_text(f"{sum(r for r, _ in right.values())} of 20 right.")
    for trap, (good, asked_) in right.items():
        if asked_:
            expect(result.get_by_role("row").filter(has_text=TRAPS[trap])).to_contain_text(f"{good} of {asked_}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.faults == []


@pytest.mark.parametrize("seed", ["-1", "1e3", "9999999999", "<b>", ""])
def test_an_unusable_seed_falls_back(open_page, seed):
    page = open_page(f"{EXAM}#seed={seed}")
    cards(page)
    assert page.get_by_label("seed").input_value() == "1"
    page.get_by_label("seed").fill(seed)
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".mha-q-about")).to_contain_text("The seed must be a whole number from 0 to 999,999,999")
    assert len(cards(page)) == 20


def test_seed_clock_and_finish(open_page):
    page = open_page(EXAM)
    cards(page)
    page.get_by_label("seed").fill("7")
    page.get_by_role("button", name="Draw").click()
    expect(page.locator(".mha-q legend").first).to_have_text(f"1. {plain(exam(7)[0].asked.text)}")
    assert page.url.endswith("#seed=7")
    page.get_by_role("button", name="Hide the time").click()
    expect(page.get_by_role("timer")).to_be_hidden()
    page.get_by_role("button", name="Another exam").click()
    expect(page.locator(".mha-q-about")).not_to_contain_text("Exam 7:")
    page.get_by_role("button", name="Finish").click()
    expect(page.locator(".mha-q-result")).to_contain_text("0 of 20 right.")
    assert page.locator(".mha-q-result a").count() > 3
    assert page.locator(".mha-q-result").evaluate("e => e === document.activeElement")


def test_on_paper_the_answers_stand_at_the_end(open_page):
    page = open_page("book/06_cost.html")
    cards(page)
    expect(page.locator(".mha-q-answers")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(".mha-q-answers")).to_be_visible()
    expect(page.locator(".mha-q button").first).to_be_hidden()
