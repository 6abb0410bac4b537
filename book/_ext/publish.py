"""What the site says of itself: titles, descriptions, a preview, buttons, a sitemap, a page for dead ends.

The settings stand at the top of _config.yml. What needs an address is left out where that address is empty.
"""

import html
import os
import re
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

from docutils import nodes
from sphinx.errors import ConfigError

EXTENT = (50, 160)  # characters of a description: search engines cut longer ones
PREVIEW = "_static/preview.png", 1200, 630
PREVIEW_TEXT = "The book's first page: the idea in one minute, and attention maps of four heads under two sliders."
OTHERS = {  # title and description of pages that no chapter is
    "search": (
        "Search",
        "Search all chapters of this book on multi-head attention: terms, symbols, mistakes and their names.",
    ),
}
HOSTS = {  # of repositories -> Binder's name for them, and the way to a file's editor
    "github.com": ("gh", "edit"),
    "gitlab.com": ("gl", "-/edit"),
}


# ---- the addresses ----


def site_address(text):
    """The site's address with a slash at its end, or "" if there is none."""
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in ("https", "http") or "." not in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(f"html.baseurl is {text!r}: https://host/path/ is needed, or nothing")
    return text.rstrip("/") + "/"


def repository_parts(text):
    """(host, owner, name) of a repository's address, or None if there is none."""
    if not text:
        return None
    parts = urlsplit(text.removesuffix("/").removesuffix(".git"))
    found = re.fullmatch(r"/([\w.-]+(?:/[\w.-]+)*)/([\w.-]+)", parts.path)
    one_owner = found and (parts.netloc != "github.com" or "/" not in found[1])
    if parts.scheme != "https" or parts.netloc not in HOSTS or not one_owner or parts.query or parts.fragment:
        known = " or ".join(f"https://{host}/owner/name" for host in HOSTS)
        raise ConfigError(f"repository.url is {text!r}: {known} is needed, or nothing")
    return parts.netloc, found[1], found[2]


def buttons(repository, branch, path):
    """[(text, address)]: where the page with that source in the repository can be run and edited."""
    parts = repository_parts(repository)
    if not parts:
        return []
    host, owner, name = parts
    service, edit = HOSTS[host]
    path, ref = quote(path), quote(branch)
    found = []
    if path.endswith(".ipynb"):
        project = f"{owner}/{name}" if service == "gh" else quote(f"{owner}/{name}", safe="")
        lab = quote(f"lab/tree/{path}", safe="")
        where = f"{service}/{project}/{quote(branch, safe='')}"
        found.append(("Run on Binder", f"https://mybinder.org/v2/{where}?urlpath={lab}"))
        if host == "github.com":
            found.append(("Run on Colab", f"https://colab.research.google.com/github/{owner}/{name}/blob/{ref}/{path}"))
    home = f"https://{host}/{owner}/{name}"
    return [*found, ("Edit this page", f"{home}/{edit}/{ref}/{path}"), ("All of the source", home)]


def colab_cell(repository, branch):
    """The code of the cell with which a notebook runs on Colab, or "" where no button leads there.

    `make refresh` puts it into the notebooks, and a test fails where it is missing.
    """
    parts = repository_parts(repository)
    if not parts or parts[0] != "github.com":
        return ""
    _, owner, name = parts
    return f'''\
import os
import sys

if "google.colab" in sys.modules:  # Colab has neither the package nor the stored results
    from google.colab import output

    source = "https://github.com/{owner}/{name}"
    folder, branch = "/content/mha-book", "{branch}"
    if not os.path.exists(folder):
        get_ipython().system(f"git clone --quiet --depth 1 --branch {{branch}} {{source}} {{folder}}")
        get_ipython().system(f"pip install --quiet '{{folder}}[book]' tqdm")
    os.chdir(f"{{folder}}/book")
    sys.path.insert(0, folder)  # the package reads its stored results beside itself
    output.enable_custom_widget_manager()'''


def settings(config, environ=os.environ):
    """(site address, repository, branch): _config.yml's; a host that knows the site's address may give it."""
    theme = config["html_theme_options"]
    site = site_address(environ.get("SITE_ADDRESS") or config["html_baseurl"] or "")
    repository = theme.get("repository_url") or ""
    repository_parts(repository)
    return site, repository, theme.get("repository_branch") or "main"


# ---- a page's own words ----


def plain(node):
    """A paragraph's text on one line; a formula as a reader would type it: $d_{model}$ is d_model."""
    node = node.deepcopy()
    for formula in list(node.findall(nodes.math)):
        tex = re.sub(r"\\([A-Za-z]+) ?", r"\1 ", formula.astext())
        formula.parent.replace(formula, nodes.Text(re.sub(r"[{}]", "", tex).strip()))
    return " ".join(node.astext().split())


