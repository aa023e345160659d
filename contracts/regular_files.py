"""Opens files that somebody else wrote: regular ones of bounded size, so that no reader hangs.

A pipe in a file's place would be waited for, and a device read without an end.
"""

import errno
import json
import os
import stat
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

LARGEST = 1 << 30  # bytes that are read at once
_DIGITS = 20  # of an integer, with its sign


def open_regular(path: Path, most: int | None = None) -> BinaryIO:
    """Open a file for reading; OSError if it is not a regular one, or larger than `most`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:  # a zero byte in its name
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), repr(str(path))) from None
    file = os.fdopen(descriptor, "rb") if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    if file is None:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if most is not None and os.fstat(descriptor).st_size > most:
        file.close()
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MB", str(path))
    return file


def open_regular_text(
    path: Path, errors: str = "strict", newline: str | None = "\n"
) -> TextIOWrapper:
    """Open a file of text to be read line by line."""
    return TextIOWrapper(open_regular(path), encoding="utf-8", errors=errors, newline=newline)


def read_regular(path: Path, most: int = LARGEST) -> bytes:
    """Return all of a file's content."""
    with open_regular(path, most) as file:
        return file.read()


def read_json(path: Path) -> Any:
    """Return what a file of JSON holds; OSError or ValueError if it cannot be read."""
    return parse_json(read_regular(path).decode("utf-8"))


def parse_json(text: str) -> Any:
    """Return what a text of JSON holds; ValueError also for what is nested too deeply."""
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number has more than 64 bits")
    return int(digits)
