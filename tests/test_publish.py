"""What the site says of itself (book/_ext/publish.py): with addresses, without them, and with wrong ones."""

import json
import re
import subprocess
import sys
import types
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
import yaml
from chapters import BOOK, NOTEBOOKS
from docutils import nodes
from sphinx.errors import ConfigError

ROOT = BOOK.parent
sys.path[:0] = [str(BOOK / "_ext"), str(ROOT / "tools")]
import publish
import refresh_book

SITE = "https://you.example/some/path"
GITHUB = "https://github.com/you/the-book"
GITLAB = "https://gitlab.com/a-group/you/the-book"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def test_settings_stand_in_one_place():
    assert {"title", "author", "copyright"} <= set(CONFIG)
    assert set(CONFIG["repository"]) == {"url", "branch"} and "baseurl" in CONFIG["html"]
    publish.site_address(CONFIG["html"]["baseurl"])
    publish.repository_parts(CONFIG["repository"]["url"])
    assert CONFIG["title"] in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert CONFIG["author"].lower() in (ROOT / "LICENSE").read_text(encoding="utf-8").lower()


@pytest.mark.parametrize("text", ["https://you.example/book", "https://you.example/book/", "https://you.example"])
def test_site_address_ends_in_one_slash(text):
    assert publish.site_address(text) == text.rstrip("/") + "/"


@pytest.mark.parametrize(
    "text", ["you.example/book", "https://", "https://localhost/", "ftp://a.b/", "https://a.b/?x=1"]
)
def test_wrong_site_address_is_refused(text):
    with pytest.raises(ConfigError, match=r"html\.baseurl"):
        publish.site_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "github.com/you/book",
        "http://github.com/you/book",
        "git@github.com:you/book.git",
        "https://github.com/you",
        "https://github.com/a/b/c",
        "https://github.com/you/book?tab=readme",
        "https://codeberg.org/you/book",
    ],
)
def test_wrong_repository_is_refused(text):
    with pytest.raises(ConfigError, match=r"repository\.url"):
        publish.repository_parts(text)


@pytest.mark.parametrize("text", [GITHUB, GITHUB + "/", GITHUB + ".git"])
def test_repository_is_taken_apart(text):
    assert publish.repository_parts(text) == ("github.com", "you", "the-book")


def test_buttons_of_a_notebook_on_github():
    found = dict(publish.buttons(GITHUB, "main", "book/01 a.ipynb"))
    assert list(found) == ["Run on Binder", "Run on Colab", "Edit this page", "All of the source"]
    binder = urlsplit(found["Run on Binder"])
    assert (binder.netloc, binder.path) == ("mybinder.org", "/v2/gh/you/the-book/main")
    assert parse_qs(binder.query) == {"urlpath": ["lab/tree/book/01%20a.ipynb"]}
    assert found["Run on Colab"] == (
        "https://colab.research.google.com/github/you/the-book/blob/main/book/01%20a.ipynb"
    )
    assert found["Edit this page"] == f"{GITHUB}/edit/main/book/01%20a.ipynb"
    assert found["All of the source"] == GITHUB


def test_buttons_elsewhere():
    assert publish.buttons("", "main", "book/a.ipynb") == []
    assert [text for text, _ in publish.buttons(GITHUB, "main", "a.md")] == ["Edit this page", "All of the source"]
    found = dict(publish.buttons(GITLAB, "a/branch", "a.ipynb"))
    assert list(found) == ["Run on Binder", "Edit this page", "All of the source"], "Colab opens GitHub's alone"
    assert urlsplit(found["Run on Binder"]).path == "/v2/gl/a-group%2Fyou%2Fthe-book/a%2Fbranch"
    assert found["Edit this page"] == f"{GITLAB}/-/edit/a/branch/a.ipynb"


def test_host_may_give_the_site_address():
    config = {"html_baseurl": "https://a.example/", "html_theme_options": {"repository_branch": "trunk"}}
    assert publish.settings(config, {}) == ("https://a.example/", "", "trunk")
    assert publish.settings(config, {"SITE_ADDRESS": SITE}) == (SITE + "/", "", "trunk")


# ---- Colab ----