def description(paragraphs):
    """The first paragraph's sentences, as many as a description holds; of the next ones where it is too short."""
    least, most = EXTENT
    text = ""
    for paragraph in paragraphs:
        for sentence in re.split(r"(?<=[.?!])\s+", paragraph):
            longer = f"{text} {sentence}".strip()
            if len(longer) > most and len(text) >= least:
                return text
            if len(longer) > most:
                return longer[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
            text = longer
        if len(text) >= least:
            break
    return text


def paragraphs_of(doctree):
    """The texts of a page's paragraphs in order, without those in notes, lists and outputs."""
    for section in doctree.findall(nodes.section):
        for node in section.children:
            if isinstance(node, nodes.paragraph):
                text = plain(node)
                if text:
                    yield text


def head(*, title, about, kind, site, page):
    """The tags of a page's head that describe it."""
    tags = [("name", "description", about), ("property", "og:title", title), ("property", "og:description", about)]
    tags += [("property", "og:type", kind), ("property", "og:locale", "en_GB")]
    tags += [("name", "twitter:card", "summary_large_image" if site else "summary")]
    if site:
        name, width, height = PREVIEW
        tags += [("property", "og:url", urljoin(site, page)), ("property", "og:image", urljoin(site, name))]
        tags += [("property", "og:image:width", width), ("property", "og:image:height", height)]
        tags += [("property", "og:image:alt", PREVIEW_TEXT)]
    return "".join(
        f'<meta {kind} ="{name}" content="{html.escape(str(text))}"/>\n'.replace(" =", "=") for kind, name, text in tags
    )


# ---- the build ----


def configure(app, config):
    config.html_baseurl = settings(config)[0]


def describe(app, pagename, templatename, context, doctree):
    """The tags and the buttons of one page."""
    site, repository, branch = settings(app.config)
    book = app.config.html_title
    root = pagename == app.config.root_doc
    title = re.sub(r"<[^>]+>", "", html.unescape(context.get("title") or book))
    about = description(paragraphs_of(doctree)) if doctree else ""
    title, about = OTHERS.get(pagename, (title, about))
    kind = "website" if root else "article"
    tags = head(title=title, about=about, kind=kind, site=site, page=f"{pagename}.html")
    for size, relation in ((32, 'icon" type="image/png'), (180, "apple-touch-icon")):
        address = context["pathto"](f"_static/icon-{size}.png", 1)
        tags += f'<link rel="{relation}" sizes="{size}x{size}" href="{html.escape(address)}"/>\n'
    context["metatags"] = context.get("metatags", "") + tags
    if doctree is not None and repository:
        path = Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
        found = buttons(repository, branch, path)
        links = [{"type": "link", "text": text, "tooltip": text, "url": address} for text, address in found]
        group = {"type": "group", "icon": "fas fa-external-link-alt", "label": "elsewhere-buttons"}
        context["header_buttons"].append(group | {"tooltip": "Run or edit this page", "buttons": links})


def finish(app, exception):
    """The files beside the pages."""
    if exception or app.builder.name != "html":
        return
    out, site = Path(app.outdir), settings(app.config)[0]
    root, title = f"{app.config.root_doc}.html", app.config.html_title
    (out / ".nojekyll").touch()  # GitHub Pages would leave out folders that begin with _
    page = (out / root).read_text(encoding="utf-8")
    page = page.replace(
        f"<title>{html.escape(title)} &#8212; {html.escape(title)}</title>", f"<title>{html.escape(title)}</title>"
    )
    (out / root).write_text(page, encoding="utf-8")
    tags = "".join(re.findall(r"^\s*(<meta (?:name|property)=\"(?:description|og:|twitter:)[^>]*>\s*)$", page, re.M))
    (out / "index.html").write_text(front(root, title, tags, site), encoding="utf-8")
    (out / "404.html").write_text(dead_end(root, title, site), encoding="utf-8")
    for name in ("sitemap.xml", "robots.txt"):
        (out / name).unlink(missing_ok=True)
    if site:
        (out / "sitemap.xml").write_text(sitemap(site, sorted(app.env.found_docs)), encoding="utf-8")
        (out / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {site}sitemap.xml\n", encoding="utf-8")


def sitemap(site, documents):
    addresses = "".join(f"  <url><loc>{html.escape(urljoin(site, quote(d)))}.html</loc></url>\n" for d in documents)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n{addresses}</urlset>\n'


def front(root, title, tags, site):
    """The page at the site's root: it leads on to the first page, and says the same of itself."""
    canonical = f'<link rel="canonical" href="{html.escape(urljoin(site, root))}"/>\n' if site else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Refresh" content="0; url={root}"/>
<title>{html.escape(title)}</title>
{canonical}{tags}</head>
<body><p><a href="{root}">{html.escape(title)}</a></p></body>
</html>
"""


def dead_end(root, title, site):
    """The page that a host shows for an address that leads nowhere.

    It stands at any depth, so it needs nothing beside itself. Its links are absolute where the site's address is
    known; elsewhere its script looks for the site's root, one folder up after the other.
    """
    home, search = (html.escape(urljoin(site, page)) for page in (root, "search.html"))
    template = (Path(__file__).parent / "404.html").read_text(encoding="utf-8")
    for name, value in {
        "TITLE": html.escape(title),
        "HOME": home,
        "SEARCH": search,
        "KNOWN": "yes" if site else "",
    }.items():
        template = template.replace(f"@{name}@", value)
    return template


def setup(app):
    app.connect("config-inited", configure, priority=100)
    app.connect("html-page-context", describe, priority=600)  # after the theme has made its buttons
    app.connect("build-finished", finish, priority=100)  # before the table of contents writes its index.html
    return {"parallel_read_safe": True, "parallel_write_safe": True}
