"""A page on paper: in the light theme, and with the answers to its questions at its end."""

import re
from pathlib import Path

FOLDED = re.compile(r"<details><summary>Answers</summary>(<ol>.*?</ol>)</details>", re.S)
END = re.compile(r"(</article>)(?!.*</article>)", re.S)
LIGHT = """<script>(() => {
  const { dataset } = document.documentElement;
  addEventListener("beforeprint", () => { dataset.onScreen = dataset.theme; dataset.theme = "light"; });
  addEventListener("afterprint", () => { dataset.theme = dataset.onScreen; });
})()</script>
"""


def with_answers(page):
    """The page with the quizzes' answers at its end; book.css shows them in print alone."""
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
        path.write_text(with_answers(page).replace("</body>", LIGHT + "</body>", 1), encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=800)  # after pages.py
    return {"parallel_read_safe": True, "parallel_write_safe": True}
