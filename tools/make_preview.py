"""The picture that a link to the site shows, from the built first page: python tools/make_preview.py

Needs the packages of requirements-test.txt and `make book`. Commit what changes.
"""

import functools
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests/site"), str(ROOT / "tools"), str(ROOT / "book/_ext")]
import browser
from publish import PREVIEW
from serve import Handler

SCALE = 1.25
BARE = ".bd-header-article, .bd-sidebar-primary { display: none !important }"


def main(site=ROOT / "_build/html", target=ROOT / "book/assets/preview.png"):
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _, width, height = PREVIEW
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser.find(), args=["--no-sandbox"])
        window = {"width": int(width / SCALE), "height": int(height / SCALE)}
        page = running.new_page(viewport=window, device_scale_factor=SCALE, color_scheme="light")
        page.goto(f"http://127.0.0.1:{server.server_port}/book/index.html")
        page.locator(".mha-e-heads canvas").last.wait_for()
        page.add_style_tag(content=BARE)
        page.wait_for_timeout(500)
        page.screenshot(path=target)
        running.close()
    server.shutdown()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
