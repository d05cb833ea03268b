"""Looks at a site in a browser as wide as a phone: links, pictures, widths and the search."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final

from tools import packages

_PAGE: Final = Path(__file__).with_name("check.html")
_TIMEOUT_S: Final = 900.0
_BROWSER: Final = packages.Requirement(("chromium",), ("chromium",), "looking at the site")


class BrowserError(Exception):
    """The browser gave no answer."""


class _Handler(SimpleHTTPRequestHandler):
    """The site, the page that looks at it, and where that says what it saw."""

    def __init__(self, *arguments: Any, reports: SimpleQueue[list[str]], **more: Any) -> None:
        self._reports = reports
        super().__init__(*arguments, **more)

    def do_GET(self) -> None:
        if self.path.partition("?")[0] not in {"/check", "/pages"}:
            return super().do_GET()
        site = Path(self.directory)
        pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
        body = json.dumps(pages).encode() if self.path == "/pages" else _PAGE.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if self.path == "/pages" else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self._reports.put(said)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""


def problems(site: Path) -> list[str]:
    """Returns what is wrong with the site in a folder, a sentence each. Raises BrowserError and PackageError."""
    packages.ensure_packages([_BROWSER])
    reports: SimpleQueue[list[str]] = SimpleQueue()
    handler = partial(_Handler, directory=str(site), reports=reports)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, tempfile.TemporaryDirectory() as home:
        thread = Thread(target=server.serve_forever)
        thread.start()
        address = f"127.0.0.1:{server.server_address[1]}"
        browser = subprocess.Popen(_command(home, address), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return reports.get(timeout=_TIMEOUT_S)
        except Empty:
            raise BrowserError(f"chromium said nothing of the site within {_TIMEOUT_S:.0f} s") from None
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
            thread.join()


def _command(home: str, address: str) -> list[str]:
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-gpu")
    # What the site would fetch from elsewhere is not found.
    alone = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    # Root may not have chromium's own sandbox.
    own = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={home}", *quiet, alone)
    return ["chromium", *own, "--window-size=1000,900", f"http://{address}/check"]
