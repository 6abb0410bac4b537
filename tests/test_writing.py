"""Rules of writing that a program can hold: no filler, no shouting, British spelling, sentences that end."""

import ast
import re

import pytest
from chapters import BOOK, NOTEBOOKS, markdown

ROOT = BOOK.parent
LONGEST = 40  # words in a sentence; a formula or a piece of code counts as one

# Words that tell a reader how easy it ought to be, or tell nothing at all.
FILLER = re.compile(
    r"\b(?:simply|obvious(?:ly)?|trivial(?:ly)?|of course|clearly|easily|very|merely|basically|actually|really|quite|"
    r"note that|notice that|needless to say|in order to|straightforward(?:ly)?|intuitive(?:ly)?|essentially|delve|"
    r"utili[sz]e[sd]?|leverag(?:e[sd]?|ing)|crucial(?:ly)?|powerful|seamless(?:ly)?|just(?! like\b| that\b| this\b))\b",
    re.I,
)
# The book spells as the British do, with -ise.
AMERICAN = re.compile(
    r"\b(?<!-)(?:(?:re)?color(?:s|ed|ing)?(?!:)|behaviors?|favor(?:s|ed|ite)?|neighbor(?:s|ing)?|"
    r"label(?:ed|ing)|model(?:ed|ing)|cancel(?:ed|ing)|center(?:s|ed)?|gray|catalogs?|analyz(?:e|es|ed|ing)|judgment|"
    r"artifacts?|defense|fulfill|toward|(?!(?:re|p)?[rs]e?iz[ei])\w{2,}iz(?:e|es|ed|ing|ations?))\b",
    re.I,
)


PAGES = {path.stem: markdown(path) for path in [*NOTEBOOKS, *sorted(BOOK.glob("*.md")), *sorted(ROOT.glob("*.md"))]}


def program_texts():
    """{file: what its docstrings, comments and longer strings say}: questions, verdicts, errors, help."""
    for folder in ("mha", "tools", "benchmarks", "book/_ext"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            words = [n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant)]
            said = [w for w in words if isinstance(w, str) and w.count(" ") > 2 and re.search(r"[.,:;?]", w)]
            yield path.relative_to(ROOT).as_posix(), "\n\n".join(said + re.findall(r"(?:^|  )# (.*)", source, re.M))


PROGRAMS = dict(program_texts())


def prose(text):
    """What is left of markdown without code, formulas, tables, headings, addresses and the Hinglish notes."""
    text = re.sub(r"^(`{3,}|:{3,})\{margin\}.*?^\1$|^(`{3,})(?!\{).*?^\2$", "", text, flags=re.M | re.S)
    text = re.sub(r"^(?:`{3,}|:{3,}|:class:|\||#+ ).*$", "", text, flags=re.M)
    text = re.sub(r"``.+?``|`[^`]+`", "CODE", text)
    text = re.sub(r"\$\$.*?\$\$", "FORMULA.", text, flags=re.S)
    text = re.sub(r"\$[^$\n]+\$", "FORMULA", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://\S+|<[^<>\n]+>", "ADDRESS", text)
    return re.sub(r"[*_]+(?=\S)|(?<=\S)[*_]+", "", text)


def sentences(text):
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*>]|\d+\.) )", text):
        yield from re.split(r"(?<=[.?!:])[)”\"]?\s+(?=[^a-z])", paragraph.strip())


def filler(text):
    return FILLER.findall(text)


def american(text):
    return AMERICAN.findall(text)


def shouts(text):
    return re.findall(r"\w[\w ]*!(?![=\[])", text)


def long_sentences(text):
    return [s for s in sentences(text) if len(s.split()) > LONGEST]


RULES = [filler, american, shouts, long_sentences]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_keeps_the_rule(page, rule):
    assert not rule(prose(PAGES[page])), f"{page}: say it without, or shorter"


@pytest.mark.parametrize("rule", [filler, american])
@pytest.mark.parametrize("file", PROGRAMS)
def test_what_a_program_says_keeps_the_rule(file, rule):
    assert not rule(prose(PROGRAMS[file])), f"{file}: say it without"


@pytest.mark.parametrize(
    "rule, text",
    [
        (filler, "It is just a sum."),
        (filler, "This is **very** large."),
        (filler, "Note that rows sum to 1."),
        (american, "A color a head."),
        (american, "We normalize the rows."),
        (american, "The neighbor's hat, behaviors."),
        (shouts, "It works!"),
        (long_sentences, "- " + "word " * 41),
    ],
)
def test_a_broken_rule_is_seen(rule, text):
    assert rule(prose(text))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "text",
    [
        "A colour a head, of one size. BERT has just that.",
        "Resize the favourite neighbour; `very(simply.color)` is code.",
        "$a \\not= b!$ and ![a picture](color.png), or $$\\mathrm{softmax}\\!$$ where 4 != 5",
        "```{margin} Hinglish mein\nBas itna hi! Just dekho.\n```\n\nShort. " + "word " * 38 + "end. `code` too.",
        "| a very | long " + "word " * 50 + "|",
    ],
)
def test_what_is_right_passes(rule, text):
    assert not rule(prose(text))
