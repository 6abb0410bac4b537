"""What make calls: serving, refreshing, vendored files."""

import hashlib
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import nbformat
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import measure_wall_time
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


def test_timed_steps_compute_what_the_layer_computes():
    layer, x = measure_wall_time.make_layer(3, d_model=15), measure_wall_time.tokens(7, d_model=15)
    output, seconds = measure_wall_time.timed_steps(layer, x)
    assert output.dtype == layer(x).dtype == np.float32
    np.testing.assert_allclose(output, layer(x), rtol=1e-4, atol=1e-6)
    assert tuple(seconds) == measure_wall_time.STEPS


def test_stored_wall_times_are_whole():
    stored = json.loads(measure_wall_time.TARGET.read_text(encoding="utf-8"))
    assert stored["machine"]["threads"] == 1
    assert list(stored["runs"]) == [str(n) for n in measure_wall_time.ROUNDS]
    for by_heads in stored["runs"].values():
        assert list(by_heads) == [str(h) for h in measure_wall_time.HEADS]
        for found in by_heads.values():
            whole, *parts = found["microseconds"].values()
            assert sum(parts) == pytest.approx(whole, rel=0.15)
            assert found["ratio"] == pytest.approx(whole / by_heads["1"]["microseconds"]["whole"], rel=1e-4)


def test_the_oldest_versions_are_the_lower_bounds_of_the_ranges():
    bounds = re.findall(r"^([\w-]+)>=([\d.]+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)
    pinned = dict(
        re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8"), re.M)
    )
    assert list(pinned) == [name for name, _ in bounds]
    for name, bound in bounds:
        assert f"{pinned[name]}.".startswith(f"{bound}."), (
            f"{name}: {pinned[name]} is not the lowest that {bound} allows"
        )
