"""The built site as one PDF: python tools/make_pdf.py _build/html _build/book.pdf

A browser prints each page without scripts, so that widgets are their first picture and quizzes are questions
with their answers at the chapter's end. pypdf joins what it printed: an outline, links from chapter to chapter
that stay in the file, page numbers, a title page and a table of contents. No date goes in.
"""

import functools
import html
import http.server
import io
import re
import sys
import threading
import time
import tomllib
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/site"))
import browser as browsers
import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject

FIRST = "book/index.html"
FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking"
PAPER = {"format": "A4", "print_background": True, "prefer_css_page_size": True, "tagged": False}
# Folded solutions go to the chapter's end, as the answers do. Every place that a link of the book names is
# named by a link on its own page as well: so the browser writes down where it is.
ARRANGE = """([places, title]) => {
  const article = document.querySelector("article");
  article.style.position = "relative";
  document.documentElement.dataset.theme = "light";
  const solutions = [...article.querySelectorAll(".cell.tag_solution")];
  if (solutions.length) {
    const end = document.createElement("section");
    end.innerHTML = "<h2>Solutions</h2>";
    for (const cell of solutions) {
      const heading = document.createElement("h3");
      heading.textContent = cell.closest("section").querySelector("h3").firstChild.textContent;
      end.append(heading, cell);
    }
    article.append(end);
  }
  for (const details of article.querySelectorAll("details")) details.open = true;
  for (const place of places) {
    const target = document.getElementById(place);
    if (!target) continue;
    const link = document.createElement("a");
    link.href = "#" + place;
    link.textContent = ".";
    link.style = "position: absolute; top: 0; left: 0; font-size: 1px; color: transparent";
    article.append(link);
  }
  document.title = title;
}"""
FRONT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
@page {{ size: A4; margin: 22mm 20mm }}
body {{ font: 11pt/1.45 sans-serif; color: #222832 }}
a {{ color: inherit; text-decoration: none }}
h1 {{ font-size: 30pt; line-height: 1.15; margin: 70mm 0 8mm }} .small {{ font-size: 9.5pt; color: #48566b }}
h2 {{ break-before: page; font-size: 18pt; margin: 0 0 5mm }}
h3 {{ font-size: 11pt; margin: 5mm 0 1.5mm; color: #48566b }}
p.row {{ display: flex; gap: 3mm; margin: 0 0 1.2mm; font-size: 10.5pt }}
.row span {{ flex: 1; border-bottom: 1px dotted #aaa }}
</style><h1>{title}</h1><p>{author}</p><p>Version {version}</p>
<p class="small">{about}</p><h2>Contents</h2>{rows}"""
ABOUT = (
    "Widgets are shown in their first state, questions have their answers at the end of their chapter, and solutions "
    "stand behind them. The same pages as a website, where every slider moves, and as notebooks are made from one "
    "repository. Text and figures: CC BY 4.0. Code: BSD-3-Clause."
)
NUMBERS = """<!doctype html><meta charset="utf-8"><style>@page {{ size: A4; margin: 0 }} body {{ margin: 0 }}
div {{ height: 296.9mm; position: relative; break-after: page; font: 8.5pt sans-serif; color: #48566b }}
div:last-child {{ break-after: auto }} p {{ position: absolute; bottom: 8mm; left: 16mm; right: 16mm; margin: 0;
display: flex; justify-content: space-between }}</style>{pages}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def serve(folder):
    """The address of a folder on this machine, while the program runs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def contents(site):
    """[(part, [(file, title)])] as _toc.yml orders the book; titles as the pages have them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [("", [toc["root"]])] + [(p["caption"], [c["file"] for c in p["chapters"]]) for p in toc["parts"]]
    return [(part, [(f"{file}.html", title(site / f"{file}.html")) for file in files]) for part, files in parts]


def title(path):
    """A page's first heading as text."""
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", path.read_text(encoding="utf-8"), re.S)[1]
    return html.unescape(re.sub(r'<a class="headerlink".*?</a>|<[^>]*>', "", heading, flags=re.S)).strip()


def places(site, files):
    """{page: the places on it that links of the book name}."""
    named = {file: set() for file in files}
    for file in files:
        for href in re.findall(r'<a [^>]*href="([^"]+)"', (site / file).read_text(encoding="utf-8")):
            page, place = urldefrag(urljoin(file, html.unescape(href)))
            if place and page in named:
                named[page].add(unquote(place))
    return named


def printed(page, address, named, heading):
    """One page of the site as PDF."""
    page.goto(address)
    page.emulate_media(media="print", color_scheme="light")
    page.evaluate(ARRANGE, [sorted(named), heading])
    page.evaluate("document.fonts.ready.then(() => Promise.all([...document.images].map((i) => i.decode())))")
    return PdfReader(io.BytesIO(page.pdf(**PAPER)))


def length(chapter):
    """How many pages a chapter has, without a blank one that the last margin makes."""
    last = chapter.pages[-1]
    return len(chapter.pages) - (not last.extract_text().strip() and not last["/Resources"].get("/XObject"))


def written(page, markup):
    """A PDF of HTML."""
    page.set_content(markup)
    return PdfReader(io.BytesIO(page.pdf(**PAPER)))


def front(parts, starts, base, settings):
    """HTML of the title page and the contents; `starts` is where each page begins."""
    rows = ""
    for part, files in parts:
        rows += f"<h3>{html.escape(part)}</h3>" * bool(part)
        for file, heading in files:
            number = starts.get(file, 0) + 1
            rows += f'<p class="row"><a href="{base}{file}">{html.escape(heading)}</a><span></span>{number}</p>'
    return FRONT.format(rows=rows, about=ABOUT, **{k: html.escape(v) for k, v in settings.items()})


def numbers(titles):
    """HTML with the foot of every page: its chapter and its number; none on the title page."""
    feet = [
        f"<div><p><span>{html.escape(heading)}</span><span>{i}</span></p></div>" if i > 1 else "<div></div>"
        for i, heading in enumerate(titles, start=1)
    ]
    return NUMBERS.format(pages="".join(feet))


def destination(pages, top):
    """A place in the file: a page object and its height."""
    return ArrayObject([pages, NameObject("/XYZ"), NullObject(), FloatObject(top), NullObject()])


def make(site, out):
    """Write the PDF; returns its numbers of chapters, pages and inner links."""
    base, parts = serve(site), contents(site)
    files = [file for _, chapter in parts for file, _ in chapter]
    headings = {file: heading for _, chapter in parts for file, heading in chapter}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings = {"title": config["title"], "author": config["author"], "version": project["version"]}
    named = places(site, files)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browsers.find(), args=FLAGS.split())
        page = browser.new_context(java_script_enabled=False, viewport={"width": 760, "height": 1000}).new_page()
        chapters = {file: printed(page, base + file, named[file], headings[file]) for file in files}
        ahead = len(written(page, front(parts, {}, base, settings)).pages)
        starts, end = {}, ahead
        for file in files:
            starts[file], end = end, end + length(chapters[file])
        opening = written(page, front(parts, starts, base, settings))
        foot = ["Contents"] * ahead + [headings[f] for f in files for _ in range(length(chapters[f]))]
        feet = written(page, numbers(foot))
        browser.close()
    book = PdfWriter()
    book.append(opening, import_outline=False)
    for file in files:
        book.append(chapters[file], pages=(0, length(chapters[file])), import_outline=False)
    tops = {}  # (file, place) -> destination
    for file in files:
        for name, d in chapters[file].named_destinations.items():
            number = chapters[file].get_destination_page_number(d)
            top = float(d.top) if d.top is not None else 842.0
            place = unquote(name.removeprefix("/"))
            tops[file, place] = destination(book.pages[starts[file] + number].indirect_reference, top)
    first = {file: destination(book.pages[starts[file]].indirect_reference, 842.0) for file in files}
    links = 0
    for i, sheet in enumerate(book.pages):
        here = next((f for f in reversed(files) if starts[f] <= i), None)
        sheet.merge_page(feet.pages[i])
        kept = ArrayObject()
        for reference in sheet.get("/Annots", []):
            annotation = reference.get_object()
            goal = target(annotation, here, base)
            if goal is None:
                kept.append(reference)
                continue
            box = [float(x) for x in annotation["/Rect"]]
            if goal[0] not in first or (goal[1] and box[3] - box[1] < 3):
                continue  # a file of the site that is no page; a link that ARRANGE added
            annotation.pop("/A", None)
            annotation[NameObject("/Dest")] = tops.get(goal, first[goal[0]])
            kept.append(reference)
            links += 1
        sheet.compress_content_streams()
        sheet[NameObject("/Annots")] = kept
    book.root_object.pop("/Dests", None)
    book.root_object.pop("/Names", None)
    for part, chapter in parts:
        above = book.add_outline_item(title=part, page_number=starts[chapter[0][0]]) if part else None
        for file, heading in chapter:
            book.add_outline_item(title=heading, page_number=starts[file], parent=above)
    book.metadata = {
        "/Title": settings["title"],
        "/Author": settings["author"],
        "/Subject": f"Version {settings['version']}",
    }
    book.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    book.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    book.write(out)
    return len(files), len(book.pages), links


def target(annotation, here, base):
    """(file, place) that a link of the book leads to; None for a link that leaves it."""
    if "/Dest" in annotation:
        return (here, unquote(str(annotation["/Dest"]).removeprefix("/")))
    address = str(annotation.get("/A", {}).get("/URI", ""))
    if not address.startswith(base):
        return None
    file, place = urldefrag(address.removeprefix(base))
    return file, unquote(place)


def main(site, out):
    begun = time.monotonic()
    chapters, pages, links = make(Path(site), out)
    size = Path(out).stat().st_size / 1e6
    took = time.monotonic() - begun
    print(f"{out}: {chapters} chapters, {pages} pages, {links} inner links, {size:.1f} MB, {took:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
