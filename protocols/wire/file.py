"""Messages as files: a magic number, the frames' lengths, and each frame at a 64-byte boundary."""

import contextlib
import os
import struct
from pathlib import Path

from contracts.storage import about
from protocols.wire.codec import decode, encode
from protocols.wire.header import MAX_TENSORS
from protocols.wire.message import Expected, Message, Refused

MAGIC = b"METROWIR"
ALIGNMENT = 64  # aligns the arrays read back for vector instructions
PREFIX = struct.Struct("<8sQ")
# The most that a file has beyond the frames: the table of lengths and the padding.
OVERHEAD = PREFIX.size + (MAX_TENSORS + 1) * (8 + ALIGNMENT)


def write_file(path: Path, message: Message) -> None:
    """Write a dot file in the same directory, then rename it, so that no reader sees half a file.

    Only one writer may use a path at a time. Nothing is synced: the file survives its processes,
    but not a crash of the host.
    """
    pieces = to_pieces(message)
    aside = path.with_name(f".{path.name}")
    try:
        with about(path), aside.open("wb") as file:
            file.writelines(pieces)
        os.rename(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


def to_pieces(message: Message) -> list[bytes | memoryview]:
    """Return the contents of a message's file, piece by piece and without copying arrays."""
    frames = [memoryview(frame) for frame in encode(message)]
    lengths = [frame.nbytes for frame in frames]
    pieces: list[bytes | memoryview] = [PREFIX.pack(MAGIC, len(frames))]
    pieces.append(struct.pack(f"<{len(frames)}Q", *lengths))
    position = PREFIX.size + 8 * len(frames)
    for frame, length in zip(frames, lengths, strict=True):
        pieces += [bytes(-position % ALIGNMENT), frame]
        position += -position % ALIGNMENT + length
    return pieces


def read_file(path: Path, expected: Expected | None = None) -> Message:
    """Read and decode a file; the tensors are views on the buffer that was read."""
    expected = expected or Expected()
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size > expected.max_bytes + OVERHEAD:
            raise Refused("oversize", f"a file of {size} bytes, at most {expected.max_bytes}")
        content = memoryview(file.readall())
    return from_bytes(content, expected)


def from_bytes(content: memoryview, expected: Expected | None = None) -> Message:
    """Decode the contents of a message's file; the tensors are views on them."""
    return decode(_split(content), expected or Expected())


def _split(content: memoryview) -> list[memoryview]:
    if content.nbytes < PREFIX.size:
        raise Refused("truncated", f"a file of {content.nbytes} bytes")
    magic, count = PREFIX.unpack_from(content)
    if magic != MAGIC:
        raise Refused("malformed", "the file does not start as ours do")
    if count > MAX_TENSORS + 1:
        raise Refused("oversize", f"a file of {count} frames, at most {MAX_TENSORS + 1}")
    position = PREFIX.size + 8 * count
    if content.nbytes < position:
        raise Refused("truncated", f"a file of {content.nbytes} bytes and {count} frames")
    frames = []
    for length in struct.unpack_from(f"<{count}Q", content, PREFIX.size):
        position += -position % ALIGNMENT
        if position + length > content.nbytes:
            raise Refused("truncated", f"the file ends after {content.nbytes} bytes")
        frames.append(content[position : position + length])
        position += length
    if position != content.nbytes:
        raise Refused("malformed", "the file goes on after its last frame")
    return frames
