"""How long the Explorer takes from an input event to the next paint: python benchmarks/explorer.py

12 heads of 16 tokens, drawn by the site's own script in Chromium with the CPU slowed four times.
Prints milliseconds; and the compressed size of the state that a page carries.
"""

import functools
import gzip
import http.server
import json
import statistics
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from mha.widgets import Explorer, View, toy_explorer

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/site"))
import browser

MEASURE = """async (root) => {
  const times = [], painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  const act = async (change) => {
    for (let i = 0; i < 4; i++) await painted();
    const start = performance.now();
    change();
    await painted();
    const next = performance.now() - start;
    await painted();
    times.push([next, performance.now() - start]);
  };
  const slider = root.querySelector("input[type=range]");
  const tokens = root.querySelectorAll(".mha-e-tokens input"), heads = root.querySelectorAll(".mha-e-heads input");
  for (let i = 0; i < 60; i++) {
    await act(() => { slider.value = (i + 1) % 8; slider.dispatchEvent(new Event("input", { bubbles: true })); });
    await act(() => tokens[i % 16].click());
    await act(() => heads[(i + 1) % 12].click());
  }
  return times;
}"""


def explorer():
    rng = np.random.RandomState(0)
    words = tuple(f"token{i}" for i in range(16))
    names = tuple(f"Head {i + 1} of 12" for i in range(12))

    def trace(step):
        return View(weights=rng.dirichlet(np.ones(16) / 3, (12, 16)), queries=words, keys=words, heads=names)

    return Explorer({"step": range(8)}, trace)


def page(widget):
    """A page with that one widget, as the book's build makes it."""
    names = ("_esm", "_css", "data", "place", "token", "name", "parts", "still")
    states = {"one": {"kind": "AnyModel"} | {name: getattr(widget, name) for name in names}}
    states["one"]["_esm"], states["one"]["_css"] = 0, 1
    texts = [str(widget._esm), str(widget._css)]
    carried = json.dumps({"texts": texts, "models": states}).replace("</", "<\\/")
    return (
        '<meta charset="utf-8"><div class="mha-widget mha-any" data-model="one"><div class="mha-still"></div></div>'
        f"<script>globalThis.mhaWidgets = {carried}</script>"
        '<script src="widgets.js"></script>'
    )


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        Path(folder, "index.html").write_text(page(explorer()), encoding="utf-8")
        Path(folder, "widgets.js").write_bytes((ROOT / "book/assets/widgets.js").read_bytes())
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=["--no-sandbox", "--disable-gpu"])
        tab = chromium.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(f"http://127.0.0.1:{server.server_port}/")
        root = tab.locator(".mha-explorer")
        root.wait_for()
        tab.context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": 4})
        events = root.evaluate(MEASURE)
        print(f"CPU slowed four times, {len(events)} events, milliseconds (median, 95th percentile):")
        for name, times in zip(
            ("input to next paint", "input to the canvases' paint"), zip(*events, strict=True), strict=True
        ):
            print(f"  {name}: {statistics.median(times):.0f}, {sorted(times)[int(0.95 * len(times))]:.0f}")
        size = len(gzip.compress(json.dumps(toy_explorer().data).encode()))
        print(f"state of the toy Explorer, compressed: {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
