"""A chapter's printed end: the answers to its questions, which on the screen stand folded below them."""

import re
from pathlib import Path

FOLDED = re.compile(r"<details><summary>Answers</summary>(<ol>.*?</ol>)</details>", re.S)
END = re.compile(r"(</article>)(?!.*</article>)", re.S)


def with_answers(page):
    """The page with the quizzes' answers at its end, shown in print alone."""
    found = FOLDED.findall(page)
    if not found:
        return page
    section = f'<section class="mha-printed"><h2>Answers</h2>{"".join(found)}</section>\n'
    return END.sub(lambda match: section + match[1], page, count=1)


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        path.write_text(with_answers(page), encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=800)  # after pages.py
    return {"parallel_read_safe": True, "parallel_write_safe": True}
