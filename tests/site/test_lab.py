"""The same notebooks in JupyterLab, driven headless: run all, move a control, see the number change."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from chapters import BOOK, widgets
from test_explorer_page import table, texts, trace
from test_quiz_page import answer, plain
from test_widgets import expected, words

from mha.questions import exam


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address of a JupyterLab that serves a copy of the chapters."""
    folder = tmp_path_factory.mktemp("book")
    for path in BOOK.glob("*.ipynb"):
        shutil.copy(path, folder)
    if (BOOK / "data").is_dir():
        shutil.copytree(BOOK / "data", folder / "data")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", "--IdentityProvider.token=", f"--ServerApp.port={port}"]
    options += [
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.ip=127.0.0.1",
        "--LabApp.news_url=none",
        "--expose-app-in-browser",
    ]
    settings = tmp_path_factory.mktemp("settings")
    tracker = settings / "@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text('{"windowingMode": "none"}')  # cells out of sight stay in the page
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env=os.environ | {"JUPYTERLAB_SETTINGS_DIR": str(settings)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{address}/api")
            break
        except OSError:
            time.sleep(0.5)
    yield address
    server.terminate()
    server.wait(20)


RUN_ALL = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await window.jupyterapp.commands.execute("notebook:run-all-cells");
}"""


def run_all(chromium, lab, name):
    page = chromium.new_context(viewport={"width": 1400, "height": 1000}).new_page()
    page.set_default_timeout(90_000)
    page.goto(f"{lab}/lab/tree/{name}.ipynb?reset")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext")
    page.evaluate(RUN_ALL)
    return page


def test_frames_in_jupyterlab(chromium, lab):
    page = run_all(chromium, lab, "01_single_head")
    _, render, options = widgets(BOOK / "01_single_head.ipynb")[0]
    widget = page.locator(".mha-frames").first
    widget.scroll_into_view_if_needed()
    start = {"scale": True} | options["start"]
    page.wait_for_function("w => w.innerText.includes('key 7')", arg=widget.element_handle())
    seen = words(widget.locator("svg").first.evaluate("e => e.outerHTML"))
    assert seen == expected(render, start)
    handle = widget.locator(".noUi-handle").first
    handle.press("ArrowRight")
    page.wait_for_function("w => w.innerText.includes('d_k = 64')", arg=widget.element_handle())
    assert words(widget.locator("svg").first.evaluate("e => e.outerHTML")) == expected(render, start | {"d_k": 64})
    page.context.close()


def test_explorer_in_jupyterlab_takes_the_readers_own_sentence(chromium, lab):
    page = run_all(chromium, lab, "07_explorer")
    root = page.locator(".mha-explorer").first
    root.wait_for()
    root.scroll_into_view_if_needed()
    slider = root.get_by_role("slider", name="h", exact=True)
    slider.press("Home")
    slider.press("ArrowRight")
    assert table(root) == texts(trace(h=2)[1].weights[0])
    field = root.get_by_label("your own sentence")
    hostile = "<b>Cats</b> chase"
    for sentence, message in (("", "has no word"), ("a " * 17, "at most 16 fit")):
        field.fill(sentence)
        field.press("Enter")
        root.locator("form [role=alert]", has_text=message).wait_for()
    field.fill(hostile)
    field.press("Enter")
    root.locator(".mha-e-tokens label", has_text="Cats").wait_for()
    assert root.locator("b b, .mha-e-tokens b").count() == 0
    assert table(root) == texts(trace(hostile, h=2)[1].weights[0])
    page.context.close()


def test_quiz_and_exam_in_jupyterlab(chromium, lab):
    page = run_all(chromium, lab, "14_mock_exam")
    page.locator(".mha-q").first.wait_for()
    page.get_by_label("seed").fill("7")
    page.get_by_role("button", name="Draw", exact=True).click()
    for card, drawn in zip(page.locator(".mha-q").all()[:4], exam(7), strict=False):
        assert card.locator("legend").text_content().endswith(plain(drawn.asked.text))
        answer(card, drawn.asked)
        card.get_by_role("button", name="Reveal").click()
        card.get_by_text("✓ Right.").wait_for()
    page.context.close()
