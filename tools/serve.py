"""Serve a folder on this machine: python tools/serve.py _build/html [first port to try]"""

import functools
import http.server
import signal
import sys
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, and its 404.html where there is none, as hosts of static sites do."""

    def log_message(self, *args):
        pass

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / "404.html"
        if code != 404 or not page.is_file():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def server(folder, port):
    """A server on the first free port from `port` on, on this machine only."""
    handler = functools.partial(Handler, directory=folder)
    for candidate in range(port, port + 100):
        try:
            return http.server.ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
    raise SystemExit(
        f"Ports {port} to {port + 99} are all taken: name another, e.g. python tools/serve.py {folder} 9000"
    )


def main(folder, port=8000):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
    with server(folder, int(port)) as running:
        print(f"The book is at http://127.0.0.1:{running.server_port}/  (Ctrl-C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main(*sys.argv[1:])
