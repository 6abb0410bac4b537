"""After the build: each page shows text first, and its widgets without a kernel.

* Widget states are cut down to what assets/widgets.js draws, and stand in a file beside the page:
  a script, which a page opened from a folder can load too. It is loaded when a widget comes near.
* Each widget's first picture is in the page: without JavaScript, in print, until the widget is drawn.
* The theme's icon script (1.5 MB) goes; its icon font, cut to the icons in use, draws the same.
"""

import html
import json
import re
import shutil
from pathlib import Path

from sheets import one_sheet
from sphinx.errors import ExtensionError

MATH_FONT = "offline/stix-two-math.woff2"
ASSETS = Path(__file__).parents[1] / "assets"
STATE = re.compile(r'<script type="application/vnd\.jupyter\.widget-state\+json">(.*?)</script>', re.S)
VIEW = re.compile(r'(<script type="application/vnd\.jupyter\.widget-view\+json">)(.*?)(</script>)', re.S)
# What widgets.js reads of each core widget.
KEPT = {
    "VBoxModel": ["children"],
    "HBoxModel": ["children"],
    "StackModel": ["children", "selected_index"],
    "HTMLModel": ["value"],
    "SelectionSliderModel": ["description", "_options_labels", "index"],
    "ToggleButtonsModel": ["description", "_options_labels", "index"],
    "LinkModel": ["source", "target"],
    "DirectionalLinkModel": ["source", "target"],
}
NOT_OURS = {"layout", "tabbable", "tooltip", "comm"}  # traits of an anywidget that its script doesn't read
SHARED = ("_esm", "_css")
UNDRAWN = {"LayoutModel", "HTMLStyleModel", "SliderStyleModel", "ToggleButtonsStyleModel"}
UNDRAWN |= {"FloatProgressModel", "ProgressStyleModel"}  # tqdm's: its cell carries the tag remove-output
CONTROLS = {"SelectionSliderModel", "ToggleButtonsModel"}

# The script of the theme's menus and tips comes when a pointer or the focus first meets the page.
MENUS = re.compile(r'<script[^>]*src="([^"]*scripts/bootstrap\.js[^"]*)"[^>]*></script>')
AT_FIRST_USE = """<script>(() => {
  let loaded;
  const load = () => loaded ??= new Promise((ready) => {
    document.head.append(Object.assign(document.createElement("script"), { src: "%s", onload: ready }));
  });
  for (const event of ["pointerover", "focusin"]) addEventListener(event, load, { once: true });
  addEventListener("click", ({ target }) => { // a touch can be quicker than the script
    const menu = globalThis.bootstrap ? null : target.closest?.('[data-bs-toggle="dropdown"]');
    if (menu) load().then(() => bootstrap.Dropdown.getOrCreateInstance(menu).toggle());
  });
})()</script>"""

# On a first visit the theme's script finds out only after the text is drawn whether it is light or dark, and the
# browser styles the whole page a second time. This says it before.
THEME = 'dataset.theme = localStorage.getItem("theme") || "auto";'
SYSTEM = 'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"'
KNOWN = f'dataset.theme = ["light", "dark"].find((mode) => mode === localStorage.getItem("mode")) ?? ({SYSTEM});'


def slim(models):
    """The widget models with only what the page draws; ExtensionError names a kind that it can't draw."""
    kept = {}
    for key, model in models.items():
        kind = model["model_name"]
        state = model["state"]
        if kind in KEPT:
            kept[key] = {"kind": kind} | {name: state.get(name) for name in KEPT[kind]}
        elif kind == "AnyModel":
            ours = {n: v for n, v in state.items() if n in ("_esm", "_css") or not n.startswith("_")}
            kept[key] = {"kind": kind} | {n: v for n, v in ours.items() if n not in NOT_OURS}
        elif kind not in UNDRAWN:
            raise ExtensionError(
                f"widgets.js can't draw a {kind} without a kernel: "
                "use mha.widgets, or teach assets/widgets.js and _ext/pages.py"
            )
    return kept


def still(models, key):
    """The HTML of a widget in its first state, controls left out."""
    model = models[key.removeprefix("IPY_MODEL_")]
    children = model.get("children", [])
    if model["kind"] == "StackModel":
        return still(models, children[model["selected_index"]])
    if model["kind"] == "AnyModel":
        return model.get("still", "")
    return model.get("value", "") + "".join(still(models, child) for child in children)


