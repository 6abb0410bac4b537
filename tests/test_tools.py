"""What make calls: serving, refreshing, vendored files."""

import hashlib
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import refresh_book


def test_server_moves_on_from_a_taken_port_and_ends_quietly(tmp_path):
    (tmp_path / "index.html").write_text("the book")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, str(ROOT / "tools/serve.py"), str(tmp_path), str(port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = process.stdout.readline()
        address = line.split()[4]
        assert address.startswith("http://127.0.0.1:") and f":{port}/" not in address
        assert urllib.request.urlopen(address).read() == b"the book"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10)[1] == ""
        assert process.returncode == 0


def test_vendored_files_are_what_was_fetched():
    offline = ROOT / "book/assets/offline"
    sums = dict(reversed(line.split()) for line in (offline / "SHA256SUMS").read_text().splitlines())
    files = {p.name for p in offline.iterdir() if p.suffix in {".js", ".woff2"}}
    assert set(sums) == files == {line.split(":")[0] for line in (offline / "VERSIONS").read_text().splitlines()}
    for name, digest in sums.items():
        assert hashlib.sha256((offline / name).read_bytes()).hexdigest() == digest


def test_refresh_twice_changes_no_byte(tmp_path):
    path = tmp_path / "small.ipynb"
    cells = [nbformat.v4.new_code_cell("print(1)\nprint(2)", id="a"), nbformat.v4.new_code_cell("3", id="b")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert refresh_book.refresh(path)
    assert not refresh_book.refresh(path)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-test.txt"])
def test_each_dependency_has_a_range_a_reason_and_a_frozen_version(name):
    frozen = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    for line in (ROOT / name).read_text().splitlines():
        if line and not line.startswith(("#", "-e")):
            requirement, _, reason = line.partition("#")
            assert ">=" in requirement and "<" in requirement and reason.strip()
            assert requirement.split(">=")[0].lower() in frozen
