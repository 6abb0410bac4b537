"""One style sheet for the site, with only the rules that some page can use: no page waits for a dozen files.

A rule stays if each class that it names stands as a word in a page or in a script; a rule without classes stays.
"""

import hashlib
import re
from functools import cache
from pathlib import PurePosixPath as Place

SHEET = re.compile(r'<link(?=[^>]*rel="stylesheet")[^>]*href="((?:[^"?]*/)?_static/)([^"?]*\.css)[^>]*>\s*')
ADDRESS = re.compile(r"""url\((["']?)(?!data:|https?:|/|#)([^"')]+)\1\)""")
IMPORT = re.compile(r'@import\s+"([^"]+)";')
CLASS = re.compile(r"\.((?:[\w-]|\\.)+)")
BRACE, BRACKET = re.compile(r"[{}]"), re.compile(r"\([^()]*\)")


def rules(css):
    """(head, body) of each rule; body is None where a statement has none."""
    at = 0
    while (opens := css.find("{", at)) >= 0:
        ends = css.find(";", at, opens)
        if ends >= 0:
            yield css[at : ends + 1].strip(), None
            at = ends + 1
            continue
        depth, end = 1, opens + 1
        while depth:
            brace = BRACE.search(css, end)
            depth += 1 if brace[0] == "{" else -1
            end = brace.end()
        yield css[at:opens].strip(), css[opens + 1 : end - 1]
        at = end


def selectors(head):
    """The selectors of a rule, apart; a comma in brackets doesn't part them."""
    found, depth = [""], 0
    for letter in head:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def usable(selector, words):
    """Whether each class that a selector names is among the words; those in brackets, as :not(.a), don't count."""
    while BRACKET.search(selector):
        selector = BRACKET.sub("", selector)
    return all("\\" in name or name in words for name in CLASS.findall(selector))


def used(css, words):
    """The style sheet without the rules that nothing can use."""
    kept = []
    for head, body in rules(css):
        if body is None:
            kept.append(head)
        elif head.startswith(("@media", "@supports")):
            if inner := used(body, words):
                kept.append(f"{head}{{{inner}}}")
        elif head.startswith("@"):
            kept.append(f"{head}{{{body}}}")
        elif named := [selector for selector in selectors(head) if usable(selector, words)]:
            kept.append(f"{','.join(named)}{{{body}}}")
    return "".join(kept)


def read(static, name):
    """A style sheet with those that it imports, without comments, its addresses as seen from `static`."""
    folder = Place(name).parent

    def within(address):
        parts = []
        for part in (folder / address).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        return "/".join(parts)

    css = re.sub(r"/\*.*?\*/", "", (static / name).read_text(encoding="utf-8"), flags=re.S)
    css = ADDRESS.sub(lambda m: f'url("{within(m[2])}")', css)
    return IMPORT.sub(lambda m: read(static, within(m[1])), css)


def one_sheet(out):
    """Each page of the folder gets one sheet in the place of its many."""
    pages = {path: path.read_text(encoding="utf-8") for path in out.rglob("*.html")}
    scripts = [path for path in out.rglob("*.js") if path.name != "fontawesome.js"]
    words = set()
    for text in [*pages.values(), *(path.read_text(encoding="utf-8") for path in scripts)]:
        words.update(re.findall(r"[\w-]+", text))

    @cache
    def made(names):
        css = "\n".join(used(read(out / "_static", name), words) for name in names)
        file = out / f"_static/styles-{hashlib.sha256(css.encode()).hexdigest()[:12]}.css"
        file.write_text(css, encoding="utf-8")
        return file.name

    for path, page in pages.items():
        found = list(SHEET.finditer(page))
        if len(found) > 1:
            links = iter([f'<link rel="stylesheet" href="{found[0][1]}{made(tuple(m[2] for m in found))}"/>\n'])
            path.write_text(SHEET.sub(lambda _, links=links: next(links, ""), page), encoding="utf-8")
