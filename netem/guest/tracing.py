"""Whether a process here may trace its children, which is how User Mode Linux runs its own."""

import os

from contracts.errors import BadInput
from netem import syscalls


def refusal() -> str:
    """Return why this machine refuses it, found out by trying; empty when it does not."""
    child = os.fork()
    if child == 0:
        code = 0
        try:
            syscalls.let_parent_trace()
        except OSError as error:
            code = error.errno or 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return os.strerror(abs(code)) if code else ""


def check() -> None:
    """Raise BadInput where it is refused."""
    if why := refusal():
        raise BadInput(
            "backend guest: its kernel must trace its processes, and ptrace is refused here "
            f"({why}); allow it in the container's seccomp profile or with the sysctl "
            "kernel.yama.ptrace_scope=1, or use --clock wall --backend native as root"
        )
