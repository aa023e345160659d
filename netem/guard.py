"""Stands between the runner and the guest, and sees to it that the guest ends whole.

User Mode Linux keeps a host process for every guest process. Kill only the kernel's own process and
the others run on, on the host, as if they were host programs. So the guest and the guard share one
process group, and whatever ends the guest ends the group at once: the runner by `end`, the kernel
when the runner is gone.

Run as `python -m netem.guard COMMAND...`.
"""

import contextlib
import os
import signal
import subprocess
import sys

from netem import syscalls


def end(guard_pid: int) -> None:
    """Kill a guard's whole group, itself included."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(guard_pid, signal.SIGKILL)


def main(command: list[str]) -> int:
    """Run the command in a group of our own until it ends, or our parent does."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
        if os.isatty(0):
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTERM, lambda *_: end(os.getpgrp()))
    syscalls.die_with_parent(signal.SIGTERM)
    if os.getppid() != int(os.environ["METRONOME_RUNNER"]):
        return 1  # the runner was gone before the line above
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