def on_colab(code, folder, monkeypatch):
    """Runs the cell as Colab would, /content being a folder; returns its commands and what it asked of Colab."""
    commands, asked = [], []
    output = types.SimpleNamespace(enable_custom_widget_manager=lambda: asked.append("widgets"))
    colab = types.ModuleType("google.colab")
    colab.output = output
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    shell = types.SimpleNamespace(system=commands.append)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder / "mha-book/book").mkdir(parents=True, exist_ok=True)
    exec(code.replace("/content", str(folder)), {"get_ipython": lambda: shell})
    return commands, asked


def test_colab_cell_fetches_the_book_once(tmp_path, monkeypatch):
    code = publish.colab_cell(GITHUB, "main")
    absent = code.replace("os.path.exists(", "not os.path.exists(")  # the folder is there for chdir
    commands, asked = on_colab(absent, tmp_path, monkeypatch)
    assert commands[0] == f"git clone --quiet --depth 1 --branch main {GITHUB} {tmp_path}/mha-book"
    assert commands[1] == f"pip install --quiet '{tmp_path}/mha-book[book]' tqdm" and asked == ["widgets"]
    assert Path.cwd() == tmp_path / "mha-book/book" and sys.path[0] == f"{tmp_path}/mha-book"
    assert on_colab(code, tmp_path, monkeypatch) == ([], ["widgets"])


def test_colab_cell_does_nothing_elsewhere(monkeypatch):
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    exec(publish.colab_cell(GITHUB, "main"), {})
    assert publish.colab_cell("", "main") == publish.colab_cell(GITLAB, "main") == ""


