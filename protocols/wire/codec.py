"""Converts messages to frames and back without copying tensors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from protocols.wire.checks import all_finite, checksum
from protocols.wire.header import (
    DTYPES,
    FORMATS,
    MAX_TENSORS,
    Header,
    TensorEntry,
    pack_header,
    unpack_header,
)
from protocols.wire.message import Expected, Message, Refused

if TYPE_CHECKING:
    from typing_extensions import Buffer

EMPTY = memoryview(b"")  # memoryview cannot cast an array of no elements


def encode(message: Message) -> list[bytes | memoryview]:
    """Return the header and one frame per tensor; the frames are the tensors' own memory.

    Only arrays that are not C-contiguous or not little-endian are copied, once. Raises ValueError
    for a message whose header no receiver would accept; values are checked by the receiver.
    """
    entries: list[TensorEntry] = []
    checksums: list[int] = []
    frames: list[bytes | memoryview] = []
    for name, array in message.tensors.items():
        view = array.data
        if view.format not in FORMATS or not view.c_contiguous:
            view = _plain_copy(name, array).data
        frame = view.cast("B") if view.nbytes else EMPTY
        entries.append(TensorEntry(name, FORMATS[view.format], array.shape, view.nbytes))
        checksums.append(checksum(frame))
        frames.append(frame)
    header = pack_header(
        message.kind, message.sender, message.local_round, message.meta, entries, checksums
    )
    return [header, *frames]


def _plain_copy(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.name not in DTYPES:
        raise ValueError(f"this message cannot be sent: {name} is of type {array.dtype}")
    return array.astype(DTYPES[array.dtype.name], order="C")


def decode(frames: "Sequence[Buffer]", expected: Expected) -> Message:
    """Return the message in these frames, or raise Refused, whatever the frames contain.

    The tensors are read-only views on the frames. With pyzmq, receive with copy=False and pass each
    Frame's `buffer`.
    """
    if not frames:
        raise Refused("truncated", "no frames at all")
    if len(frames) > MAX_TENSORS + 1:
        raise Refused("oversize", f"{len(frames)} frames, at most {MAX_TENSORS + 1}")
    views = [_as_bytes(frame) for frame in frames]
    header = unpack_header(views[0])
    _check_expected(header, expected, sum(view.nbytes for view in views))
    _check_lengths(header, views[1:])
    with np.errstate(all="ignore"):  # the finite check may overflow on purpose
        tensors = {
            entry.name: _tensor(entry, digest, view, header.sender)
            for entry, digest, view in zip(header.tensors, header.checksums, views[1:], strict=True)
        }
    return Message(header.kind, header.sender, header.local_round, header.meta, tensors)


def _as_bytes(frame: "Buffer") -> memoryview:
    try:
        return memoryview(frame).cast("B").toreadonly()
    except (TypeError, ValueError) as error:
        raise Refused("malformed", "a frame is not a run of bytes") from error


def _check_expected(header: Header, expected: Expected, total: int) -> None:
    sender = header.sender
    if total > expected.max_bytes:
        raise Refused("oversize", f"{total} bytes, at most {expected.max_bytes}", sender)
    known = expected.kinds is None or header.kind in expected.kinds | expected.plain
    if not known:
        raise Refused("kind", f"{header.kind!r} is not expected here", sender)
    if header.kind in expected.plain:
        if header.tensors:
            raise Refused("extra-tensor", f"a {header.kind!r} carries none", sender)
        return
    if expected.local_round is not None and header.local_round != expected.local_round:
        detail = f"local round {header.local_round}, expected {expected.local_round}"
        raise Refused("round", detail, sender)
    if expected.shapes is None:
        return
    for entry in header.tensors:
        if entry.name not in expected.shapes:
            raise Refused("extra-tensor", f"{entry.name} is not expected here", sender)
        dtype, shape = expected.shapes[entry.name]
        if entry.dtype != dtype:
            raise Refused("dtype", f"{entry.name} is {entry.dtype}, expected {dtype}", sender)
        if entry.shape != tuple(shape):
            raise Refused("shape", f"{entry.name} is {entry.shape}, expected {shape}", sender)
    if len(header.tensors) < len(expected.shapes):
        absent = sorted(expected.shapes.keys() - {entry.name for entry in header.tensors})
        raise Refused("missing-tensor", f"{', '.join(absent[:3])} did not come", sender)


def _check_lengths(header: Header, views: list[memoryview]) -> None:
    """Check the frames' lengths, before any content, so that cheap refusals come first."""
    sender = header.sender
    if len(views) < len(header.tensors):
        raise Refused("truncated", f"{len(views)} of {len(header.tensors)} tensors", sender)
    if len(views) > len(header.tensors):
        raise Refused("malformed", "more frames than the header announces", sender)
    for entry, view in zip(header.tensors, views, strict=True):
        if view.nbytes < entry.nbytes:
            detail = f"{entry.name} has {view.nbytes} of {entry.nbytes} bytes"
            raise Refused("truncated", detail, sender)
        if view.nbytes > entry.nbytes:
            detail = f"{entry.name} has {view.nbytes} bytes and announced {entry.nbytes}"
            raise Refused("malformed", detail, sender)


def _tensor(entry: TensorEntry, digest: int, view: memoryview, sender: str) -> np.ndarray:
    if checksum(view) != digest:
        raise Refused("checksum", f"{entry.name} is not what was sent", sender)
    if entry.dtype == "bool" and view.nbytes and np.frombuffer(view, np.uint8).max() > 1:
        raise Refused("malformed", f"{entry.name} has truth values other than 0 and 1", sender)
    dtype = DTYPES[entry.dtype]
    flat = np.frombuffer(view, dtype)
    if dtype.kind == "f" and not all_finite(flat):
        raise Refused("not-finite", f"{entry.name} has values that are not finite", sender)
    return flat.reshape(entry.shape)
