"""The wire format: a msgpack header and one raw frame per tensor; data only, never code."""

from protocols.wire.codec import decode, encode
from protocols.wire.file import read_file, write_file
from protocols.wire.header import VERSION
from protocols.wire.message import MAX_BYTES, REASONS, Expected, Message, Refused

__all__ = [
    "MAX_BYTES",
    "REASONS",
    "VERSION",
    "Expected",
    "Message",
    "Refused",
    "decode",
    "encode",
    "read_file",
    "write_file",
]
