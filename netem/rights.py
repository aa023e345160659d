"""What a node gives up before it starts: the rights that only building the network takes.

In the guest this is a second wall, as the kernel that we build shows no more of the host's files to
root. On the native backend it is the first: root there is the machine's.
"""

import ctypes
import os
import stat
import struct

from netem import syscalls

# Nodes keep the right to files of others: a spool is the user's, and in the guest they are root.
_CAP_DAC_OVERRIDE = 1
_KEPT = 1 << _CAP_DAC_OVERRIDE
_CAPABILITY_VERSION = 0x20080522
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
_SECCOMP_MODE_FILTER = 2
_MOST_CAPABILITIES = 64
_KERNEL_FILES = ("/proc", "/sys")

# Whatever could lead a program of the host elsewhere, or another node's memory here.
_REFUSED = {
    "link": 86,
    "symlink": 88,
    "ptrace": 101,
    "mknod": 133,
    "mknodat": 259,
    "linkat": 265,
    "symlinkat": 266,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "io_uring_setup": 425,
    "openat2": 437,  # its mode cannot be seen by a filter
}
# These take a file's mode as the argument of this number, in which it may not run as its owner.
_WITH_MODE = {
    "open": (2, 2),
    "creat": (85, 1),
    "chmod": (90, 1),
    "fchmod": (91, 1),
    "openat": (257, 3),
    "fchmodat": (268, 2),
    "fchmodat2": (452, 2),
}
_SET_ID = stat.S_ISUID | stat.S_ISGID
_ARCHITECTURE = 0xC000003E  # x86-64
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ARCHITECTURE_AT, _NUMBER_AT, _ARGUMENTS_AT = 4, 0, 16
_FIRST_OF_X32 = 0x40000000
_TO_ALLOW, _TO_REFUSE = -2, -1  # jumps to the last steps
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # with EPERM

_libc = ctypes.CDLL(None, use_errno=True)


def give_up() -> None:
    """Give up what a node does not need, for ever, also for what it may start."""
    syscalls.unshare_mounts()
    for place in _KERNEL_FILES:
        # Root may write there without any capability, and on the native backend to the machine's.
        syscalls.change_mount(place, syscalls.READ_ONLY)
    _filter_calls()
    for capability in range(_MOST_CAPABILITIES):
        if not _KEPT >> capability & 1:
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for those it does not know
    _set_capabilities(_KEPT)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # no other node can read its memory


def _set_capabilities(kept: int) -> None:
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("=6I", low, low, 0, high, high, 0)  # effective, permitted, inheritable
    if _libc.capset(header, sets) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"give up capabilities: {os.strerror(code)}")


def _filter_calls() -> None:
    """Refuse some system calls; a kernel without such filters is our guest's, which needs none."""
    if os.uname().machine != "x86_64":
        return
    program = _program()
    code = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described, 0, 0)


def _program() -> bytes:
    """Return the filter as the kernel takes it."""
    steps = [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_IF_EQUAL, 0, _TO_REFUSE, _ARCHITECTURE)]
    steps += [(_LOAD, 0, 0, _NUMBER_AT), (_IF_AT_LEAST, _TO_REFUSE, 0, _FIRST_OF_X32)]
    steps += [(_IF_EQUAL, _TO_REFUSE, 0, number) for number in sorted(_REFUSED.values())]
    for number, argument in _WITH_MODE.values():
        steps += [(_IF_EQUAL, 0, 2, number), (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)]
        steps += [(_IF_HAS, _TO_REFUSE, _TO_ALLOW, _SET_ID)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    packed = b""
    for at, (what, then, otherwise, value) in enumerate(steps):
        jumps = (jump if jump >= 0 else len(steps) + jump - at - 1 for jump in (then, otherwise))
        packed += struct.pack("=HBBI", what, *jumps, value)
    return packed
