"""Lighthouse over every page of the built site: python benchmarks/lighthouse.py [--runs 3] [--json FILE] [page ...]

Serves _build/html with gzip, as a static host does, and runs Lighthouse's mobile preset (a slow phone on slow 4G,
simulated) on each page; prints the medians as a table and says what fails. It builds nothing: `make book` first.

Needs Node 18.20 or newer and the pinned Lighthouse: npm install --prefix ~/lighthouse lighthouse@12.2.3, then
LIGHTHOUSE=~/lighthouse/node_modules/.bin/lighthouse. Scores fall where other programs use the machine: run it alone.
"""

import argparse
import functools
import gzip
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build/html"
sys.path.insert(0, str(ROOT / "tests/site"))
import browser

VERSION = "12.2.3"
PACKED = {".html", ".js", ".css", ".svg", ".json", ".txt", ".xml"}
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
TIMES = {"LCP s": "largest-contentful-paint", "TBT ms": "total-blocking-time", "CLS": "cumulative-layout-shift"}
FLOORS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}


@functools.cache
def packed(path):
    return gzip.compress(Path(path).read_bytes())


class Handler(http.server.SimpleHTTPRequestHandler):
    """Texts go gzipped, over connections that stay open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            path /= "index.html"
        if not path.is_file() or path.suffix not in PACKED:
            super().do_GET()
            return
        body = packed(str(path))
        self.send_response(200)
        for name, value in {
            "Content-Type": self.guess_type(str(path)),
            "Content-Encoding": "gzip",
            "Content-Length": str(len(body)),
            "Cache-Control": "max-age=600",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def command():
    """The pinned Lighthouse's program."""
    found = os.environ.get("LIGHTHOUSE") or shutil.which("lighthouse")
    if not found:
        raise SystemExit("no Lighthouse: the head of this file says how to install it")
    version = subprocess.check_output([found, "--version"], text=True).strip()
    if version != VERSION:
        raise SystemExit(f"{found} is Lighthouse {version}: the book's figures are of {VERSION}")
    return found


def report(program, address):
    """Lighthouse's own report of one run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run(
            [program, address, "--quiet", "--output=json", f"--output-path={file.name}", f"--chrome-flags={FLAGS}"],
            env=os.environ | {"CHROME_PATH": browser.find()},
            check=True,
        )
        return json.loads(Path(file.name).read_text(encoding="utf-8"))


def figures(found):
    """{column: number} of a report."""
    audits = found["audits"]
    row = {name: round(100 * (found["categories"][name]["score"] or 0)) for name in CATEGORIES}
    row |= {name: audits[audit]["numericValue"] for name, audit in TIMES.items()}
    row["LCP s"] /= 1000
    row["kB"] = audits["total-byte-weight"]["numericValue"] / 1000
    return row


def failed(found):
    """The audits that cost a page points outside performance."""
    for name in CATEGORIES[1:]:
        for part in found["categories"][name]["auditRefs"]:
            audit = found["audits"][part["id"]]
            if part["weight"] and audit["score"] is not None and audit["score"] < 1:
                yield f"{name}: {audit['title']}"


def pages():
    for path in sorted(SITE.rglob("*.html")):
        name = path.relative_to(SITE).as_posix()
        if not name.startswith("_") and 'http-equiv="Refresh"' not in path.read_text(encoding="utf-8"):
            yield name


def measured(program, address, runs):
    """(medians of one page, what failed on it)"""
    reports = [report(program, address) for _ in range(runs)]
    rows = [figures(found) for found in reports]
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}, sorted(set(failed(reports[0])))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*", help="as book/07_explorer.html; all if none is named")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, help="a file for the table as JSON")
    given = parser.parse_args()
    program, table, short = command(), {}, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"Lighthouse {VERSION}, mobile, median of {given.runs}; load of the machine now {os.getloadavg()[0]:.1f}\n")
    print(
        "| page | performance | accessibility | best practices | SEO | LCP s | TBT ms | CLS | kB |\n|---|" + "--:|" * 8
    )
    for page in given.pages or pages():
        row, faults = measured(program, f"http://127.0.0.1:{server.server_port}/{page}", given.runs)
        table[page] = row
        scores = " | ".join(f"{row[name]:.0f}" for name in CATEGORIES)
        print(
            f"| {page} | {scores} | {row['LCP s']:.1f} | {row['TBT ms']:.0f} | {row['CLS']:.3f} | {row['kB']:.0f} |",
            flush=True,
        )
        short += [f"{page}: {name} {row[name]:.0f}" for name, floor in FLOORS.items() if row[name] < floor]
        short += [f"{page}: {fault}" for fault in faults]
    server.shutdown()
    if given.json:
        given.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print("\n" + ("\n".join(short) or "Every page holds: " + ", ".join(f"{k} ≥ {v}" for k, v in FLOORS.items())))
    raise SystemExit(bool(short))


if __name__ == "__main__":
    main()