def test_refresh_gives_notebooks_the_colab_cell_and_takes_it_away():
    cells = [nbformat.v4.new_markdown_cell("# T", id="a"), nbformat.v4.new_code_cell("1", id="b")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    for code in ("first", "second"):
        notebook = refresh_book.with_colab(notebook, code)
        assert [cell.id for cell in notebook.cells] == ["a", "colab", "b"]
        assert notebook.cells[1].source == code and "remove-cell" in notebook.cells[1].metadata["tags"]
    assert [cell.id for cell in refresh_book.with_colab(notebook, "").cells] == ["a", "b"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_has_the_colab_cell_of_the_repository(path):
    wanted = publish.colab_cell(CONFIG["repository"]["url"], CONFIG["repository"]["branch"])
    found = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.get("id") == "colab"]
    assert found == ([wanted] if wanted else []), "run `make refresh` and commit what it changes"


# ---- a page's own words ----


def test_description_is_as_many_sentences_as_fit():
    assert publish.description(["One. Two."]) == "One. Two."
    assert publish.description(["A" * 60 + ".", "Next."]) == "A" * 60 + ".", "one paragraph, if it is long enough"
    assert publish.description(["Short.", "B" * 60 + "."]) == "Short. " + "B" * 60 + "."
    assert publish.description(["A" * 90 + ". " + "B" * 90 + "."]) == "A" * 90 + "."
    cut = publish.description(["word " * 60])
    assert len(cut) <= 160 and cut.endswith("word…")
    assert publish.description([]) == ""


def test_formulas_in_a_description_are_typed():
    formula = nodes.math("", r"d_{model} \times h")
    paragraph = nodes.paragraph("", "", nodes.Text("A width\nof "), formula, nodes.Text("."))
    assert publish.plain(paragraph) == "A width of d_model times h."


# ---- a small site, built ----

CONF = """
import sys
sys.path.insert(0, {ext!r})
project = html_title = "A Book & More"
extensions = ["myst_parser", "sphinx_book_theme", "publish"]
html_theme = "sphinx_book_theme"
html_static_path = [{assets!r}]
root_doc = "book/index"
html_baseurl = {site!r}
html_theme_options = {{"repository_url": {repository!r}, "repository_branch": "main"}}
html_use_index = False
"""
FIRST = "# A Book & More\n\nThis is the first page of a small book, and it is long enough. <b>\n\n[on](one.md)\n"
SECOND = '# One thing\n\nThis is another page of the same small book, with "words" of its own.\n'


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """build(site, repository) -> the folder of a site of two pages."""
    made = {}

    def build_(site, repository):
        if (site, repository) not in made:
            folder = tmp_path_factory.mktemp("small")
            (folder / "book").mkdir()
            (folder / "book/index.md").write_text(FIRST + "\n```{toctree}\none\n```\n")
            (folder / "book/one.md").write_text(SECOND)
            ext, assets = str(BOOK / "_ext"), str(BOOK / "assets")
            (folder / "conf.py").write_text(CONF.format(ext=ext, assets=assets, site=site, repository=repository))
            command = [sys.executable, "-m", "sphinx", "-q", "-W", str(folder), str(folder / "_out")]
            done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin"})
            assert done.returncode == 0, done.stderr
            made[site, repository] = folder / "_out"
        return made[site, repository]

    return build_


def tags(path):
    """{name or property: content} of a page's meta tags."""
    found = re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"', path.read_text(encoding="utf-8"))
    return dict(found)


def test_site_with_addresses(build):
    out = build(SITE, GITHUB)
    first, second, front = (tags(out / name) for name in ("book/index.html", "book/one.html", "index.html"))
    assert first["og:type"] == front["og:type"] == "website" and second["og:type"] == "article"
    assert first["og:image"] == f"{SITE}/_static/preview.png" == front["og:image"]
    assert (out / "_static/preview.png").is_file() and first["twitter:card"] == "summary_large_image"
    assert second["og:url"] == f"{SITE}/book/one.html"
    assert second["description"] == second["og:description"]
    assert "&quot;words&quot;" in (out / "book/one.html").read_text() or "“words”" in second["description"]
    page = (out / "book/one.html").read_text()
    assert f'<link rel="canonical" href="{SITE}/book/one.html"' in page
    assert "<title>One thing" in page and "<title>A Book &amp; More</title>" in (out / "book/index.html").read_text()
    assert f'href="{GITHUB}/edit/main/book/one.md"' in page and "mybinder" not in page, "a page of text runs nowhere"
    places = [e.text for e in ET.parse(out / "sitemap.xml").iter() if e.tag.endswith("loc")]
    assert places == [f"{SITE}/book/index.html", f"{SITE}/book/one.html"]
    assert f"Sitemap: {SITE}/sitemap.xml" in (out / "robots.txt").read_text()
    assert f'href="{SITE}/book/index.html"' in (out / "404.html").read_text()
    assert (out / ".nojekyll").exists()


def test_site_without_addresses(build):
    out = build("", "")
    for path in out.rglob("*.html"):
        if "_static" in path.parts:
            continue
        page = path.read_text(encoding="utf-8")
        assert not re.search(r'og:image|og:url|rel="canonical"|mybinder|colab|/edit/|elsewhere-buttons', page), path
        assert tags(path)["description"]
    assert not (out / "sitemap.xml").exists() and not (out / "robots.txt").exists()
    assert 'href="book/index.html"' in (out / "404.html").read_text()
    assert (out / ".nojekyll").exists()


# ---- how it gets to the world ----


def test_workflow_builds_tests_and_deploys():
    text = (ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8")
    flow = yaml.safe_load(text)
    on = flow[True]  # YAML 1.1 reads `on` as true
    assert on["push"]["branches"] == ["main"]
    assert flow["permissions"] == {"contents": "read"} and "github.ref" in flow["concurrency"]["group"]
    build, deploy = flow["jobs"]["build"], flow["jobs"]["deploy"]
    assert build["permissions"] == {"contents": "read", "pages": "read"}  # configure-pages asks for the site's address
    runs = [step["run"] for step in build["steps"] if "run" in step]
    assert any("make test" in run for run in runs), "nothing untested is deployed"
    upload = next(s for s in build["steps"] if s.get("uses", "").startswith("actions/upload-pages-artifact@"))
    assert upload["with"]["path"] == "_build/html"
    assert deploy["needs"] == "build" and deploy["permissions"] == {"pages": "write", "id-token": "write"}
    assert "main" in deploy["if"]
    for job in flow["jobs"].values():
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/none@v1")), step
            assert not re.search(r"secrets\.|token", json.dumps(step)), step


def test_binder_installs_what_make_installs():
    lines = (ROOT / ".binder/requirements.txt").read_text(encoding="utf-8").splitlines()
    named = [line.split(maxsplit=1)[1] for line in lines if line.startswith(("-r ", "-c "))]
    assert sorted((ROOT / ".binder" / name).resolve().name for name in named) == ["constraints.txt", "requirements.txt"]
    assert all((ROOT / ".binder" / name).is_file() for name in named)
    runtime = (ROOT / ".binder/runtime.txt").read_text(encoding="utf-8").strip()
    assert runtime in {f"python-3.{minor}" for minor in (11, 12, 13)}
