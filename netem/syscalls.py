"""The few Linux system calls that Python 3.11 does not wrap."""

import contextlib
import ctypes
import fcntl
import os
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNET = 0x40000000
# Flags of a mount, for `mount` and `change_mount`.
READ_ONLY, NO_SETUID, NO_DEVICES = 1, 2, 4
_CLONE_NEWNS = 0x00020000
_MS_REMOUNT, _MS_BIND, _MS_REC = 0x20, 0x1000, 0x4000
_MNT_DETACH = 2
_PIVOT_ROOT = 155
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_TIMERSLACK = 29
_SIOCGSKNS = 0x894C
_RB_POWER_OFF = 0x4321FEDC
_PTRACE_TRACEME = 0
_KERNEL_THREADS_PARENT = 2  # kthreadd


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def mount(source: str, target: str, kind: str, options: str = "", flags: int = 0) -> None:
    """Mount a file system, as mount(2) does."""
    arguments = (source.encode(), target.encode(), kind.encode())
    _checked(_libc.mount(*arguments, flags, options.encode()), f"mount {kind} on {target}")


def bind(source: str, target: str) -> None:
    """Let what is at one place, with all that is mounted below it, be at another place too."""
    arguments = (source.encode(), target.encode(), None, _MS_BIND | _MS_REC, None)
    _checked(_libc.mount(*arguments), f"bind {source} to {target}")


def change_mount(target: str, flags: int) -> None:
    """Give a mount these flags, here and not where its file system is mounted else."""
    arguments = (None, target.encode(), None, _MS_REMOUNT | _MS_BIND | flags, None)
    _checked(_libc.mount(*arguments), f"change the mount {target}")


def unshare_mounts() -> None:
    """Give the calling process mounts of its own, which begin as those that it has."""
    _checked(_libc.unshare(_CLONE_NEWNS), "unshare the mounts")


def change_root(new_root: str) -> None:
    """Make a mount the root, and unmount all that is not below it; OSError where that cannot be.

    It cannot where the root is no mount, as in a chroot.
    """
    os.chdir(new_root)
    _checked(_libc.syscall(_PIVOT_ROOT, b".", b"."), "change the root")
    _checked(_libc.umount2(b".", _MNT_DETACH), "unmount the old root")
    os.chdir("/")


def unshare_network() -> None:
    """Move the calling process into a new network namespace."""
    _checked(_libc.unshare(CLONE_NEWNET), "unshare the network namespace")


def enter_network(namespace: int) -> None:
    """Move the calling process into the network namespace that this descriptor refers to."""
    _checked(_libc.setns(namespace, CLONE_NEWNET), "enter a network namespace")


def namespace_of(opened_socket: int) -> int:
    """Open a descriptor of the network namespace in which a socket was opened."""
    return fcntl.ioctl(opened_socket, _SIOCGSKNS)


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send this signal to the calling process when its parent ends."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "set the parent-death signal")


def disable_timer_slack() -> None:
    """Have the calling process wake exactly when it asked to, not up to 50 microseconds later."""
    _checked(_libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0), "set the timer slack")


def set_process_name(name: str) -> None:
    """Give the calling process the name that `ps` and `top` show."""
    _checked(_libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0), "name the process")


def let_parent_trace() -> None:
    """Let the parent of the calling process trace it, as ptrace(PTRACE_TRACEME) does."""
    _checked(_libc.ptrace(_PTRACE_TRACEME, 0, 0, 0), "ptrace")


def run_in_order_of_waking(before_others: bool = False) -> None:
    """Let the calling process, and its threads, run in the order in which they are woken.

    The ordinary scheduler weighs how long each has run before, which on the virtual clock depends
    on accidents such as whether Python's bytecode was cached. `before_others` puts this process
    first, and leaves its children alone.
    """
    # Without a limit on such processes there is no timer that watches over them.
    Path("/proc/sys/kernel/sched_rt_runtime_us").write_text("-1")
    policy = os.SCHED_FIFO | (os.SCHED_RESET_ON_FORK if before_others else 0)
    os.sched_setscheduler(0, policy, os.sched_param(2 if before_others else 1))


def let_kernel_threads_run_first() -> None:
    """Let this kernel's own threads run before all processes; call it in a guest only.

    They finish what a process has begun: a link that was switched on carries packets only once they
    have seen it, and whoever is told that it is on must not run before.
    """
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rsplit(")", 1)[1].split()
            if fields[1] == str(_KERNEL_THREADS_PARENT):
                os.sched_setscheduler(int(status.parent.name), os.SCHED_FIFO, os.sched_param(3))


def load_module(path: str) -> None:
    """Load a kernel module, as finit_module(2) does; one that is loaded already is fine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _checked(_libc.syscall(313, descriptor, b"", 0), f"load {path}")
    except FileExistsError:
        pass
    finally:
        os.close(descriptor)


def power_off() -> None:
    """Stop this machine at once; only the guest's first process calls this."""
    os.sync()
    _libc.reboot(ctypes.c_int(_RB_POWER_OFF))
