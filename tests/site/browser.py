"""Find a browser for the site tests, or install one: python tests/site/browser.py"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")


def find():
    """Path of a Chromium-like browser, or None: on PATH first, then playwright's own."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install():
    """Try playwright's download, then Debian's package as root. Quiet; find() tells if it worked."""
    attempts = [[[sys.executable, "-m", "playwright", "install", "chromium"]]]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        attempts.append([["apt-get", "update"], ["apt-get", "install", "--yes", "chromium"]])
    for commands in attempts:
        for command in commands:
            print("No browser yet, trying:", " ".join(command), flush=True)
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if find():
            return


def main():
    if not find():
        install()
    found = find()
    print(f"Browser for the site tests: {found}" if found else "No browser found: the site tests will be skipped.")
    if not found and os.environ.get("CI"):
        raise SystemExit("CI is set, and there the site tests may not be skipped.")


if __name__ == "__main__":
    main()
