"""The built site in a real browser, every other host blocked."""

import functools
import os
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import browser as browsers

SITE = Path(__file__).parents[2] / "_build/html"
PAGES = sorted(p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html") if "_static" not in p.parts)
PAGES = [path for path in PAGES if 'http-equiv="Refresh"' not in (SITE / path).read_text(encoding="utf-8")]
# Lays out the whole page, as a link to a place further down does (_ext/pieces.py), and draws each widget that waits to
# come near; true when none waits.
DRAWN = """() => {
  const root = document.documentElement;
  if (root.classList.contains("mha-pieces")) dispatchEvent(new HashChangeEvent("hashchange"));
  for (const wake of document.querySelectorAll(".mha-wake")) wake.click();
  return !document.querySelector(".mha-wake");
}"""
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"


class Handler(SimpleHTTPRequestHandler):
    """The site under a path of its own, as on a host that serves several."""

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/some/path"))

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def address():
    if not PAGES:
        pytest.fail("the site is not built: run `make book` (or `make test`) first")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/some/path/"
    server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    path = browsers.find()
    if not path:
        message = "no browser: the site tests need chromium, chrome or edge (python tests/site/browser.py installs one)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield running
        running.close()


@pytest.fixture
def open_page(chromium, address):
    """open_page(path, **context options) -> a page with its widgets drawn; what went wrong on it is in page.faults.

    draw=False leaves the widgets to be drawn when they come near, and the page to be laid out in pieces.
    """
    contexts = []

    def open_(path, *, base=address, draw=True, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.faults = []

        def route(request):
            if request.request.url.startswith((base, "data:", "blob:", "file:")):
                request.continue_()
            else:
                page.faults.append(f"asks another host: {request.request.url}")
                request.abort()

        context.route("**/*", route)
        page.on("pageerror", lambda error: page.faults.append(f"script error: {error}"))
        page.on("console", lambda m: page.faults.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("response", lambda r: page.faults.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.goto(base + path)
        page.wait_for_load_state("load")
        if draw and options.get("java_script_enabled", True):
            page.wait_for_function(DRAWN)
        return page

    yield open_
    for context in contexts:
        context.close()
