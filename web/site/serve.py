"""Small server of the site for this machine alone: ``python serve.py [FOLDER] [--port 8137]``.

It needs nothing but Python's standard library, so that a folder on a stick carries it. It answers
as hosts of static pages do: with the kind of each file, with an age that a browser may keep it for,
compressed where the browser takes that.
"""

from __future__ import annotations

import argparse
import errno
import gzip
import os
import sys
import webbrowser
from email.utils import formatdate
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

HOST, PORT = "127.0.0.1", 8137
"""Other machines cannot reach it. A browser keeps answers by the address, so it is always the
same where it is free."""
AGE = 600
"""Seconds for which a browser may keep a file, as on GitHub Pages."""
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".ipynb": "application/json",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".whl": "application/octet-stream",
    ".zip": "application/zip",
}
"""Kinds of files, which an operating system may name otherwise, or not at all."""
SQUEEZED = (".css", ".html", ".js", ".json", ".mjs", ".svg", ".txt", ".wasm")


class Handler(SimpleHTTPRequestHandler):
    """Answers to requests for files of the folder."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, **KINDS}  # noqa: RUF012  # its type
    protocol_version = "HTTP/1.1"

    def end_headers(self) -> None:
        self.send_header("Cache-Control", f"max-age={AGE}")
        super().end_headers()

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Send the head of an answer, and return what follows it."""
        path = Path(self.translate_path(self.path))
        takes = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (takes and path.suffix in SQUEEZED and path.is_file()):
            return super().send_head()
        changed = formatdate(path.stat().st_mtime, usegmt=True)
        if self.headers.get("If-Modified-Since") == changed:
            self.send_response(304)
            self.end_headers()
            return None
        content = squeezed(str(path), path.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Last-Modified", changed)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Vary", "Accept-Encoding")
        self.end_headers()
        return BytesIO(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of answers that went well."""

    def log_error(self, format: str, *args: Any) -> None:
        print(f"{self.path}: {format % args}", file=sys.stderr)


class SiteServer(ThreadingHTTPServer):
    """Server that says nothing of a browser that has left before its answer."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@lru_cache(maxsize=256)
def squeezed(file: str, _: int) -> bytes:
    """Return the content of a file, compressed; it is kept until the file changes."""
    return gzip.compress(Path(file).read_bytes(), 6)


def server(folder: Path, port: int = PORT) -> SiteServer:
    """Return the server of a folder, at a free port where the given one is taken."""
    handler = partial(Handler, directory=os.fspath(folder))
    try:
        return SiteServer((HOST, port), handler)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        return SiteServer((HOST, 0), handler)


def serve(folder: Path, port: int = PORT, open_browser: bool = False) -> None:
    """Serve a folder until Ctrl+C, and say where."""
    with server(folder, port) as running:
        address = f"http://{HOST}:{running.server_port}/"
        print(f"The site is at {address} until you press Ctrl+C here.", flush=True)
        if open_browser:
            webbrowser.open(address)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve the site to this machine alone.")
    here = Path(__file__).resolve().parent
    parser.add_argument("folder", nargs="?", type=Path, default=here)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--open", action="store_true", help="open it in a browser")
    given = parser.parse_args()
    serve(given.folder, given.port, given.open)
