"""A long page is laid out piece after piece, so that no reader waits for its end before the beginning answers.

A phone lays out a whole chapter in one go, and answers nothing meanwhile. Where this script runs, the blocks from the
second section on are left out of that, unless they are on the screen. Once the page is loaded they follow, a few at a
time, until the page is as it would be without this. It does not run where a reader comes to a place further down: by an
address with a part after # or by going back.
"""

import html
import re

FIRST = 2500  # characters of text before the second section: a screen of a laptop and more
LATER = ":is(section ~ section, section ~ section section) > :not(section, h2, h3, h4)"
LATER += f", {LATER} svg[role]"  # a figure is a block of its own
STYLE = f".mha-pieces :is({LATER}) {{ content-visibility: auto; contain-intrinsic-size: auto 12rem; }}"
MILLISECONDS = 3  # of layout at a time
SCRIPT = """(() => {
  if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") return;
  const root = document.documentElement, ends = new AbortController();
  const all = () => { root.classList.remove("mha-pieces"); ends.abort(); };
  root.classList.add("mha-pieces");
  addEventListener("load", () => {
    const later = [...document.querySelectorAll("@LATER@")];
    const some = () => {
      if (ends.signal.aborted) return;
      for (const start = performance.now(); later.length && performance.now() - start < @MILLISECONDS@;) {
        const block = later.shift();
        block.style.contentVisibility = "visible";
        block.getBoundingClientRect(); // lays it out
      }
      if (later.length) setTimeout(some);
      else { root.dataset.laidOut = ""; ends.abort(); }
    };
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(some))); // after the first frame
  }, { signal: ends.signal });
  // A place further down is right only where all before it is laid out.
  addEventListener("click", (event) => { if (event.target.closest?.('a[href^="#"]')) all(); }, { signal: ends.signal });
  addEventListener("hashchange", all, { signal: ends.signal });
  addEventListener("beforeprint", all, { signal: ends.signal });
})();"""


def is_long(body):
    """Whether a page has more than two sections, and a screen of text before the second."""
    _, *sections = re.split(r"<section\b", body)
    return len(sections) > 3 and len(html.unescape(re.sub(r"<[^>]*>", "", "".join(sections[:2])))) >= FIRST


def add_script(app, pagename, templatename, context, doctree):
    if doctree is not None and is_long(context.get("body", "")):
        script = SCRIPT.replace("@LATER@", LATER).replace("@MILLISECONDS@", str(MILLISECONDS))
        context["metatags"] = f"{context.get('metatags', '')}<style>{STYLE}</style>\n<script>{script}</script>\n"


def setup(app):
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
