"""Runs a command on a kernel that refuses a system call, as a container's seccomp profile does.

python -m tests.support.refusing CALL COMMAND...; `ptrace` and `openat2` are refused altogether,
`personality` for all values but the one that only asks.
"""

import ctypes
import errno
import os
import struct
import sys

_CALLS = {"ptrace": 101, "personality": 135, "openat2": 437}  # their numbers on x86-64
_ONLY_ASKING = 0xFFFFFFFF
_NO_NEW_PRIVILEGES, _SET_FILTER, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 16


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse(call: str) -> None:
    """Refuse this call to the calling process and all that it starts."""
    steps = (
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_IF_EQUAL, 0, 3, _CALLS[call]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
        (_JUMP_IF_EQUAL, 1, 0, _ONLY_ASKING),
        (_RETURN, 0, 0, _FAIL | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    )
    program = _Program(len(steps), b"".join(struct.pack("=HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(
        _SET_FILTER, _FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    refuse(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
