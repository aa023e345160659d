"""The process behind `--live`: serves the report page of runs under way, on loopback only.

`cli.live` starts it with a listening socket and writes to its standard input: first the token of
its address and the runs' directories as one line of JSON, later a line that says they are over. It
exits after that line, or when its input is closed.
"""

import contextlib
import hmac
import json
import os
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from cli.live import LAST_REQUEST_SECONDS
from reports.page.html import json_text, report_html
from reports.page.live_records import LiveRuns

_NICE = 15  # gives way to everything that is measured
_OPEN = 10.0  # seconds after its last request that a page counts as open
_POLL = 0.05
_MOST_CONNECTIONS = 32  # each has a thread


class LiveServer(ThreadingHTTPServer):
    """Answers one request at a time: reading the records twice at once would only take longer."""

    daemon_threads = False

    def __init__(self, listening: socket.socket, runs: LiveRuns, token: str) -> None:
        super().__init__(listening.getsockname(), LiveHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.runs = runs
        self.place = f"/{token}/"
        self.over = False
        self._doors = threading.Lock()
        self._open: dict[int, socket.socket] = {}  # by identity, the oldest first
        self.lock = threading.Lock()
        self._asked: dict[str, float] = {}  # page -> time of its last request

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; with too many at once, whoever has been slow for longest goes."""
        with self._doors:
            if len(self._open) >= _MOST_CONNECTIONS:
                _hang_up(self._open.pop(next(iter(self._open))))
            self._open[id(request)] = request
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that is over."""
        with self._doors:
            self._open.pop(id(request), None)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """End, without waiting for those who are still to say what they want."""
        with self._doors:
            for request in self._open.values():
                _hang_up(request)
        super().server_close()

    def note_request(self, page: str) -> None:
        """Note that a page is open, because it has sent a request."""
        self._asked[page] = time.monotonic()

    def note_informed(self, page: str) -> None:
        """Note that a page knows that the runs are over, and sends no more requests."""
        self._asked.pop(page, None)

    def wait_for_open_pages(self) -> None:
        """Wait until all open pages know that the runs are over, but not for long."""
        deadline = time.monotonic() + LAST_REQUEST_SECONDS
        while time.monotonic() < deadline and self._has_open_pages():
            time.sleep(_POLL)

    def _has_open_pages(self) -> bool:
        now = time.monotonic()
        return any(now - asked < _OPEN for asked in list(self._asked.values()))


def _hang_up(request: socket.socket) -> None:
    """Read nothing more from a connection; an answer under way still reaches its end."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RD)


class LiveHandler(BaseHTTPRequestHandler):
    """Serves `/TOKEN/`, the page, and `/TOKEN/fresh?page=ID&seen=STAMP`, its data if changed."""

    server: LiveServer
    timeout = 10

    def do_GET(self) -> None:
        """Answer one request."""
        if not self._is_for_us():
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "This address is for this machine only")
            return
        where, _, query = self.path.partition("?")
        place = self.server.place
        if hmac.compare_digest(where.encode(), place.encode()):
            self._answer("text/html", self._page())
        elif hmac.compare_digest(where.encode(), f"{place}fresh".encode()):
            given = dict(parse_qsl(query))
            self._answer_page(given.get("page", ""), given.get("seen", ""))
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: nobody reads it."""

    def _is_for_us(self) -> bool:
        """Tell our own pages from others whose host name was pointed here (DNS rebinding)."""
        port = self.server.server_address[1]
        return self.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}")

    def _page(self) -> str:
        server = self.server
        with server.lock:
            server.runs.refresh(at_once=server.over)
            live = {"stamp": server.runs.stamp, "over": server.over}
            return report_html({**server.runs.data, "live": live})

    def _answer_page(self, page: str, seen: str) -> None:
        server = self.server
        server.note_request(page)
        with server.lock:
            over = server.over
            server.runs.refresh(at_once=over)
            stamp = server.runs.stamp
            data = None if seen == str(stamp) else server.runs.data
            text = json_text({"stamp": stamp, "over": over, "data": data})
        self._answer("application/json", text)
        if over:
            server.note_informed(page)

    def _answer(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve the runs named on the first line of the input until its next line or its end."""
    os.nice(_NICE)
    token, *names = json.loads(sys.stdin.readline() or '[""]')
    directories = [Path(name) for name in names]
    listening = socket.socket(fileno=int(sys.argv[1]))
    with LiveServer(listening, LiveRuns(directories), token) as server:
        answering = threading.Thread(target=server.serve_forever)
        answering.start()
        server.over = bool(sys.stdin.readline())
        if server.over:
            server.wait_for_open_pages()
        server.shutdown()
        answering.join()


if __name__ == "__main__":
    main()
