"""Makes standard input, output and error safe to use, whatever the command was started with.

What is printed may get lost, because a disk is full or a reader has gone; that must not end a run.
The command says so when it ends.
"""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator


class _Lossy(io.FileIO):
    """A file that remembers why it could not be written to, instead of failing."""

    trouble: OSError | None = None

    def write(self, data: object) -> int:
        """Write as much as can be; the rest counts as written."""
        if self.trouble is None:
            try:
                return super().write(data) or 0  # type: ignore[arg-type]
            except OSError as error:
                self.trouble = error
        return len(memoryview(data))  # type: ignore[arg-type]


def open_what_is_closed() -> None:
    """Open /dev/null in the place of closed streams, where a file of ours would be printed to."""
    for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))


@contextlib.contextmanager
def lossy_output() -> Iterator[None]:
    """Let nothing that is printed in this block fail; CannotPrint at its end if something was lost.

    Characters that the terminal's encoding does not have are shown as question marks.
    """
    raw, before = _Lossy(1, "wb", closefd=False), sys.stdout
    before.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=before.encoding,
        errors="replace",
        line_buffering=raw.isatty(),
    )
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout = before
    if raw.trouble is not None and raw.trouble.errno != errno.EPIPE:  # `| head` wants no more
        raise CannotPrint(raw.trouble)


class CannotPrint(Exception):
    """What the command printed was lost."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"standard output: cannot be written to ({cause.strerror})")
