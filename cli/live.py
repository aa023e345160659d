"""`--live`: serves a page that shows runs under way, from a process of its own."""

import contextlib
import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from contracts.errors import BadInput
from contracts.project import ROOT

LAST_REQUEST_SECONDS = 3.0  # at the end, for open pages to ask once more (they ask every second)
_HOST = "127.0.0.1"
_MOST = 65535
_END_SECONDS = LAST_REQUEST_SECONDS + 7.0  # with time to finish an answer


class LiveView:
    """The live view of a command, if one is wanted.

    The port is taken at once, so that a bad one is refused before anything starts.
    """

    def __init__(self, port: int | None) -> None:
        """`port`: None for no live view, 0 for any free port."""
        self._listening = None if port is None else _listen(port)

    @contextlib.contextmanager
    def showing(self, directories: Sequence[Path], report: Callable[[str], None]) -> Iterator[None]:
        """Serve these runs during the block; open pages still get the final state afterwards."""
        if self._listening is None:
            yield
            return
        token = secrets.token_urlsafe(12)  # other users of this machine do not know it
        report(f"live: http://{_HOST}:{self._listening.getsockname()[1]}/{token}/")
        server = _start(self._listening, directories, token)
        try:
            yield
        finally:
            _end(server)


def _listen(port: int) -> socket.socket:
    if not 0 <= port <= _MOST:
        raise BadInput(f"--live {port}: not a port; give one up to {_MOST}, or no number")
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        raise BadInput(
            f"--live {port}: cannot be used ({error.strerror}); name another port, or none"
        ) from None


def _start(
    listening: socket.socket, directories: Sequence[Path], token: str
) -> "subprocess.Popen[str]":
    with listening:
        server = subprocess.Popen(
            [sys.executable, "-m", "cli.live_server", str(listening.fileno())],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            pass_fds=(listening.fileno(),),
            start_new_session=True,  # Ctrl-C reaches the run alone, which then ends this
        )
    _tell(server, json.dumps([token, *(str(directory.resolve()) for directory in directories)]))
    return server


def _tell(server: "subprocess.Popen[str]", line: str) -> None:
    with contextlib.suppress(OSError):  # a live view that broke must not break the run
        if server.stdin is not None:
            server.stdin.write(f"{line}\n")
            server.stdin.flush()


def _end(server: "subprocess.Popen[str]") -> None:
    _tell(server, "over")
    try:
        server.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
