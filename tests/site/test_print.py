"""On paper: every picture, questions with answers, light colours, one page of cheat sheet, one PDF of the book."""

import io
import re
import subprocess
import sys

import pytest
import yaml
from conftest import PAGES, SITE
from pypdf import PdfReader

ROOT = SITE.parents[1]
CHAPTERS = [path for path in PAGES if re.match(r"book/\d\d_", path)]


def on_paper(page):
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")


@pytest.mark.parametrize("path", CHAPTERS)
def test_a_printed_chapter_is_whole(open_page, path):
    page = open_page(path, viewport={"width": 700, "height": 1000}, color_scheme="dark")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    on_paper(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
    for hidden in (
        ".bd-header",
        ".bd-sidebar-primary",
        ".prev-next-footer",
        ".copybtn",
        ".headerlink",
        "input[type=range]",
    ):
        assert page.locator(f"{hidden}:visible").count() == 0, hidden
    for seen in (
        "article h1",
        "article .cell_output img",
        ".mha-widget svg, .mha-widget canvas",
        "aside.margin",
        ".mha-printed",
    ):
        for element in page.locator(seen).all():
            assert element.is_visible(), seen
    folded = page.locator(".admonition.dropdown > section, .admonition.dropdown > :not(.admonition-title):not(button)")
    for answer in folded.all():
        assert answer.bounding_box()["height"] > 5
    for solution in page.locator(".cell.tag_solution pre").all():
        assert solution.is_visible()


def test_the_cheat_sheet_is_one_page(open_page):
    page = open_page("book/cheat_sheet.html")
    pdf = PdfReader(io.BytesIO(page.pdf(format="A4", prefer_css_page_size=True, print_background=True)))
    assert len(pdf.pages) == 1
    on_paper(page)
    sizes = page.evaluate(
        """[...document.querySelectorAll("article p, article td, article th, article code, article math")]
           .map(e => parseFloat(getComputedStyle(e).fontSize))"""
    )
    assert min(sizes) * 0.75 >= 8  # points
    words = pdf.pages[0].extract_text()
    for said in ("Formulas and shapes", "Costs", "Traps", "not multiplied", "about the price of one"):
        assert said in re.sub(r"\s+", " ", words)


@pytest.fixture(scope="session")
def book(address, chromium, tmp_path_factory):
    """The book as PDF, as `make pdf` writes it."""
    out = tmp_path_factory.mktemp("pdf") / "book.pdf"
    subprocess.run([sys.executable, ROOT / "tools/make_pdf.py", SITE, out], check=True, timeout=600)
    return PdfReader(out)


def files():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]


def flat(outline):
    return [item for entry in outline for item in (flat(entry) if isinstance(entry, list) else [entry])]


def test_the_outline_is_the_table_of_contents(book):
    parts = [p["caption"] for p in yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]]
    entries = flat(book.outline)
    assert [e.title for e in entries if e.title in parts] == parts
    chapters = [e for e in entries if e.title not in parts]
    assert len(chapters) == len(files())
    first = book.pages[1].extract_text()
    for entry in chapters:
        number = book.get_destination_page_number(entry)
        start = re.sub(r"\s+", "", book.pages[number].extract_text())
        assert re.sub(r"\s+", "", entry.title) in start, "the page that the outline names begins the chapter"
        assert re.search(rf"\b{number + 1}\b", first), "and the contents give its number"


def test_the_books_links_stay_in_it(book):
    inner, numbers = 0, {page.indirect_reference.idnum for page in book.pages}
    for page in book.pages:
        for annotation in page.get("/Annots") or []:
            link = annotation.get_object()
            address = str(link.get("/A", {}).get("/URI", ""))
            assert "127.0.0.1" not in address and "localhost" not in address
            if "/Dest" in link:
                assert link["/Dest"][0].idnum in numbers
                inner += 1
    assert inner > 400


def test_no_page_is_blank_and_all_fonts_are_in_the_file(book):
    assert 150 < len(book.pages) < 320
    for i, page in enumerate(book.pages):
        shown = page.extract_text().split("\n")
        pictures = page["/Resources"].get("/XObject") or {}
        assert len("".join(shown[:-1]).strip()) > 15 or pictures, f"page {i + 1}"
        for font in (page["/Resources"].get("/Font") or {}).values():
            font = font.get_object()
            inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
            if font["/Subtype"] != "/Type3":
                assert {"/FontFile", "/FontFile2", "/FontFile3"} & set(inner["/FontDescriptor"].get_object()), font


def test_the_book_asks_and_answers(book):
    words = "\n".join(page.extract_text() for page in book.pages)
    assert words.count("Answers") >= 14 and words.count("Solutions") >= 7
    assert "Hinglish mein" in words and "✓ correct" in words
    assert re.search(r"Version \d", book.pages[0].extract_text())
    assert not {"/CreationDate", "/ModDate"} & set(book.metadata)
