"""Sends batches of rtnetlink requests.

A netlink socket belongs to the network namespace that it was opened in. So one process configures
every host through the sockets that the hosts opened, without entering a namespace or running a
command.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_NLMSG_ERROR = 2
_NLMSG_DONE = 3
_RECEIVE_BYTES = 1 << 18


def open_socket() -> socket.socket:
    """Open a route-netlink socket in the network namespace of the calling process."""
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
    opened.bind((0, 0))
    return opened


def send(through: socket.socket, batch: bytes, purpose: str) -> None:
    """Send a batch and wait for every answer; the first refusal is an OSError naming `purpose`."""
    for start, end in _chunks(batch):
        through.send(batch[start:end])
        waiting = sum(1 for _ in _messages(batch[start:end]))
        # Wait for all: an answer left in the socket would be taken for one to the next batch.
        codes: list[int] = []
        while len(codes) < waiting:
            for kind, payload in _messages(through.recv(_RECEIVE_BYTES)):
                if kind == _NLMSG_ERROR:
                    codes.append(-struct.unpack_from("=i", payload)[0])
        refused = next((code for code in codes if code), 0)
        if refused:
            raise OSError(refused, f"{purpose}: {os.strerror(refused)}")


def dump(through: socket.socket, request: bytes) -> Iterator[tuple[int, bytes]]:
    """Send one dump request and yield every answer as (type, payload)."""
    through.send(request)
    while True:
        for kind, payload in _messages(through.recv(_RECEIVE_BYTES)):
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                code = -struct.unpack_from("=i", payload)[0]
                raise OSError(code or errno.EPROTO, "netlink dump refused")
            yield kind, payload


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset < len(data):
        length, kind, *_ = _HEADER.unpack_from(data, offset)
        yield kind, data[offset + _HEADER.size : offset + length]
        offset += (length + 3) & ~3


def _chunks(batch: bytes, most: int = 1 << 15) -> Iterator[tuple[int, int]]:
    """Cut a batch between messages, so that neither it nor its answers overflow a socket."""
    start = offset = 0
    while offset < len(batch):
        length = (_HEADER.unpack_from(batch, offset)[0] + 3) & ~3
        if offset + length - start > most and offset > start:
            yield start, offset
            start = offset
        offset += length
    if offset > start:
        yield start, offset
