"""Measures a link between two hosts over plain TCP: its round trip, and its rate both ways.

The child's node calls `measure` and its parent's node `serve`, before the training starts. Rates
are taken after slow start (once a fifth of the bytes have come) and include the frames' headers.
"""

import math
import socket
import time
from typing import Any

from contracts.control import Measured
from contracts.links import LinkSpec, Shape

PORT = 5554
PINGS = 5
_MSS, _FRAME = 1448, 1514  # payload and frame of a full TCP segment
_WARM_SHARE = 0.2
_SLOW_START_ROUND_TRIPS = 12
_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.25, 30.0
_LEAST_BYTES, _MOST_BYTES = 250_000, 8_000_000  # fewer packets would not make a rate
_PATIENCE_SECONDS = 300.0
# So many times what is on the way are enough to measure a rate: to send, and in a socket's buffer,
# half of which is for the kernel's own accounts.
_FILLS, _BUFFERS = 6, 3
_QUEUED = 0.45  # of what is on the way: CUBIC goes back to 0.7 of its window when a queue is full


def probe_bytes(shape: Shape, round_trip: float) -> int:
    """Return how much to send: enough to fill the link for many round trips, within limits."""
    if shape.rate is None:
        return _MOST_BYTES // 4
    seconds = max(_SHORTEST_SECONDS, _SLOW_START_ROUND_TRIPS * round_trip)
    wanted = round(shape.rate * min(seconds, _LONGEST_SECONDS) / 8)
    return max(_LEAST_BYTES, min(_MOST_BYTES, wanted))


def can_be_filled(shape: Shape, round_trip: float, socket_buffer: int | None = None) -> bool:
    """Return whether a probe can reach the link's rate: it must be larger than what is on the way.

    Until TCP's window holds all of that, the link is idle for a part of every round trip. On a long
    fat link that takes more bytes than we send, and small buffers or queues never allow it.
    """
    if shape.rate is None or shape.queueing == "fq_codel":  # which drops what one probe queues
        return False
    on_the_way = shape.rate * round_trip / 8
    roomy = socket_buffer is None or socket_buffer >= _BUFFERS * on_the_way
    roomy = roomy and shape.queue * _FRAME >= _QUEUED * on_the_way
    return roomy and probe_bytes(shape, round_trip) >= _FILLS * on_the_way


def expected_round_trip(up: Shape, down: Shape) -> float:
    """Return the sum of the two delays: a full token bucket lets a small frame pass at once."""
    return up.delay + down.delay


def listen(address: str) -> socket.socket:
    """Open the parent's end, ready to be connected to."""
    listener = socket.create_server((address, PORT))
    listener.settimeout(_PATIENCE_SECONDS)
    return listener


def serve(listener: socket.socket) -> None:
    """Do the parent's part: echo the pings, take the upload, send the download."""
    with listener:
        connection, _ = listener.accept()
    with connection:
        connection.settimeout(_PATIENCE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(PINGS):
            connection.sendall(_exactly(connection, 1))
        upload, download = (int(word) for word in _exactly(connection, 40).split())
        rate = _receive(connection, upload)
        connection.sendall(f"{rate:40.6f}".encode())
        _exactly(connection, 1)
        connection.sendall(bytes(download))
        _exactly(connection, 1)


def measure(address: str, upload: int, download: int) -> Measured:
    """Do the child's part and return what was measured; the parent must be listening already."""
    with socket.create_connection((address, PORT), _PATIENCE_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trips = []
        for _ in range(PINGS):
            start = time.monotonic()
            connection.sendall(b".")
            _exactly(connection, 1)
            trips.append(time.monotonic() - start)
        connection.sendall(f"{upload:19d} {download:20d}".encode())
        connection.sendall(bytes(upload))
        rate_up = float(_exactly(connection, 40))
        connection.sendall(b".")
        rate_down = _receive(connection, download)
        connection.sendall(b".")
    return Measured(sorted(trips)[PINGS // 2], rate_up, rate_down)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the other end of a link probe is gone")
        data += part
    return data


def _receive(connection: socket.socket, size: int) -> float:
    """Take `size` bytes and return the rate on the wire after slow start, in bits per second."""
    # The buffer has room for all that has come: what is left unread would count as coming later.
    buffer = memoryview(bytearray(size))
    taken, warm = 0, math.ceil(size * _WARM_SHARE)
    warm_at: tuple[int, float] | None = None
    while taken < size:
        got = connection.recv_into(buffer[taken:])
        if not got:
            raise ConnectionError("the other end of a link probe is gone")
        taken += got
        if warm_at is None and taken >= warm:
            warm_at = (taken, time.monotonic())
    assert warm_at is not None
    seconds = time.monotonic() - warm_at[1]
    return 8 * (taken - warm_at[0]) * _FRAME / _MSS / seconds if seconds > 0 else math.inf


def record(
    link: LinkSpec,
    path: tuple[Shape, Shape],
    measured: Measured,
    socket_buffer: int | None = None,
) -> dict[str, Any]:
    """Return a probe as it stands in probes.json: what was asked, what was measured, the errors.

    `path` has the shapes up and down of all links between the two hosts together. The rate's error
    is that of directions which a probe can fill, None if there is none.
    """
    up, down = path
    asked = expected_round_trip(up, down)
    rates = ((up, measured.rate_up), (down, measured.rate_down))
    errors = [
        found / shape.rate - 1
        for shape, found in rates
        if shape.rate and can_be_filled(shape, asked, socket_buffer)
    ]
    return {
        "link": link.name,
        "tier": link.tier,
        "profile": link.profile,
        "round_trip_asked": asked,
        "round_trip_measured": measured.round_trip,
        "round_trip_error": measured.round_trip - asked,
        "rate_up_asked": up.rate,
        "rate_up_measured": _finite(measured.rate_up),
        "rate_down_asked": down.rate,
        "rate_down_measured": _finite(measured.rate_down),
        "rate_error": max(errors, key=abs, default=None),
        "jitter": max(up.jitter, down.jitter),
        "loss": max(up.loss, down.loss),
    }


def _finite(rate: float) -> float | None:
    return rate if math.isfinite(rate) else None
