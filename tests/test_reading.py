"""What helps the reader along: numbered equations, the glossary, heads' colours, minutes, what comes next."""

import colorsys
import re
import sys

import pytest
from chapters import BOOK, NOTEBOOKS, code_cells, notebook

sys.path.insert(0, str(BOOK / "_ext"))
import next_page
import words

from mha.pictures import HEAD_COLOURS

PAGES = [*NOTEBOOKS, *sorted(BOOK.glob("*.md"))]
CHAPTERS = [path for path in NOTEBOOKS if re.match(r"\d\d_", path.name)]
by_page = pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
by_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
GROUNDS = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#14181e", "#222832", "#29313d")}  # the theme's


def text(path):
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(cell.source for cell in notebook(path).cells if cell.cell_type == "markdown")


def prose(path):
    """What _ext/words.py looks at: no headings, code, formulas, links, margin notes or folded answers."""
    found = re.sub(r"^(`{3,}).*?^\1`*$|^#.*?$", "", text(path), flags=re.S | re.M)
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\[[^]]*\]\([^)]*\)", " ", found, flags=re.S)


def rgb(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def contrast(a, b):
    """WCAG 2.2 contrast of two colours, #rrggbb."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


# ---- equations ----

TAG = re.compile(r"\\tag\{(\d+)\.(\d+)\}")
REFERENCE = re.compile(r"\[(?:equation )?(\d+)\.(\d+)\]\(([\w.]*)#eq-(\d+)-(\d+)\)")


@by_chapter
def test_equations_are_numbered_by_chapter_from_1(path):
    tags = [(int(a), int(b)) for a, b in TAG.findall(text(path))]
    assert tags == [(int(path.name[:2]), i) for i in range(1, len(tags) + 1)]


@by_page
def test_a_reference_leads_to_the_equation_that_it_names(path):
    found = REFERENCE.findall(text(path))
    assert len(found) == len(re.findall(r"#eq-|\{eq\}", text(path)))
    assert not re.search(r"(?<!\[)\bequation [1-9]\d?\.\d", text(path)), "make a link of it"
    for chapter, number, file, *place in found:
        assert [chapter, number] == place
        assert f"\\tag{{{chapter}.{number}}}" in text(BOOK / file if file else path), f"{path.name} names none"


def test_the_key_equations_are_referred_to():
    named = {(a, b) for path in PAGES for a, b, *_ in REFERENCE.findall(text(path))}
    assert named >= {("1", "1"), ("3", "1"), ("4", "1"), ("5", "1"), ("6", "1"), ("10", "1")}


# ---- the glossary ----

ENTRIES = re.findall(r"^## (.*)\n\n(.*)", (BOOK / "glossary.md").read_text(encoding="utf-8"), re.M)
TERMS = tuple(term for term, _ in ENTRIES)
# Bold words that stress or name something of their own page, and define no term.
STRESSED = """
row sum beside friend position content share sharpness ahead behind boss receives live stored she he both right
arrivals agreement column may not front one and live controls view roles sizes mixing suite case tolerance form unmasks
| batch, token, head, dim | query → key | key → query | both right | column effect | may not |
a weight is not an effect |
the dimension is split, the computation is not multiplied | time is not exactly constant in $h$ |
all keys and all values | shapes alone | exercise | output
"""
NAMES = {w.strip() for w in STRESSED.split("|")} | set(STRESSED.split())
OTHERWISE = {
    "boolean": "mask",
    "float": "mask",
    "float mask": "mask",
    "causal": "causal mask",
    "packed": "packed matrix",
}
OTHERWISE |= {"grouped-query attention": "grouped heads", "cache": "KV cache"}


def test_glossary_is_in_order_and_each_entry_leads_to_its_place():
    assert list(TERMS) == sorted(TERMS, key=lambda t: t.lower().replace("_", ""))
    for term, says in ENTRIES:
        assert re.search(r"See \[[^]]*\]\([\w.#-]+\)( and \[[^]]*\]\([\w.#-]+\))?\.$", says), term
    assert set(words.FORMS) <= set(TERMS)


@by_chapter
def test_a_term_that_a_chapter_defines_in_bold_is_in_the_glossary(path):
    known = {t.lower() for t in TERMS}
    for bold in re.findall(r"\*\*([^*\n]+[^*\n.:])\*\*", text(path)):
        term = bold.lower()
        if term[:1] == bold[:1] and "$" not in bold and term not in NAMES:
            assert {term, term.removesuffix("s"), OTHERWISE.get(term, "").lower()} & known, f"{path.name}: {bold}"


def test_every_entry_is_used():
    seen = set()
    for path in PAGES:
        if f"book/{path.stem}" not in words.NOT_ON:
            words.first_uses(prose(path), TERMS, seen)
    assert set(TERMS) - seen == {term for term, form in words.FORMS.items() if not form}


def test_first_uses_of_a_text():
    terms = ("head", "multi-head attention", "scale", "value", "Transformer")
    uses = words.first_uses("Heads to scale. Multi-head attention, its heads, and transformers.", terms, set())
    assert uses == [(0, 5, "head"), (16, 36, "multi-head attention")]
    assert words.first_uses("subheads and head-on", terms, set()) == []


# ---- a head's colour ----

CSS = (BOOK / "assets/book.css").read_text(encoding="utf-8")
COLOURED = re.compile(r"\\textcolor\{(#\w+)\}\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")


@by_page
def test_formulas_have_the_colours_of_the_pictures(path):
    for colour, what in COLOURED.findall(text(path)):
        head = HEAD_COLOURS.index(colour) + 1
        named = re.findall(r"head\}?_(\d)|\bW_[QKV]\^(\d)|W_\{O,(\d)\}|head (\d)", what)
        assert {int("".join(n)) for n in named} <= {head}, what


def test_chapters_3_to_5_colour_their_heads():
    for name in ("03_projections", "04_heads", "05_concat_and_output"):
        assert {c for c, _ in COLOURED.findall(text(BOOK / f"{name}.ipynb"))} >= set(HEAD_COLOURS[:2]), name


@pytest.mark.parametrize("theme", GROUNDS)
@pytest.mark.parametrize("i", range(1, 9))
def test_a_heads_ink_is_its_colour_and_can_be_read(i, theme):
    """The same hue as mha.pictures has, 4.5:1 on every ground of the theme."""
    assert re.findall(rf"--head-{i}: (#\w+);", CSS) == [HEAD_COLOURS[i - 1]]
    ink = re.findall(rf"--head-{i}-ink: (#\w+);", CSS)[("light", "dark").index(theme)]
    assert min(contrast(ink, ground) for ground in GROUNDS[theme]) >= 4.5
    hues = [colorsys.rgb_to_hls(*rgb(colour))[0] for colour in (ink, HEAD_COLOURS[i - 1])]
    assert abs(hues[0] - hues[1]) < 0.02


# ---- minutes, and what comes next ----

TIME = re.compile(r"\*\*Time\*\* about (\d+) minutes")


def minutes(path):
    """An estimate: 180 words of prose a minute, 100 of code; 2 for a prediction, a task or an exercise that counts."""
    whole, cells = text(path), notebook(path).cells
    exercises = "without the exercises" not in whole
    counted = [c for c in cells if exercises or not re.match("ex-|exercises|questions", c.id)]
    read = sum(len(c.source.split()) for c in counted if c.cell_type == "markdown") / 180
    read += sum(len(c.source.split()) for c in counted if c.cell_type == "code") / 100
    tried = sum(c.source.count("frames({") for c in code_cells(path)) + len(re.findall(r"\*\*Task \d", whole))
    return read + 2 * (tried + exercises * whole.count("### Exercise"))


@by_chapter
def test_a_chapters_minutes_are_about_right(path):
    said = int(TIME.search(text(path))[1])
    if "Exam(" not in "".join(c.source for c in code_cells(path)):
        assert 1 / 1.4 <= said / minutes(path) <= 1.4, f"{path.name}: {said} said, {minutes(path):.0f} estimated"


def test_the_front_page_gives_every_chapters_minutes():
    rows = re.findall(r"^\| \[[^]]*\]\((\d\d_\w+)\.ipynb\) \| [^|]*\? \| (\d+) \|$", text(BOOK / "index.ipynb"), re.M)
    assert rows == [(path.stem, TIME.search(text(path))[1]) for path in CHAPTERS]


def test_every_page_says_what_it_is_for():
    assert set(next_page.questions()) == {f"book/{path.stem}" for path in PAGES if path.stem != "index"}
    assert next_page.questions()["book/03_projections"].endswith("why must h divide d_model?")