def controls(models, key):
    """How many controls a widget shows: their height is reserved."""
    model = models[key.removeprefix("IPY_MODEL_")]
    if model["kind"] == "StackModel":
        return 0
    return (model["kind"] in CONTROLS) + sum(controls(models, child) for child in model.get("children", []))


def with_widgets(page, stem):
    """The page with its widgets' first pictures in place, and the script with their states ("" if it has none)."""
    found = STATE.search(page)
    if not found:
        return page, ""
    models = slim(json.loads(found[1])["state"])

    def view(match):
        key = json.loads(match[2])["model_id"]
        kind = "mha-widget mha-any" if models[key]["kind"] == "AnyModel" else "mha-widget"
        parts = html.escape(" ".join(models[key].get("parts", [])))
        return (
            f'<div class="{kind}" data-model="{html.escape(key)}" data-parts="{parts}"'
            f' style="--controls:{controls(models, key)}">'
            f'<div class="mha-still">{still(models, key)}</div></div>'
        )

    page = VIEW.sub(view, STATE.sub("", page))
    # Room for the controls is kept only where a script will draw them.
    page = page.replace("</head>", "<noscript><style>.mha-still{padding-top:0}</style></noscript>\n</head>", 1)
    script = f'<script defer src="{root(page)}_static/widgets.js" data-states="{stem}.widgets.js"></script>\n'
    return page.replace("</body>", script + "</body>", 1), states(models)


def states(models):
    """The models as a script; a text that several have, as their code, stands in it once."""
    texts = list(dict.fromkeys(m[name] for m in models.values() for name in SHARED if name in m))
    short = {k: m | {name: texts.index(m[name]) for name in SHARED if name in m} for k, m in models.items()}
    data = json.dumps({"texts": texts, "models": short}, separators=(",", ":"), ensure_ascii=False)
    return f"globalThis.mhaWidgets = {data};\n"


def root(page):
    """The relative address of the site's root, as the page itself says it."""
    return re.search(r'data-content_root="([^"]*)"', page)[1]


def text_first(page, options):
    """Scripts wait for the text; those that search, with the book's index, stand on the search page alone.

    options : the text of the one script that can't wait; it goes into the page
    """
    page = re.sub(
        r'<script[^>]*src="[^"]*documentation_options\.js[^"]*"[^>]*></script>',
        lambda _: f"<script>{options}</script>",
        page,
    )
    if 'id="search-results"' not in page:
        page = re.sub(
            r'<script[^>]*src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"[^>]*></script>\s*', "", page
        )
    page = re.sub(r'<script[^>]*src="[^"]*scripts/fontawesome\.js[^"]*"[^>]*></script>\s*', "", page)
    page = re.sub(r'<link rel="preload" as="script"[^>]*>\s*', "", page)
    page = page.replace(THEME, KNOWN, 1)
    page = MENUS.sub(lambda script: AT_FIRST_USE % script[1], page)
    if "<math" in page and MATH_FONT not in page:  # formulas would move the text when their font comes late
        font = f'<link rel="preload" as="font" type="font/woff2" crossorigin href="{root(page)}_static/{MATH_FONT}">'
        page = page.replace("</head>", font + "\n</head>", 1)
    page = re.sub(r'<link[^>]*href="[^"]*fa-(?:brands|regular)[^"]*"[^>]*>\s*', "", page)
    return re.sub(r"<script (?![^>]*(?:defer|async))([^>]*src=)", r"<script defer \1", page)


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    options = (out / "_static/documentation_options.js").read_text(encoding="utf-8")
    for path in out.rglob("*.html"):
        page, states_of_it = with_widgets(path.read_text(encoding="utf-8"), path.stem)
        path.write_text(text_first(page, options), encoding="utf-8")
        if states_of_it:
            path.with_suffix(".widgets.js").write_text(states_of_it, encoding="utf-8")
    fonts = out / "_static/vendor/fontawesome/webfonts"
    if fonts.is_dir():
        shutil.copy(ASSETS / "offline/fontawesome-solid.woff2", fonts / "fa-solid-900.woff2")


def join_sheets(app, exception):
    if not exception and app.builder.format == "html":
        one_sheet(Path(app.outdir))


def setup(app):
    app.connect("build-finished", finish)
    app.connect("build-finished", join_sheets, priority=900)  # the theme writes its colours of code at 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
