"""The header of a message: [version, kind, sender, local round, meta, table, [checksum, ...]].

The table, [[name, dtype, shape, bytes], ...], is packed as msgpack on its own, because it is the
same in every message of a run: a receiver checks it once and caches it by its bytes.

Headers are unpacked under limits (length, array and map sizes, nesting, plain types only), so that
a hostile header costs no more than its own bytes and contains nothing but data.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import msgpack
import numpy as np

from protocols.wire.message import Reason, Refused

VERSION = 1

MAX_HEADER_BYTES = 1 << 20
MAX_TENSORS = 4096
MAX_NAME = 256
MAX_DIMENSIONS = 8
MAX_ELEMENTS = 1 << 40
MAX_ROUND = (1 << 31) - 1
MAX_NESTING = 8
# msgpack allocates a list before it has read its elements, at up to 1024 levels, so the product of
# the two limits must be small.
MAX_ITEMS = 8192

# Little-endian on every host, so that the name alone determines the bytes.
DTYPES: dict[str, np.dtype[Any]] = {
    "float16": np.dtype("<f2"),
    "float32": np.dtype("<f4"),
    "float64": np.dtype("<f8"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
    "uint8": np.dtype("u1"),
    "bool": np.dtype("?"),
}
# memoryview format -> dtype name. A byte-swapped array has a format with a prefix.
FORMATS = {np.empty(0, dtype).data.format: name for name, dtype in DTYPES.items()} | {"q": "int64"}


class TensorEntry(NamedTuple):
    """One row of the table, which describes one tensor's frame."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """A header whose every field has been checked."""

    kind: str
    sender: str
    local_round: int
    meta: dict[str, Any]
    tensors: tuple[TensorEntry, ...]
    checksums: list[int]


def pack_header(
    kind: str,
    sender: str,
    local_round: int,
    meta: dict[str, Any],
    tensors: list[TensorEntry],
    checksums: list[int],
) -> bytes:
    """Pack a header; raise ValueError for what any receiver would refuse.

    The tensors' entries come from actual arrays, so only names and dimensions need checking.
    """
    try:
        for entry in tensors:
            if not _is_name(entry.name) or len(entry.shape) > MAX_DIMENSIONS:
                raise ValueError(f"tensor {entry.name!r} has a bad name or too many dimensions")
        fields = [VERSION, kind, sender, local_round, meta, msgpack.packb(tensors), checksums]
        _check_head(fields)
        packed: bytes = msgpack.packb(fields)
    except (Refused, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"this message cannot be sent: {error}") from error
    if len(packed) > MAX_HEADER_BYTES or len(tensors) > MAX_TENSORS:
        raise ValueError(f"this message cannot be sent: {len(tensors)} tensors are too many")
    return packed


def unpack_header(frame: memoryview) -> Header:
    """Unpack and check every field of a header, or raise Refused."""
    if frame.nbytes > MAX_HEADER_BYTES:
        raise Refused("oversize", f"header of {frame.nbytes} bytes, at most {MAX_HEADER_BYTES}")
    fields = _unpack(frame, MAX_HEADER_BYTES)
    _check_head(fields)
    _, kind, sender, local_round, meta, table, checksums = fields
    try:
        tensors = _checked_table(table)
    except Refused as refused:
        raise Refused(refused.reason, refused.detail, sender) from refused
    if len(checksums) != len(tensors):
        raise Refused("malformed", "there is not one checksum for each tensor", sender)
    return Header(kind, sender, local_round, meta, tensors, checksums)


def _unpack(packed: bytes | memoryview, max_bin_len: int) -> Any:
    try:
        return msgpack.unpackb(
            packed,
            raw=False,
            strict_map_key=True,
            max_str_len=MAX_HEADER_BYTES,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
            max_bin_len=max_bin_len,
            max_ext_len=0,
        )
    except ValueError as error:  # every msgpack error is one
        reason: Reason = "truncated" if "incomplete input" in str(error) else "malformed"
        raise Refused(reason, "the header is not msgpack of the kind sent here") from error


def _check_head(fields: Any) -> None:
    """Check all fields except the table."""
    if type(fields) is not list or len(fields) < 3 or type(fields[0]) is not int:
        raise Refused("malformed", "the header is not a list that starts with a version")
    version, kind, sender = fields[:3]
    if not _is_name(sender):
        sender = ""
    if version != VERSION:
        raise Refused("version", f"version {version}, this is version {VERSION}", sender)
    if not sender or len(fields) != 7:
        raise Refused("malformed", "the header lacks a sender or has not seven fields", sender)
    _, _, _, local_round, meta, table, checksums = fields
    if not _is_name(kind):
        raise Refused("malformed", "the kind is not a short printable name", sender)
    if type(local_round) is not int or not 0 <= local_round <= MAX_ROUND:
        raise Refused("malformed", "the local round is not a whole number from 0", sender)
    if type(meta) is not dict:
        raise Refused("malformed", "meta is not a table", sender)
    _check_plain(meta, 0, sender)
    if type(table) is not bytes or type(checksums) is not list:
        raise Refused("malformed", "the tensors' table or checksums are missing", sender)


@lru_cache(maxsize=16)
def _checked_table(table: bytes) -> tuple[TensorEntry, ...]:
    entries = _unpack(table, 0)
    if type(entries) is not list or len(entries) > MAX_TENSORS:
        raise Refused("malformed", f"the tensors are not a list of up to {MAX_TENSORS}")
    tensors = tuple(_checked_entry(entry) for entry in entries)
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise Refused("malformed", "two tensors have the same name")
    return tensors


def _checked_entry(entry: Any) -> TensorEntry:
    if type(entry) is not list or len(entry) != 4:
        raise Refused("malformed", "a tensor's entry has not four fields")
    name, dtype, shape, nbytes = entry
    if not _is_name(name):
        raise Refused("malformed", "a tensor's name is not short and printable")
    if type(dtype) is not str or dtype not in DTYPES:
        raise Refused("dtype", f"{name} has a type that is not carried: {dtype!r:.40}")
    if type(shape) is not list or len(shape) > MAX_DIMENSIONS:
        raise Refused("shape", f"{name} has no shape of up to {MAX_DIMENSIONS} sizes")
    elements = extent = 1
    for size in shape:
        if type(size) is not int or size < 0:
            raise Refused("shape", f"{name} has a size that is no whole number from 0")
        elements *= size
        extent *= size or 1  # the other sizes of an empty array must be sensible too
    if extent > MAX_ELEMENTS:
        raise Refused("oversize", f"{name} announces {extent} elements")
    if type(nbytes) is not int or nbytes != elements * DTYPES[dtype].itemsize:
        raise Refused("malformed", f"{name} announces bytes that are not its shape's")
    return TensorEntry(name, dtype, tuple(shape), nbytes)


def _check_plain(value: Any, depth: int, sender: str) -> None:
    if depth > MAX_NESTING:
        raise Refused("malformed", f"meta is nested deeper than {MAX_NESTING}", sender)
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise Refused("malformed", "meta has a key that is not text", sender)
            _check_plain(item, depth + 1, sender)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_plain(item, depth + 1, sender)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Refused("not-finite", "meta has a number that is not finite", sender)
    elif value is not None and not isinstance(value, bool | int | str):
        raise Refused("malformed", "meta has something that is not plain data", sender)


def _is_name(value: Any) -> bool:
    """Return whether this is a short printable string; names end up in logs."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()
